"""Opens the state's files that a version needs: decodes them to their end, and holds them against their checksums.

Of RocksDB's tables only size, end and checksum are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ckpttool.errors import CkptError, Deadly, LeftUnread, MalformedFile, NotFound, Unavailable
from ckpttool.formats import layout
from ckpttool.formats.checksums import parse_hadoop_crc, parse_spark_checksum, verify_hadoop_crc
from ckpttool.formats.limits import OverLimit, most
from ckpttool.formats.state.changelog import TYPED_VERSIONS, parse_changelog
from ckpttool.formats.state.compression import Codec
from ckpttool.formats.state.digests import crc32c
from ckpttool.formats.state.hdfs import parse_delta, parse_snapshot
from ckpttool.formats.state.names import LOG_DIRECTORY, SST_DIRECTORY
from ckpttool.formats.state.records import BadSize
from ckpttool.formats.state.rocksdb import NoMetadata, Snapshot, WrongVersion, check_sst, parse_snapshot_zip
from ckpttool.model import Position, SparkError
from ckpttool.scene.state_chain import BASE_SUFFIX, NO_FILE, NOT_A_FILE, Fault, FaultKind, StoreFiles, wanted_names
from ckpttool.storage.store import Store, is_directory, read_whole
from ckpttool.storage.urls import is_local

_EMPTY_JSON = SparkError("com.fasterxml.jackson.databind.exc.MismatchedInputException")


class BodyReader:
    """Opens what `version` needs. Hadoop's checksums are beside local files only."""

    def __init__(self, store: Store, version: int, codec: Codec | None) -> None:
        self.store = store
        self.version = version
        self.codec = codec
        self.is_local = is_local(store.url)

    def examine(self, stores: Sequence[StoreFiles]) -> list[StoreFiles]:
        """Opens what is needed of all stores at once, then what that turns out to need, until nothing is left."""
        current = list(stores)
        while places := {
            f"{one.path}/{name}": at for at, one in enumerate(current) for name in wanted_names(one, self.version)
        }:
            looks = {at: _Look(current[at]) for at in places.values()}
            over = {path for path, at in places.items() if looks[at].is_beyond_the_last_base(path)}
            checksums = self.read_checksums(current, places)
            for path, body in self.store.read_all([path for path in places if path not in over]):
                body = self.whole(path) if isinstance(body, LeftUnread) else body
                self.note(looks[places[path]], path, body, checksums)
            for path in over:
                self.note(looks[places[path]], path, OverLimit("bases"), checksums)
            for at, look in looks.items():
                current[at] = look.told()
        return current

    def whole(self, path: str) -> bytes | CkptError:
        """A file that is too large to be fetched with others."""
        try:
            return read_whole(self.store, path)
        except CkptError as error:
            return error

    def read_checksums(self, stores: list[StoreFiles], places: Mapping[str, int]) -> dict[str, bytes]:
        """The checksum files that stand beside these files, by path."""
        beside = []
        for path, at in places.items():
            name = path[len(stores[at].path) + 1 :]
            candidates = [layout.sidecar(name), *([layout.hadoop_crc(name)] if self.is_local else [])]
            beside += [f"{stores[at].path}/{one}" for one in candidates if one in stores[at].names]
        return {path: body for path, body in self.store.read_all(beside) if isinstance(body, bytes)}

    def note(self, look: _Look, path: str, body: bytes | CkptError, checksums: Mapping[str, bytes]) -> None:
        """What this file told."""
        name = path[len(look.store.path) + 1 :]
        look.opened.add(name)
        if not isinstance(body, bytes):
            look.faults[name] = NOT_A_FILE if is_directory(self.store, path) else _fault(body)
            return
        look.sizes[name] = len(body)
        sidecar, hadoop = checksums.get(layout.sidecar(path)), checksums.get(layout.hadoop_crc(path))
        if sidecar is not None and (sidecar_fault := _sidecar_fault(sidecar, body)):
            look.sidecar_faults[name] = sidecar_fault
        fault = self.decoded(look, name, body)
        checked = _hadoop_fault(hadoop, body) if hadoop is not None and self.is_local else None
        if checked and _is_checked_by_hadoop(look.store, name):
            fault = checked
        elif checked and name.endswith(".zip"):
            look.hadoop_faults[name] = checked
        if fault:
            look.faults[name] = fault

    def decoded(self, look: _Look, name: str, body: bytes) -> Fault | None:
        try:
            if name.endswith(".zip"):
                look.add_snapshot(name, parse_snapshot_zip(body))
                return None
            if name.endswith(".changelog"):
                changelog = parse_changelog(body, self.codec)
                look.has_families = look.has_families or changelog.version in TYPED_VERSIONS
                if name == f"{self.version}_{look.store.unique_id}.changelog":
                    look.lineage = changelog.lineage or ()
                else:
                    look.ancestry.update(changelog.lineage or ())
                return None
        except MalformedFile as error:
            return _fault(error)
        expected = look.expected.get(name, len(body))
        if expected != len(body):
            message = f"{len(body)} bytes, where the snapshot says {expected}"
            return Fault("size", message, expected=f"{expected} bytes")
        return fault_in(name, body, self.codec)


