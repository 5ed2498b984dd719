"""Finds the files that a version of the state needs: for each operator, partition and store.

`quick` looks at names, and at the sizes of the files that are needed; `full` has `state_bodies` open these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ckpttool.errors import MalformedFile, NotFound, Unavailable
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE
from ckpttool.formats.limits import most
from ckpttool.formats.state.datatypes import is_struct_type
from ckpttool.formats.state.names import LOG_DIRECTORY, SST_DIRECTORY, parse_state_versions, provider_by_conf
from ckpttool.model import Checkpoint, ColumnFamilySchema, Finding, Json, Operator
from ckpttool.scene.state_chain import (
    NO_FILE,
    NOT_A_FILE,
    Fault,
    FaultKind,
    Mode,
    OperatorFiles,
    Provider,
    StateFiles,
    StoreFiles,
    chains,
    next_change,
)
from ckpttool.storage.store import Store, is_directory
from ckpttool.storage.urls import is_local

__all__ = ["StateFiles", "load_state_files"]

UniqueIds = Mapping[int, tuple[tuple[str, ...], ...]]

_LONGEST_PARTITION = 8
_MOST_MISSING = 1000


def load_state_files(
    store: Store,
    checkpoint: Checkpoint,
    version: int,
    partitions: int | None = None,
    unique_ids: UniqueIds | None = None,
    mode: Mode = "quick",
    chosen: Callable[[StoreFiles], bool] | None = None,
    jobs: int = 1,
    *,
    kept_state: bool = False,
) -> StateFiles:
    """What is there of `version`. `partitions`: how many the offset log pins; without it, those that have a directory.
    `unique_ids`: those of the commit before, where it has any (`CommitLogEntry.state_unique_ids`). `chosen`: of which
    stores, of all if it does not say. `jobs`: stores at a time; a single one asks for the files of all at once.
    `kept_state`: whether the logs tell that the query had some."""
    loader = StateLoader(store, checkpoint, version, mode)
    listed = loader.list_stores(partitions, unique_ids or {})
    never_committed = loader.never_committed(listed, kept_state=kept_state)
    listed = [store for store in listed if store.operator not in never_committed]
    stores = [loader.sized(one) for one in listed if chosen is None or chosen(one)]
    if mode == "full":
        stores = loader.opened(stores, jobs)
    return StateFiles(
        version=version,
        mode=mode,
        stores=tuple(stores),
        operators=tuple(one for one in loader.load_operators() if one.id not in never_committed),
        entries=loader.count_entries(),
        never_committed=never_committed,
        unreachable=tuple(loader.unreachable),
    )


class StateLoader:
    def __init__(self, store: Store, checkpoint: Checkpoint, version: int, mode: Mode) -> None:
        self.store = store
        self.checkpoint = checkpoint
        self.version = version
        self.mode = mode
        self.is_local = is_local(store.url)
        self.unreachable: list[str] = []
        self.partitions: dict[int, int] = {}
        self.conf = _pinned(checkpoint)
        self.provider = _provider(checkpoint, self.conf)

    # -- which stores there must be ------------------------------------------------------------------------------------

    def list_stores(self, partitions: int | None, unique_ids: UniqueIds) -> list[StoreFiles]:
        operators = self.checkpoint.operators or (Operator(0, None, ()),)
        found = []
        for operator in operators:
            inside = self.names(layout.operator(operator.id)) or frozenset()
            ids = unique_ids.get(operator.id, ())
            self.partitions[operator.id] = count_partitions(operator, partitions, inside)
            if operator.partition_directories > most("partitions"):  # told where the checkpoint was read
                self.unreachable.append(layout.operator(operator.id))
            for partition in expected_partitions(operator, partitions, inside):
                of_partition = ids[partition] if partition < len(ids) else ()
                names = expected_stores(operator)
                for number, name in enumerate(names):
                    unique_id = of_partition[number] if len(of_partition) == len(names) else None
                    found.append(self.list_store(operator.id, partition, name, unique_id))
        return found

    def never_committed(self, stores: Sequence[StoreFiles], *, kept_state: bool) -> tuple[int, ...]:
        """The operators of a changed query whose start failed: it left what describes them, and not one version."""
        newest = self.checkpoint.last_commit_batch
        if self.version <= 0 or self.unreachable or newest is None:
            return ()
        written = {store.operator for store in stores if parse_state_versions(store.names)}
        described = [one for one in self.checkpoint.operators if one.metadata or any(s.schema for s in one.stores)]
        if not written and kept_state:
            return ()
        if not written:
            committed_ms = self.checkpoint.modified_ms.get(layout.commits(newest))
            described = [one for one in described if self.is_described_after(one, committed_ms)]
        return tuple(one.id for one in described if one.id not in written)

    def is_described_after(self, operator: Operator, time_ms: int | None) -> bool:
        """Whether nothing of what describes it was there at that time."""
        paths = [layout.operator_metadata_file(operator.id)] if operator.metadata else []
        paths += [layout.schema_file(operator.id, store.name) for store in operator.stores if store.schema]
        found = [file.modified_ms for file in map(self.store.stat, paths) if file and file.modified_ms is not None]
        return bool(found) and time_ms is not None and min(found) > time_ms

    def list_store(self, operator: int, partition: int, name: str, unique_id: str | None) -> StoreFiles:
        """Which tables a RocksDB needs stands in its snapshots: without opening these, their names tell nothing."""
        path = layout.store(operator, partition, name)
        names = self.names(path)
        below: set[str] = set()
        if self.provider == "rocksdb" and self.mode == "full":
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

    def count_entries(self) -> int | None:
        names = self.names(layout.STATE)
        return None if names is None else len(names)

    # -- what is in them -----------------------------------------------------------------------------------------------

    def sized(self, store: StoreFiles) -> StoreFiles:
        """With the sizes of what the first chain names. An empty file needs no opening to be known for what it is."""
        following = next_change(store, self.version)
        if following in store.names and is_directory(self.store, f"{store.path}/{following}"):
            store = replace(store, blocked=following)
        chain = next(chains(store, self.version))
        sizes: dict[str, int | None] = {}
        faults: dict[str, Fault] = {}
        for name in (*([chain.base] if chain.base else ()), *chain.changes):
            found = self.store.stat(f"{store.path}/{name}")
            sizes[name] = found.size_bytes if found else None
            fault = NOT_A_FILE if found and found.is_directory else None
            if found and found.size_bytes == 0 and self.mode == "quick":
                fault = self.fault_of_nothing(name)
            if fault:
                faults[name] = fault
        return replace(store, sizes=sizes, faults=faults, opened=frozenset(faults))

    def fault_of_nothing(self, name: str) -> Fault | None:
        from ckpttool.formats.state.compression import pinned_codec
        from ckpttool.reading.state_bodies import fault_in

        return fault_in(name, b"", pinned_codec(self.conf))

    def opened(self, stores: Sequence[StoreFiles], jobs: int) -> list[StoreFiles]:
        from ckpttool.formats.state.compression import pinned_codec
        from ckpttool.reading.state_bodies import BodyReader
        from ckpttool.state.side_by_side import side_by_side

        reader = BodyReader(self.store, self.version, pinned_codec(self.conf))
        groups = [stores] if jobs == 1 else [[one] for one in stores]
        return [one for group in side_by_side(reader.examine, groups, jobs) for one in group]

    # -- what belongs to an operator -----------------------------------------------------------------------------------

    def load_operators(self) -> Iterator[OperatorFiles]:
        for operator in self.checkpoint.operators:
            yield OperatorFiles(
                id=operator.id,
                partitions=self.partitions[operator.id],
                schema_faults=self.schema_faults(operator),
                metadata_faults=self.metadata_faults(operator),
                orphan_crcs=tuple(self.orphan_crcs(operator)) if self.is_local else (),
            )

    def schema_faults(self, operator: Operator) -> dict[str, Fault]:
        """What reading the checkpoint found wrong with schema files already, and schemas that are only JSON."""
        found = dict(unreadable_types(operator))
        for finding in self.checkpoint.faults:
            if finding.path.startswith(f"{layout.operator(operator.id)}/") and "schema" in finding.path.lower():
                found[finding.path] = self.told(finding, _schema_fault(finding))
        return found

    def metadata_faults(self, operator: Operator) -> dict[str, Fault]:
        """Of metadata of version 2, and of the schema files that it names, by their absolute paths at that time."""
        path, run_directory = layout.operator(operator.id), layout.operator_runs(operator.id)
        if layout.SCHEMAS not in (self.names(path) or ()) and not (
            operator.metadata and operator.metadata.version == 2
        ):
            return {}
        if not self.names(run_directory):
            return {run_directory: NO_FILE}
        found = {}
        for finding in self.checkpoint.faults:
            if finding.path.startswith(f"{layout.operator_metadata(operator.id)}/"):
                fault = Fault("stream", finding.message, finding.expected, finding.position, finding.spark)
                found[finding.path] = self.told(finding, fault)
        for schema in operator.metadata.stores if operator.metadata else ():
            for named in schema.schema_paths:
                tail = named[named.rfind(f"{path}/") :]
                if self.store.stat(tail) is None:
                    found[tail] = Fault("not-a-file", "the metadata names it, and it is not there", spark=NO_FILE.spark)
        return found

    def told(self, finding: Finding, fault: Fault) -> Fault:
        """What was out of reach may be sound."""
        if finding.id in ("unreadable", "file-vanished"):
            return Fault("unread", finding.message)
        return NOT_A_FILE if is_directory(self.store, finding.path) else fault

    def orphan_crcs(self, operator: Operator) -> Iterator[str]:
        """Spark writes a schema or metadata file that is missing, and Hadoop stumbles over the checksum of the old."""
        schemas = (layout.schema_file(operator.id, name) for name in expected_stores(operator))
        for path in (layout.operator_metadata_file(operator.id), *schemas):
            directory, _, name = path.rpartition("/")
            names = self.names(directory) or ()
            if layout.hadoop_crc(name) in names and name not in names:
                yield layout.hadoop_crc(path)


# -- what is expected --------------------------------------------------------------------------------------------------


def expected_partitions(operator: Operator, pinned: int | None, inside: Collection[str]) -> range:
    """Those to look at: beyond the last directory, and where very many are missing, one is like the next."""
    for before, number in enumerate(sorted(_directories(inside))):
        if number - before > _MOST_MISSING:
            return range(before + _MOST_MISSING)
    there = 1 + _count_directories(inside)
    return range(min(count_partitions(operator, pinned, inside), there, most("partitions")))


def count_partitions(operator: Operator, pinned: int | None, inside: Collection[str]) -> int:
    """Global limits and aggregations without a key have a single partition, whatever the offset log pins."""
    schemas = [store.schema for store in operator.stores if store.schema]
    keyless = any(is_keyless(family) for schema in schemas for family in schema.column_families if schema.version < 3)
    if operator.name == "globalLimit" or (
        keyless and operator.name in (None, "stateStoreSave", "StatefulStreamlineAggregate")
    ):
        return 1
    return max(1, _count_directories(inside)) if pinned is None else pinned


def _count_directories(inside: Iterable[str]) -> int:
    return 1 + max(_directories(inside), default=-1)


def _directories(inside: Iterable[str]) -> set[int]:
    return {int(name) for name in inside if name.isdecimal() and len(name) < _LONGEST_PARTITION}


def is_keyless(family: ColumnFamilySchema) -> bool:
    """Of an aggregation without a key, or of a global limit, whose key is a single null."""
    keys, values = _fields(family.key), _fields(family.value)
    if not keys:
        return not family.key.get("fields")
    names = [[field.get("name") for field in fields] for fields in (keys, values)]
    return names == [["key"], ["value"]] and keys[0].get("type") in ("void", "null")


def _fields(schema: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Those that are what fields are: a schema file may say anything."""
    found = schema.get("fields")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def expected_stores(operator: Operator) -> tuple[str, ...]:
    names = tuple(store.name for store in operator.stores)
    if any(name in layout.JOIN_STORES for name in names):
        return layout.JOIN_STORES  # all four, also where a directory is lost
    return names or (layout.DEFAULT_STORE,)


