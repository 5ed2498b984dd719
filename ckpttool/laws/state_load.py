"""How a release of Spark loads the state that a batch needs, and what stops it there. Pure.

Each store is loaded as that release does it: which base it takes, whether it goes on to an older one, which files it
opens, and the first that it cannot use. What it then raises is in `state_errors`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import NULL_POINTER
from ckpttool.formats.names import parse_long
from ckpttool.laws import state_errors
from ckpttool.laws.base import OUT_OF_THE_WAY, Law, finding_of, in_a_task
from ckpttool.model import Finding, Position, SparkError
from ckpttool.releases import NEWEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene, Start
from ckpttool.scene.state_chain import (
    BASE_SUFFIX,
    NO_FILE,
    Chain,
    Fault,
    OperatorFiles,
    StateFiles,
    StoreFiles,
    chains,
    is_found,
    listed_bases,
    sst_names,
)
from ckpttool.words import counted, listed

REPAIR_CONF = "spark.sql.streaming.stateStore.autoSnapshotRepair.enabled"
REPLAY_CONF = "spark.sql.streaming.stateStore.autoSnapshotRepair.maxChangeFileReplay"
REPLAY_DEFAULT = 500
CHANGELOG_CONF = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
SIDECAR_CONF = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
TABLES_UNREAD = "RocksDB's tables, which were not read inside, are sound"
# Raised before and after Spark tries one base and then another.
_BEYOND_REPAIR = (state_errors.NUMBER_FORMAT, state_errors.NO_SUCH_ELEMENT)


def obstacles(files: StateFiles, start: Start) -> tuple[Failure | Doubt, ...]:
    """What keeps this version of the state from being loaded: a failure for each store that does not load, or what
    stops the batch before. Spark's tasks race, so that it may report any of them. Without failures, what is not known.

    Nothing is missing from a directory that could not be listed."""
    if files.unreachable:
        unlisted = listed(files.unreachable)
        return (Doubt(f"whether the state can be loaded is not known: {unlisted} could not be listed"),)
    if files.version <= 0:
        return ()  # batch 0 begins with empty state
    loading = _Loading(files, start)
    failures = tuple(loading.plan()) or tuple(filter(None, map(loading.load, files.stores)))
    return failures or tuple(map(Doubt, dict.fromkeys(loading.doubts)))


def obstacle_of(files: StateFiles, start: Start) -> Failure | Doubt | None:
    """What becomes of the batch that these files are needed for."""
    spoken = obstacles(files, start)
    first = next(iter(spoken), None)
    return Doubt(", and ".join(one.why for one in spoken)) if isinstance(first, Doubt) else first


def count_loadable(files: StateFiles, release: Release) -> dict[int, int | None]:
    """Of how many partitions of each operator all stores load, whatever else stops the query; None if that is not
    known."""
    counts: dict[int, int | None] = {}
    for operator in files.operators:
        loading = _Loading(files, Start(release))
        stores = [store for store in files.stores if store.operator == operator.id]
        failed = {store.partition for store in stores if loading.load(store)}
        loaded = len({store.partition for store in stores} - failed) if files.version > 0 else operator.partitions
        counts[operator.id] = None if loading.doubts or files.unreachable else loaded
    return counts


def _load(scene: Scene) -> Failure | Doubt | None:
    """As far as somebody looked; where no task of the batch runs, nobody opens the state."""
    files = scene.needed_state
    spoken = obstacle_of(files, scene.start) if files and scene.asks_for_rows else None
    return in_a_task(scene, spoken) if isinstance(spoken, Failure) else spoken


# What is met → the law that it breaks, where that is not `state-file-corrupt`.
_BROKEN = {
    "no-state-directory": "state-directory-missing",
    "missing": "state-file-missing",
    "metadata-missing": "state-file-missing",
    "no-base": "state-file-missing",
    "misnamed": "state-file-misnamed",
    "orphan-crc": "state-write",
    "blocked": "state-write",
}


class _Loading:
    """One release that loads one set of files. `doubts` gathers what would have to be known besides."""

    def __init__(self, files: StateFiles, start: Start) -> None:
        self.files = files
        self.release = start.release
        self.conf = start.conf
        self.doubts: list[str] = []

    # -- while the batch is planned, on the driver ---------------------------------------------------------------------

    def plan(self) -> Iterator[Failure]:
        if self.release >= since.STATE_DIRECTORY and not self.files.entries:
            yield self.failure("state", Fault("missing", "the directory is missing, or empty"), "no-state-directory")
        for operator in self.files.operators:
            yield from self.plan_operator(operator)

    def plan_operator(self, operator: OperatorFiles) -> Iterator[Failure]:
        if self.release >= since.OPERATOR_METADATA:
            for path, fault in operator.metadata_faults.items():
                if self.is_known(path, fault):
                    yield self.failure(path, fault, "metadata-missing" if fault.kind == "missing" else "metadata")
        if self.release >= since.SCHEMA_FILES:
            for path, fault in operator.schema_faults.items():
                if self.is_known(path, fault):
                    yield self.failure(path, fault)
        for path in operator.orphan_crcs:
            is_schema = path.endswith(layout.sidecar(layout.SCHEMA))
            if self.release >= (since.SCHEMA_FILES if is_schema else since.OPERATOR_METADATA):
                yield self.failure(
                    path, Fault("missing", "the file that this checksum is of is not there"), "orphan-crc"
                )

    # -- while a store is loaded, in a task ----------------------------------------------------------------------------

    def load(self, store: StoreFiles) -> Failure | None:
        failure = self.load_files(store)
        if failure is None and store.damage:
            self.doubts.append(f"{store.path}: {store.damage}. The batch fails if it comes to the place")
        return failure

    def load_files(self, store: StoreFiles) -> Failure | None:
        failure = self.no_number(store) or self.other_spelling(store)
        if failure and failure.class_name in _BEYOND_REPAIR:
            return failure
        first, repairs = -1, False
        for chain in chains(store, self.files.version):
            if failure and (not (repairs := repairs or self.repairs(store)) or self.is_too_long(chain)):
                break
            found = is_found(store, self.files.version, chain, self.most_changes)
            if self.is_overlooked(store, chain) or chain.base_version == first or not found:
                continue  # the version that was tried first is not tried again, whatever is known of it by then
            first = chain.base_version if first < 0 else first
            failure = self.base_failure(store, chain)
            if failure is None:
                return self.change_failure(store, chain)
            if failure.class_name in _BEYOND_REPAIR:
                return failure
        if failure and (repairs or self.repairs(store)):
            return replace(failure, condition=state_errors.UNREPAIRED)
        return failure

    def no_number(self, store: StoreFiles) -> Failure | None:
        """Where Spark lists the bases, it makes numbers of their names, and fails at the first that is none."""
        for name, version in self.listed_bases(store):
            if version is None:
                fault = Fault("stream", "its name is no version", spark=SparkError(state_errors.NUMBER_FORMAT))
                return self.failure(f"{store.path}/{name}", fault, "misnamed")
        return None

    def other_spelling(self, store: StoreFiles) -> Failure | None:
        """For `+2.snapshot` Spark goes on to look for `2.snapshot`."""
        versions = [version for _, version in self.listed_bases(store) if version and version <= self.files.version]
        name = f"{max(versions, default=0)}{BASE_SUFFIX[store.provider]}"
        if not versions or name in store.names:
            return None
        error = SparkError(state_errors.NO_SUCH_ELEMENT if store.provider == "hdfs" else state_errors.FILE_NOT_FOUND)
        fault = Fault("stream", "it is there under another spelling", spark=error)
        return self.failure(f"{store.path}/{name}", fault, "misnamed")

    def listed_bases(self, store: StoreFiles) -> tuple[tuple[str, int | None], ...]:
        """All names that Spark takes for bases when it lists them; names with ids it takes apart differently."""
        suffix = BASE_SUFFIX[store.provider]
        exact_is_enough = store.provider == "hdfs" or f"{self.files.version}{suffix}" in store.names
        if (
            store.unique_id is not None
            or (self.release < since.REPAIR and exact_is_enough)
            or self.release < since.CHANGELOGS
        ):
            return ()
        return listed_bases(store.names, suffix)

    def is_overlooked(self, store: StoreFiles, chain: Chain) -> bool:
        """A directory in a snapshot's place is a file that is not there; Spark used to look for an older one then."""
        fault = store.faults.get(chain.base or "")
        return (
            fault is not None
            and fault.kind == "not-a-file"
            and store.provider == "hdfs"
            and self.release < since.REPAIR
        )

    def base_failure(self, store: StoreFiles, chain: Chain) -> Failure | None:
        version, path = self.files.version, f"{store.path}/"
        if chain.incomplete:
            fault = Fault("missing", "no base is left that its changelogs lead back to")
            return self.failure(f"{path}{version}_{store.unique_id}.changelog", fault, "no-base")
        if store.provider == "rocksdb" and self.release < since.CHANGELOGS and chain.base_version < version:
            return self.failure(f"{path}{version}.zip", NO_FILE)
        for name in (chain.base, *sst_names(store, chain.base)) if chain.base else ():
            met = self.fault_met(store, name)
            if met and self.is_known(f"{path}{name}", met):
                return self.failure(f"{path}{name}", met)
        return None

    def change_failure(self, store: StoreFiles, chain: Chain) -> Failure | None:
        path = f"{store.path}/"
        if chain.base is None and store.has_families and chain.changes and self.release >= since.REPAIR:
            # Only a snapshot tells the numbers of column families: without one, a changelog's are nobody's.
            fault = Fault("stream", "no snapshot is left", spark=SparkError(NULL_POINTER))
            return self.failure(f"{path}{chain.changes[0]}", fault)
        for name in chain.changes:
            met = self.fault_met(store, name)
            if met and self.is_known(f"{path}{name}", met):
                unnamed = met.spark == SparkError(state_errors.EOF) and met.is_at_the_head
                newest = name == f"{self.files.version}_{store.unique_id}.changelog"
                return self.failure(f"{path}{name}", met, "no-lineage" if newest and unnamed else None)
        if chain.missing:
            return self.failure(f"{path}{chain.missing}", NO_FILE)
        return self.blocked(store, store.blocked) if store.blocked else None

    def blocked(self, store: StoreFiles, name: str) -> Failure:
        return self.failure(f"{store.path}/{name}", Fault("not-a-file", "a directory of that name"), "blocked")

    def fault_met(self, store: StoreFiles, name: str) -> Fault | None:
        """The checksum beside a file is looked at when the file is closed, whatever went wrong in between. What stops
        Spark at the head of a changelog, or in a zip, comes before that."""
        if self.release < since.SIDECARS_WITH_IDS and name in store.hadoop_faults:
            return store.hadoop_faults[name]
        fault, sidecar = store.faults.get(name) or self.other_version(store, name), store.sidecar_faults.get(name)
        if sidecar is None or not self.reads_sidecar(store, name):
            return fault
        at_the_head = fault and fault.is_at_the_head and fault.spark != SparkError(state_errors.EOF)
        return fault if fault and (name.endswith(".zip") or (at_the_head and name.endswith(".changelog"))) else sidecar

    def other_version(self, store: StoreFiles, name: str) -> Fault | None:
        """4.0 has the version of the checkpoint's format in a snapshot's description; the others have 1."""
        snapshot = store.snapshots.get(name)
        expected = 2 if since.UNIQUE_IDS <= self.release < since.ONE_VERSION and store.unique_id is not None else 1
        if snapshot is None or snapshot.version == expected:
            return None
        message = f"its `metadata` begins with v{snapshot.version}"
        return Fault("metadata-version", message, f"`v{expected}`", Position(line=1))

    # -- what depends on release and configuration ---------------------------------------------------------------------

    def reads_sidecar(self, store: StoreFiles, name: str) -> bool:
        """Zips without an id are read past the class that checks, since the same contents make different zips."""
        if self.conf.get(SIDECAR_CONF) == "false" or self.release < since.SIDECARS:
            return False
        return store.unique_id is not None or (self.release < since.SIDECARS_WITH_IDS and not name.endswith(".zip"))

    def repairs(self, store: StoreFiles) -> bool:
        """Whether Spark goes on to an older base: for RocksDB only if the session writes changelogs, which is not
        pinned; without its word, what the query has written so far tells."""
        if self.release < since.REPAIR or self.conf.get(REPAIR_CONF) == "false":
            return False
        told = self.conf.get(CHANGELOG_CONF)
        seen = any(name.endswith(".changelog") for name in store.names)
        return store.provider == "hdfs" or (seen if told is None else told == "true")

    @property
    def most_changes(self) -> int:
        told = self.conf.get(REPLAY_CONF, "")
        return int(told) if told.isdecimal() else REPLAY_DEFAULT

    def is_too_long(self, chain: Chain) -> bool:
        return self.files.version - chain.base_version > self.most_changes

    def is_known(self, path: str, fault: Fault) -> bool:
        """Whether the file was looked at to its end; what was not may be anything."""
        if fault.kind in ("unread", "deadly"):
            self.doubts.append(fault.message if path in fault.message else f"{path}: {fault.message}")
        return fault.kind not in ("unread", "deadly")

    def failure(self, path: str, fault: Fault, met: str | None = None) -> Failure:
        error, message = state_errors.what_is_raised(fault, path, self.release, met)
        return Failure(
            "batch",
            error.class_name,
            error.condition,
            message,
            f"{path}: {fault.message}",
            self.files.version,
            path=path,
            expected=fault.expected,
            position=fault.position,
            law=_BROKEN.get(met or fault.kind, "state-file-corrupt"),
        )

    # -- whatever release comes to load them ---------------------------------------------------------------------------

    def all_faults(self) -> Iterator[Failure]:
        for operator in self.files.operators:
            yield from self.plan_operator(operator)
        for store in self.files.stores:
            if missing := next(chains(store, self.files.version)).missing:
                yield self.failure(f"{store.path}/{missing}", NO_FILE)
            for name, fault in {**store.sidecar_faults, **store.faults}.items():
                if fault.kind not in ("unread", "deadly"):
                    yield self.failure(f"{store.path}/{name}", fault)
            if store.blocked:
                yield self.blocked(store, store.blocked)