class _Look:
    """What is known of a store while more of it is looked at."""

    def __init__(self, store: StoreFiles) -> None:
        self.store = store
        self.opened = set(store.opened)
        self.sizes = dict(store.sizes)
        self.faults = dict(store.faults)
        self.sidecar_faults = dict(store.sidecar_faults)
        self.hadoop_faults = dict(store.hadoop_faults)
        self.snapshots: dict[str, Snapshot] = {}
        self.expected: dict[str, int] = {}  # by the first snapshot that names it
        for name, snapshot in store.snapshots.items():
            self.add_snapshot(name, snapshot)
        self.lineage, self.ancestry, self.has_families = store.lineage, set(store.ancestry), store.has_families

    def add_snapshot(self, name: str, snapshot: Snapshot) -> None:
        self.snapshots[name] = snapshot
        for file in snapshot.files:
            self.expected.setdefault(file.path, file.size_bytes)

    def is_beyond_the_last_base(self, path: str) -> bool:
        suffix = BASE_SUFFIX[self.store.provider]
        return path.endswith(suffix) and sum(name.endswith(suffix) for name in self.opened) >= most("bases")

    def told(self) -> StoreFiles:
        return replace(
            self.store,
            opened=frozenset(self.opened),
            sizes=self.sizes,
            faults=self.faults,
            sidecar_faults=self.sidecar_faults,
            hadoop_faults=self.hadoop_faults,
            snapshots=self.snapshots,
            lineage=self.lineage,
            ancestry=tuple(self.ancestry),
            has_families=self.has_families,
        )


def fault_in(name: str, body: bytes, codec: Codec | None) -> Fault | None:
    """What is wrong with the contents of a file of this name."""
    try:
        if name.endswith(".delta"):
            parse_delta(body, codec)
        elif name.endswith(".snapshot"):
            parse_snapshot(body, codec)
        elif name.endswith(".changelog"):
            parse_changelog(body, codec)
        elif name.endswith(".zip"):
            parse_snapshot_zip(body)
        elif name.endswith(".sst"):
            check_sst(body)
    except MalformedFile as error:
        return _fault(error)
    return None


def _fault(error: CkptError) -> Fault:
    if isinstance(error, NotFound):
        return NO_FILE
    if isinstance(error, LeftUnread | Unavailable) or not isinstance(error, MalformedFile):
        return Fault("unread", error.message)
    kind: FaultKind = "stream"
    if isinstance(error, Deadly):
        kind = "deadly"
    elif isinstance(error, BadSize):
        kind = "key-size" if error.of == "key" else "value-size"
    elif isinstance(error, NoMetadata):
        kind = "no-metadata"
    elif isinstance(error, WrongVersion):
        kind = "metadata-version"
    return Fault(kind, error.message, error.expected, error.position, error.spark)


def _is_checked_by_hadoop(store: StoreFiles, name: str) -> bool:
    """Spark reads these through the class of Hadoop's that checks; the others, and zips with ids since 4.2, not."""
    return name.startswith((f"{SST_DIRECTORY}/", f"{LOG_DIRECTORY}/")) or (
        name.endswith(".zip") and store.unique_id is None
    )


def _sidecar_fault(sidecar: bytes, body: bytes) -> Fault | None:
    try:
        recorded = parse_spark_checksum(sidecar)
    except MalformedFile as error:
        if not sidecar.strip():
            return Fault("stream", "its checksum file is empty", "JSON", spark=_EMPTY_JSON)
        return Fault("stream", f"its checksum file: {error.message}", error.expected, spark=error.spark)
    if recorded.main_file_bytes != len(body):
        return Fault("sidecar", f"{len(body)} bytes, where its checksum file says {recorded.main_file_bytes}")
    if recorded.value & 0xFFFFFFFF != crc32c(body):
        return Fault("sidecar", "not the contents that its checksum file was written for")
    return None


def _hadoop_fault(crc: bytes, body: bytes) -> Fault | None:
    """Hadoop checks the chunks that it reads, and takes no notice of a checksum file that it cannot read itself."""
    try:
        recorded = parse_hadoop_crc(crc)
    except MalformedFile:
        return None
    chunks = -(-len(body) // recorded.chunk_bytes)
    bad = verify_hadoop_crc(replace(recorded, checksums=recorded.checksums[:chunks]), body)
    if bad is None:
        return None
    return Fault(
        "hadoop-crc",
        "not the contents that Hadoop's checksum file was written for",
        position=Position(byte=bad * recorded.chunk_bytes),
        spark=SparkError("org.apache.hadoop.fs.ChecksumException"),
    )