def unreadable_types(operator: Operator) -> dict[str, Fault]:
    """Schemas that are JSON, and no schema to Spark."""
    found = {}
    for store in operator.stores:
        families = store.schema.column_families if store.schema else ()
        if not all(is_struct_type(schema) for family in families for schema in (family.key, family.value)):
            message = "a schema that is no struct of data types"
            found[layout.schema_file(operator.id, store.name)] = Fault("schema", message, "Spark's data types")
    return found


def _pinned(checkpoint: Checkpoint) -> Mapping[str, str]:
    """The configuration in the newest offsets: Spark starts with it."""
    newest = checkpoint.offsets[max(checkpoint.offsets)] if checkpoint.offsets else None
    return newest.metadata.conf if newest and newest.metadata else {}


def _provider(checkpoint: Checkpoint, conf: Mapping[str, str]) -> Provider:
    """What the offsets pin, or else what the names of files show."""
    shown = (store.provider for operator in checkpoint.operators for store in operator.stores)
    name = provider_by_conf(conf) or next(filter(None, shown), "")
    return "rocksdb" if "rocksdb" in name.lower() else "hdfs"


# -- faults ------------------------------------------------------------------------------------------------------------


def _schema_fault(finding: Finding) -> Fault:
    """Spark has one error for all that is no schema, another for its version, and Java's for the framing around it."""
    class_name = finding.spark.class_name if finding.spark else ""
    kind: FaultKind = "schema"
    if class_name.startswith("java.io."):
        kind = "framing"
    elif class_name in (ILLEGAL_STATE, SPARK_ILLEGAL_STATE):
        kind = "schema-version"
    return Fault(kind, finding.message, finding.expected, finding.position, finding.spark)
