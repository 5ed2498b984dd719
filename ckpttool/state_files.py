"""Finds and opens the files that a version of the state needs: for each operator, partition and store.

`quick` looks at names, and at the sizes of the files that are needed. `full` opens these, decodes them to their end and
holds them against their checksums; of RocksDB's tables it only looks at size, end and checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ckpttool.errors import CkptError, LeftUnread, MalformedFile, NotFound, Unavailable
from ckpttool.formats.checksums import parse_hadoop_crc, parse_spark_checksum, verify_hadoop_crc
from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE
from ckpttool.formats.state.changelog import TYPED_VERSIONS, parse_changelog
from ckpttool.formats.state.compression import MAGICS
from ckpttool.formats.state.datatypes import is_struct_type
from ckpttool.formats.state.digests import crc32c
from ckpttool.formats.state.hdfs import parse_delta, parse_snapshot
from ckpttool.formats.state.records import BadSize
from ckpttool.formats.state.rocksdb import (
    LOG_DIRECTORY,
    SST_DIRECTORY,
    NoMetadata,
    WrongVersion,
    check_sst,
    parse_snapshot_zip,
)
from ckpttool.frozen import replace
from ckpttool.model import Checkpoint, ColumnFamilySchema, Finding, Operator, Position, SparkError
from ckpttool.state.side_by_side import side_by_side
from ckpttool.state_chain import (
    Fault,
    FaultKind,
    Mode,
    OperatorFiles,
    Provider,
    StateFiles,
    StoreFiles,
    chains,
    next_change,
    wanted_names,
)
from ckpttool.storage import Store, read_whole

__all__ = ["StateFiles", "load_state_files"]

JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
DEFAULT_STORE = "default"
UniqueIds = Mapping[int, tuple[tuple[str, ...], ...]]

_LONGEST_PARTITION = 8
_STATE_STORE = "spark.sql.streaming.stateStore"
_CODECS = {
    spelled.format(codec): codec for codec in MAGICS for spelled in ("{}", "org.apache.spark.io.{}compressioncodec")
}


def load_state_files(
    store: Store,
    checkpoint: Checkpoint,
    version: int,
    partitions: int | None = None,
    unique_ids: UniqueIds | None = None,
    mode: Mode = "quick",
    chosen: Callable[[StoreFiles], bool] | None = None,
    jobs: int = 1,
) -> StateFiles:
    """What is there of `version`. `partitions`: how many the offset log pins; without it, those that have a directory.
    `unique_ids`: those of the commit before, where it has any (`CommitLogEntry.state_unique_ids`). `chosen`: of which
    stores, of all if it does not say. `jobs`: stores at a time; a single one asks for the files of all at once."""
    local = "://" not in store.url or store.url.startswith("file:")
    loader = StateLoader(store, checkpoint, version, local)
    stores = [one for one in loader.list_stores(partitions, unique_ids or {}) if chosen is None or chosen(one)]
    groups = [stores] if jobs == 1 else [[one] for one in stores]
    examined = side_by_side(lambda group: loader.examine(group, mode), groups, jobs)
    return StateFiles(
        version=version,
        mode=mode,
        stores=tuple(one for group in examined for one in group),
        operators=tuple(loader.load_operators()),
        entries=loader.count_entries(),
        is_stateful=bool(checkpoint.operators or unique_ids or _moves_a_watermark(checkpoint)),
        unreachable=tuple(loader.unreachable),
    )


class StateLoader:
    def __init__(self, store: Store, checkpoint: Checkpoint, version: int, local: bool) -> None:
        self.store = store
        self.checkpoint = checkpoint
        self.version = version
        self.local = local
        self.unreachable: list[str] = []
        conf = _pinned(checkpoint)
        self.codec = _CODECS.get(conf.get(f"{_STATE_STORE}.compression.codec", "lz4").lower())
        self.provider: Provider = "rocksdb" if "RocksDB" in conf.get(f"{_STATE_STORE}.providerClass", "") else "hdfs"

    # -- which stores there must be ------------------------------------------------------------------------------------

    def list_stores(self, partitions: int | None, unique_ids: UniqueIds) -> list[StoreFiles]:
        operators = self.checkpoint.operators or (Operator(0, None, ()),)
        found = []
        for operator in operators:
            inside = self.names(f"state/{operator.id}") or frozenset()
            ids = unique_ids.get(operator.id, ())
            for partition in expected_partitions(operator, partitions, inside):
                of_partition = ids[partition] if partition < len(ids) else ()
                names = expected_stores(operator)
                for number, name in enumerate(names):
                    unique_id = of_partition[number] if len(of_partition) == len(names) else None
                    found.append(self.list_store(operator.id, partition, name, unique_id))
        return found

    def list_store(self, operator: int, partition: int, name: str, unique_id: str | None) -> StoreFiles:
        path = f"state/{operator}/{partition}"
        if name != DEFAULT_STORE:
            path = f"{path}/{name}"
        names = self.names(path)
        below: set[str] = set()
        if self.provider == "rocksdb":
            for directory in {SST_DIRECTORY, LOG_DIRECTORY} & (names or frozenset()):
                below |= {f"{directory}/{one}" for one in self.names(f"{path}/{directory}") or ()}
        return StoreFiles(
            operator=operator,
            partition=partition,
            name=name,
            path=path,
            provider=self.provider,
            names=(names or frozenset()) | below,
            unique_id=unique_id,
        )

    def names(self, path: str) -> frozenset[str] | None:
        try:
            return frozenset(self.store.list(path))
        except NotFound:
            return None
        except (Unavailable, MalformedFile):
            self.unreachable.append(path)
            return frozenset()

    def is_directory(self, path: str) -> bool:
        found = self.store.stat(path)
        return found is not None and found.is_directory

    def count_entries(self) -> int | None:
        names = self.names("state")
        return None if names is None else len(names)

    # -- opening what is needed ----------------------------------------------------------------------------------------

    def examine(self, stores: list[StoreFiles], mode: Mode) -> list[StoreFiles]:
        """Opens what is needed of all stores at once, then what that turns out to need, until nothing is left."""
        current = [self.sized(one, mode) for one in stores]
        while mode == "full":
            places = {
                f"{one.path}/{name}": at for at, one in enumerate(current) for name in wanted_names(one, self.version)
            }
            if not places:
                break
            checksums = self.read_checksums(current, places)
            for path, body in self.store.read_all(list(places)):
                at = places[path]
                name = path[len(current[at].path) + 1 :]
                body = self.whole(path) if isinstance(body, LeftUnread) else body
                current[at] = self.opened(current[at], name, body, checksums)
        return current

    def whole(self, path: str) -> bytes | CkptError:
        """A file that is too large to be fetched with others."""
        try:
            return read_whole(self.store, path)
        except CkptError as error:
            return error

    def sized(self, store: StoreFiles, mode: Mode) -> StoreFiles:
        """With the sizes of what the first chain names. An empty file needs no opening to be known for what it is."""
        following = next_change(store, self.version)
        if following in store.names and self.is_directory(f"{store.path}/{following}"):
            store = replace(store, blocked=following)
        chain = next(chains(store, self.version))
        sizes: dict[str, int | None] = {}
        faults: dict[str, Fault] = {}
        for name in (*([chain.base] if chain.base else ()), *chain.changes):
            found = self.store.stat(f"{store.path}/{name}")
            sizes[name] = found.size_bytes if found else None
            fault = NOT_A_FILE if found and found.is_directory else None
            if found and found.size_bytes == 0 and mode == "quick":
                fault = self.fault_of(store, name, b"")
            if fault:
                faults[name] = fault
        return replace(store, sizes=sizes, faults=faults, opened=frozenset(faults))

    def read_checksums(self, stores: list[StoreFiles], places: Mapping[str, int]) -> dict[str, bytes]:
        """The checksum files that stand beside these files, by path."""
        beside = []
        for path, at in places.items():
            directory, _, name = path[len(stores[at].path) + 1 :].rpartition("/")
            inside = f"{directory}/" if directory else ""
            candidates = [f"{inside}{name}.crc", *([f"{inside}.{name}.crc"] if self.local else [])]
            beside += [f"{stores[at].path}/{one}" for one in candidates if one in stores[at].names]
        return {path: body for path, body in self.store.read_all(beside) if isinstance(body, bytes)}

    def opened(
        self, store: StoreFiles, name: str, body: bytes | CkptError, checksums: Mapping[str, bytes]
    ) -> StoreFiles:
        """The store with what this file told."""
        opened = store.opened | {name}
        if not isinstance(body, bytes):
            why = NOT_A_FILE if self.is_directory(f"{store.path}/{name}") else _fault(body)
            return replace(store, opened=opened, faults={**store.faults, name: why})
        sizes = {**store.sizes, name: len(body)}
        directory, _, base = f"{store.path}/{name}".rpartition("/")
        sidecar = checksums.get(f"{directory}/{base}.crc")
        hadoop = checksums.get(f"{directory}/.{base}.crc")
        sidecar_fault = _sidecar_fault(sidecar, body) if sidecar is not None else None
        sidecar_faults = {**store.sidecar_faults, name: sidecar_fault} if sidecar_fault else store.sidecar_faults
        store = replace(store, opened=opened, sizes=sizes, sidecar_faults=sidecar_faults)
        store, fault = self.decoded(store, name, body)
        if hadoop is not None and self.local and _is_checked_by_hadoop(store, name):
            fault = _hadoop_fault(hadoop, body) or fault
        return replace(store, faults={**store.faults, name: fault}) if fault else store

    def decoded(self, store: StoreFiles, name: str, body: bytes) -> tuple[StoreFiles, Fault | None]:
        try:
            if name.endswith(".zip"):
                return replace(store, snapshots={**store.snapshots, name: parse_snapshot_zip(body)}), None
            if name.endswith(".changelog"):
                changelog = parse_changelog(body, self.codec)
                lineage = changelog.lineage or ()
                store = replace(store, has_families=store.has_families or changelog.version in TYPED_VERSIONS)
                if name == f"{self.version}_{store.unique_id}.changelog":
                    return replace(store, lineage=lineage), None
                return replace(store, ancestry=tuple({*store.ancestry, *lineage})), None
        except MalformedFile as error:
            return store, _fault(error)
        return store, self.fault_of(store, name, body)

    def fault_of(self, store: StoreFiles, name: str, body: bytes) -> Fault | None:
        files = (file for snapshot in store.snapshots.values() for file in snapshot.files)
        expected = next((file.size_bytes for file in files if file.path == name), len(body))
        if expected != len(body):
            message = f"{len(body)} bytes, where the snapshot says {expected}"
            return Fault("size", message, expected=f"{expected} bytes")
        try:
            if name.endswith(".delta"):
                parse_delta(body, self.codec)
            elif name.endswith(".snapshot"):
                parse_snapshot(body, self.codec)
            elif name.endswith(".changelog"):
                parse_changelog(body, self.codec)
            elif name.endswith(".zip"):
                parse_snapshot_zip(body)
            elif name.endswith(".sst"):
                check_sst(body)
        except MalformedFile as error:
            return _fault(error)
        return None

    # -- what belongs to an operator -----------------------------------------------------------------------------------

    def load_operators(self) -> Iterator[OperatorFiles]:
        for operator in self.checkpoint.operators:
            yield OperatorFiles(
                id=operator.id,
                schema_faults=self.schema_faults(operator),
                metadata_faults=self.metadata_faults(operator),
                orphan_crcs=tuple(self.orphan_crcs(operator)) if self.local else (),
            )

    def schema_faults(self, operator: Operator) -> dict[str, Fault]:
        """What reading the checkpoint found wrong with schema files already, and schemas that are only JSON."""
        found = dict(unreadable_types(operator))
        for finding in self.checkpoint.faults:
            if finding.path.startswith(f"state/{operator.id}/") and "schema" in finding.path.lower():
                found[finding.path] = self.told(finding, _schema_fault(finding))
        return found

    def metadata_faults(self, operator: Operator) -> dict[str, Fault]:
        """Of metadata of version 2, and of the schema files that it names, by their absolute paths at that time."""
        path = f"state/{operator.id}"
        if "_stateSchema" not in (self.names(path) or ()) and not (
            operator.metadata and operator.metadata.version == 2
        ):
            return {}
        runs = self.names(f"{path}/_metadata/v2")
        if not runs:
            return {f"{path}/_metadata/v2": _NO_FILE}
        found = {}
        for finding in self.checkpoint.faults:
            if finding.path.startswith(f"{path}/_metadata/"):
                fault = Fault("stream", finding.message, finding.expected, finding.position, finding.spark)
                found[finding.path] = self.told(finding, fault)
        for schema in operator.metadata.stores if operator.metadata else ():
            for named in schema.schema_paths:
                tail = named[named.rfind(f"{path}/") :]
                if self.store.stat(tail) is None:
                    found[tail] = Fault(
                        "not-a-file", "the metadata names it, and it is not there", spark=FILE_NOT_FOUND
                    )
        return found

    def told(self, finding: Finding, fault: Fault) -> Fault:
        """What was out of reach may be sound."""
        if finding.id in ("unreadable", "file-vanished"):
            return Fault("unread", finding.message)
        return NOT_A_FILE if self.is_directory(finding.path) else fault

    def orphan_crcs(self, operator: Operator) -> Iterator[str]:
        """Spark writes a schema or metadata file that is missing, and Hadoop stumbles over the checksum of the old."""
        places = [(f"state/{operator.id}/_metadata", "metadata")]
        for name in expected_stores(operator):
            below = "" if name == DEFAULT_STORE else f"/{name}"
            places.append((f"state/{operator.id}/0{below}/_metadata", "schema"))
        for directory, file in places:
            names = self.names(directory) or ()
            if f".{file}.crc" in names and file not in names:
                yield f"{directory}/.{file}.crc"


# -- what is expected --------------------------------------------------------------------------------------------------


def expected_partitions(operator: Operator, pinned: int | None, inside: Iterable[str]) -> range:
    """Global limits and aggregations without a key have a single partition, whatever the offset log pins."""
    schemas = [store.schema for store in operator.stores if store.schema]
    keyless = any(is_keyless(family) for schema in schemas for family in schema.column_families if schema.version < 3)
    if operator.name == "globalLimit" or (
        keyless and operator.name in (None, "stateStoreSave", "StatefulStreamlineAggregate")
    ):
        return range(1)
    there = 1 + max((int(name) for name in inside if name.isdecimal() and len(name) < _LONGEST_PARTITION), default=-1)
    if pinned is None:
        return range(max(1, there))
    return range(min(pinned, there + 1))  # beyond the last directory one is like the next: missing


def is_keyless(family: ColumnFamilySchema) -> bool:
    """Of an aggregation without a key, or of a global limit, whose key is a single null."""
    keys, values = family.key.get("fields") or [], family.value.get("fields") or []
    names = [[field.get("name") for field in fields if isinstance(field, dict)] for fields in (keys, values)]
    return not keys or (names == [["key"], ["value"]] and keys[0].get("type") in ("void", "null"))


def expected_stores(operator: Operator) -> tuple[str, ...]:
    names = tuple(store.name for store in operator.stores)
    if any(name in JOIN_STORES for name in names):
        return JOIN_STORES  # all four, also where a directory is lost
    return names or (DEFAULT_STORE,)


def unreadable_types(operator: Operator) -> dict[str, Fault]:
    """Schemas that are JSON, and no schema to Spark."""
    found = {}
    for store in operator.stores:
        families = store.schema.column_families if store.schema else ()
        if not all(is_struct_type(schema) for family in families for schema in (family.key, family.value)):
            below = "" if store.name == DEFAULT_STORE else f"/{store.name}"
            message = "a schema that is no struct of data types"
            found[f"state/{operator.id}/0{below}/_metadata/schema"] = Fault("schema", message, "Spark's data types")
    return found


def _pinned(checkpoint: Checkpoint) -> Mapping[str, str]:
    """The configuration in the newest offsets: Spark starts with it."""
    newest = checkpoint.offsets[max(checkpoint.offsets)] if checkpoint.offsets else None
    return newest.metadata.conf if newest and newest.metadata else {}


def _moves_a_watermark(checkpoint: Checkpoint) -> bool:
    return any(entry.metadata and entry.metadata.watermark_ms for entry in checkpoint.offsets.values())


# -- faults ------------------------------------------------------------------------------------------------------------

_EMPTY_JSON = SparkError("com.fasterxml.jackson.databind.exc.MismatchedInputException")
FILE_NOT_FOUND = SparkError("java.io.FileNotFoundException")
NOT_A_FILE = Fault("not-a-file", "a directory of that name", expected="a file", spark=FILE_NOT_FOUND)
_NO_FILE = Fault("missing", "the file is not there", spark=FILE_NOT_FOUND)


def _schema_fault(finding: Finding) -> Fault:
    """Spark has one error for all that is no schema, another for its version, and Java's for the framing around it."""
    class_name = finding.spark.class_name if finding.spark else ""
    kind: FaultKind = "schema"
    if class_name.startswith("java.io."):
        kind = "framing"
    elif class_name in (ILLEGAL_STATE, SPARK_ILLEGAL_STATE):
        kind = "schema-version"
    return Fault(kind, finding.message, finding.expected, finding.position, finding.spark)


def _fault(error: CkptError) -> Fault:
    if isinstance(error, NotFound):
        return _NO_FILE
    if isinstance(error, LeftUnread | Unavailable) or not isinstance(error, MalformedFile):
        return Fault("unread", error.message)
    kind: FaultKind = "stream"
    if isinstance(error, BadSize):
        kind = "key-size" if error.of == "key" else "value-size"
    elif isinstance(error, NoMetadata):
        kind = "no-metadata"
    elif isinstance(error, WrongVersion):
        kind = "metadata-version"
    return Fault(kind, error.message, error.expected, error.position, error.spark)


def _is_checked_by_hadoop(store: StoreFiles, name: str) -> bool:
    """Spark reads these through the class of Hadoop's that checks; the others, and zips with ids, through another."""
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