# -- findings ----------------------------------------------------------------------------------------------------------


def check_state_files(files: StateFiles) -> Iterator[Finding]:
    """What is wrong with the files, whatever release comes to load them; the errors named are the newest one's. Of what
    is in a directory that nobody could list, nothing is said."""
    told = [finding_of(_LAW[failure.law], failure) for failure in _Loading(files, Start(NEWEST)).all_faults()]
    stores = [finding for store in files.stores for finding in (*_damaged_inside(store), *_stale_files(store, files))]
    for finding in (*told, *stores):
        if not any(finding.path.startswith(f"{directory}/") for directory in files.unreachable):
            yield finding


def _look(scene: Scene) -> Iterator[Finding]:
    if scene.needed_state:
        yield from check_state_files(scene.needed_state)


def _damaged_inside(store: StoreFiles) -> Iterator[Finding]:
    """What was met by us alone, or what we died over: no error of Spark's is known for it."""
    left = "tables as Spark left them"
    if store.damage:
        yield Finding("state-unreadable", "error", store.path, store.damage, expected=left, next_step=_RESTORE)
    for name, fault in store.faults.items():
        if fault.kind == "deadly":
            path = f"{store.path}/{name}"
            yield Finding("state-file-corrupt", "error", path, fault.message, expected=left, next_step=_RESTORE)


