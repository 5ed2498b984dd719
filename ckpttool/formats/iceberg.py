"""An Iceberg table's `metadata/`: which file is the current one, and the snapshots that lead up to its state.

A streaming write leaves the query's id and the batch in the summary of its snapshot. Spark looks for them from the
current snapshot back through its ancestors, so what was rolled back does not count, and what was expired is forgotten.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from ckpttool.connectors.base import is_long
from ckpttool.errors import MalformedFile
from ckpttool.formats.avro_file import parse_avro
from ckpttool.formats.envelope import parse_json_object
from ckpttool.formats.limits import OverLimit, most
from ckpttool.formats.names import parse_long
from ckpttool.formats.values import decode_utf8
from ckpttool.model import Json

HINT = "version-hint.text"
_ADDED = 1  # of an entry: 0 was there before, 2 is deleted
QUERY_ID = "spark.sql.streaming.queryId"
EPOCH_ID = "spark.sql.streaming.epochId"

_HADOOP = re.compile(r"v([0-9]{1,10})(?:\.gz)?\.metadata\.json(?:\.gz)?")
_CATALOG = re.compile(r"([0-9]{1,10})-[0-9a-f-]{36}(?:\.gz)?\.metadata\.json(?:\.gz)?")


class IcebergSnapshot(Struct, frozen=True):
    id: int
    parent_id: int | None
    timestamp_ms: int
    summary: Mapping[str, str]
    manifests: str | None = None  # the file that lists them

    @property
    def batch(self) -> tuple[str, int] | None:
        """The query and the batch that wrote this snapshot."""
        epoch = parse_long(self.summary.get(EPOCH_ID, ""))
        query = self.summary.get(QUERY_ID)
        return None if query is None or epoch is None else (query, epoch)

    def count(self, name: str) -> int | None:
        return parse_long(self.summary.get(name, ""))


class IcebergFile(Struct, frozen=True):
    """A data file; `rows` None: not told."""

    path: str
    rows: int | None = None


class IcebergHistory(Struct, frozen=True):
    """The current snapshot and its ancestors, newest first; `cut`: older ones were expired. `aside`: those that are
    kept and lead to another state, as after a rollback."""

    snapshots: tuple[IcebergSnapshot, ...] = ()
    cut: bool = False
    aside: tuple[IcebergSnapshot, ...] = ()


def is_metadata_name(name: str) -> bool:
    return bool(_HADOOP.fullmatch(name) or _CATALOG.fullmatch(name))


def is_found_by_place(names: Iterable[str]) -> bool:
    """Whether its versions are counted in the names of its files, where any program finds the newest."""
    return any(map(_HADOOP.fullmatch, names))


def current_metadata(names: Iterable[str], hint: bytes | None) -> str:
    """The file that holds the table's state, as far as names tell. With a catalog only the catalog knows for certain.

    A Hadoop table goes on from its hint as long as there is a next version."""
    hadoop: dict[int, str] = {}
    catalog: dict[int, list[str]] = {}
    for name in names:
        if found := _HADOOP.fullmatch(name):
            hadoop[int(found[1])] = name
        elif found := _CATALOG.fullmatch(name):
            catalog.setdefault(int(found[1]), []).append(name)
    if hadoop:
        return hadoop[_hadoop_version(hadoop, hint)]
    if not catalog:
        raise MalformedFile("no metadata file", expected="`v<n>.metadata.json` or `<n>-<uuid>.metadata.json`")
    newest = catalog[max(catalog)]
    if len(newest) > 1:
        raise MalformedFile(
            f"{len(newest)} metadata files have the number {max(catalog)}, and only the catalog knows which one counts",
            expected="one newest metadata file",
        )
    return newest[0]


def _hadoop_version(versions: Collection[int], hint: bytes | None) -> int:
    version = parse_long((hint or b"").decode("ascii", "replace").split("\n")[0].strip())
    if version is None:
        return max(versions)
    if version not in versions:
        raise MalformedFile(
            f"`{HINT}` names version {version}, whose metadata is not there", expected="a metadata file of that version"
        )
    while version + 1 in versions:
        version += 1
    return version


def parse_history(data: bytes) -> IcebergHistory:
    fields = parse_json_object(decode_utf8(_unpacked(data)))
    listed = fields.get("snapshots")
    known = {one.id: one for one in map(_snapshot, listed if isinstance(listed, list) else []) if one}
    walked: list[IcebergSnapshot] = []
    step = fields.get("current-snapshot-id")
    while is_long(step) and step in known:
        walked.append(known.pop(step))  # so that a chain that bites its tail ends
        step = walked[-1].parent_id
    return IcebergHistory(tuple(walked), cut=is_long(step) and step != -1, aside=tuple(known.values()))


def _snapshot(value: Json) -> IcebergSnapshot | None:
    if not isinstance(value, dict) or not is_long(value.get("snapshot-id")) or not is_long(value.get("timestamp-ms")):
        return None
    parent, summary = value.get("parent-snapshot-id"), value.get("summary")
    return IcebergSnapshot(
        id=value["snapshot-id"],
        parent_id=parent if is_long(parent) else None,
        timestamp_ms=value["timestamp-ms"],
        summary={key: str(text) for key, text in summary.items()} if isinstance(summary, dict) else {},
        manifests=text if isinstance(text := value.get("manifest-list"), str) else None,
    )


def parse_manifest_list(data: bytes, snapshot_id: int) -> list[str]:
    """The manifests of data files that a snapshot has added, in the order in which its files are counted."""
    listed = [one for one in parse_avro(data) if isinstance(one, dict)]
    own = [one for one in listed if one.get("added_snapshot_id") == snapshot_id and not one.get("content")]
    return [path for one in own if isinstance(path := one.get("manifest_path"), str)]


def parse_manifest(data: bytes, snapshot_id: int) -> list[IcebergFile]:
    """The data files that a snapshot has added by it. An entry without a snapshot has that of its manifest."""
    found = []
    for one in parse_avro(data):
        file = one.get("data_file") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(file, dict) or one.get("status") != _ADDED:
            continue
        if one.get("snapshot_id") in (None, snapshot_id) and isinstance(path := file.get("file_path"), str):
            rows = file.get("record_count")
            found.append(IcebergFile(path, rows if is_long(rows) else None))
    return found


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        inflater = zlib.decompressobj(wbits=31)
        text = inflater.decompress(data, most("iceberg"))
    except zlib.error as error:
        raise MalformedFile(f"not gzip: {error}", expected="a metadata file") from None
    if inflater.unconsumed_tail or (not inflater.eof and len(text) == most("iceberg")):
        raise OverLimit("iceberg")
    if not inflater.eof:
        raise MalformedFile("the compressed file is cut off", expected="a metadata file")
    return text