def _stale_files(store: StoreFiles, files: StateFiles) -> Iterator[Finding]:
    """Files beyond the version that the next batch writes: what an abandoned timeline left. Names with ids are safe."""
    if store.unique_id is not None:
        return
    version = files.version
    suffixes = ("snapshot", "delta") if store.provider == "hdfs" else ("zip", "changelog")
    numbers = {name: parse_long(name.rpartition(".")[0]) for name in store.names if name.rpartition(".")[2] in suffixes}
    stale = sorted((number, name) for name, number in numbers.items() if number is not None and number > version + 1)
    if stale:
        yield Finding(
            id="stale-state-after-rewind",
            severity="warning",
            path=f"{store.path}/{stale[0][1]}",
            message=f"{counted(len(stale), 'file')} of versions beyond {version + 1}, which the next batch writes",
            expected=f"nothing beyond version {version + 1}",
            next_step="move them away before the query starts: a later load would take them for its own",
        )


# -- laws --------------------------------------------------------------------------------------------------------------

_RESTORE = "restore it. A damaged snapshot may also go, if all changes since an older one are there"
_TOLD = ("state-directory-missing", "state-without-batches", "operator-metadata-corrupt", "state-schema-corrupt")

# The first is the one that leaves it open whether the state can be loaded.
LOADED = (
    Law(
        "state-unreadable",
        "Every row of a table that the batch comes to must be readable.",
        "StateStore, RocksDB",
        _load,
        symptom="rows of a partition cannot be read",
        look=_look,
        needs="rows",
        tells=(*_TOLD, "state-file-missing", "state-file-corrupt"),
        errors=state_errors.PRINTED_OF_ROWS,
    ),
    Law(
        "state-file-missing",
        "Each store is made of a whole copy and all changes since.",
        "HDFSBackedStateStoreProvider, RocksDBFileManager, StateStoreChangelog",
        _load,
        symptom="a file of the state is gone",
        look=_look,
        needs="state",
        tells=_TOLD,
        next_step="restore the file from a backup, or rewind to a batch whose state is whole",
        errors=state_errors.PRINTED_OF_MISSING,
        often=3,
    ),
    Law(
        "state-file-corrupt",
        "Each file that the state is made of is read to its end. Since 4.2 an older copy is tried.",
        "HDFSBackedStateStoreProvider, RocksDBFileManager, StateSchemaCompatibilityChecker",
        _load,
        symptom="a file of the state cannot be read",
        look=_look,
        needs="rows",
        tells=(*_TOLD, "state-unreadable"),
        next_step=_RESTORE,
        errors=state_errors.PRINTED_OF_CORRUPT,
    ),
    Law(
        "state-file-misnamed",
        "Where copies of the state are listed, each name must be a number, and spelled as Spark spells it.",
        "HDFSBackedStateStoreProvider, RocksDBFileManager",
        _load,
        since=since.CHANGELOGS,
        symptom="a copy of the state has a name that is no version",
        needs="state",
        next_step="set the file aside: Spark did not write it under this name",
        errors=state_errors.PRINTED_OF_MISNAMED,
    ),
    Law(
        "state-write",
        "A stale checksum, or a directory, in the place of what the batch writes to its state stops it.",
        "CheckpointFileManager, Hadoop's ChecksumFs",
        _load,
        symptom="something lies where the batch writes its state",
        look=_look,
        needs="state",
        tells=("orphan-crc",),
        next_step=OUT_OF_THE_WAY,
        errors=state_errors.PRINTED_OF_BLOCKED,
    ),
)
_LAW = {law.id: law for law in LOADED}

STALE = (
    Law(
        "stale-state-after-rewind",
        "state of batches that were undone",
        look=_look,
        severities=("warning",),
        needs="state",
    ),
)
# Of what is inside, `state verify` tells.
OF_ROWS = (
    Law(
        "state-keys-miscounted",
        "a snapshot has another number of keys than it says",
        severities=("warning",),
        needs="rows",
    ),
    Law("state-out-of-reach", "files of the state could not be asked for", severities=("warning",), needs="rows"),
)
