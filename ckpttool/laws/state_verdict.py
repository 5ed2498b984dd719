"""Whether a release of Spark can load the state that a batch needs, and how it fails if it cannot. Pure.

Each store is loaded as that release does it: which base it takes, whether it goes on to an older one, which files it
opens, and the first that it cannot use. What it then raises is in `state_errors`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import NULL_POINTER
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import Law
from ckpttool.laws.state_errors import (
    EOF,
    FILE_NOT_FOUND,
    NO_SUCH_ELEMENT,
    NUMBER_FORMAT,
    UNREPAIRED,
    what_is_raised,
)
from ckpttool.model import Finding, Position, SparkError
from ckpttool.releases import NEWEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Start
from ckpttool.scene.state_chain import (
    BASE_SUFFIX,
    NO_FILE,
    Chain,
    Fault,
    OperatorFiles,
    StateFiles,
    StoreFiles,
    chains,
    sst_names,
)
from ckpttool.words import listed

Outcome = Literal["loadable", "failure", "unknown"]

REPAIR_CONF = "spark.sql.streaming.stateStore.autoSnapshotRepair.enabled"
REPLAY_CONF = "spark.sql.streaming.stateStore.autoSnapshotRepair.maxChangeFileReplay"
REPLAY_DEFAULT = 500
CHANGELOG_CONF = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
SIDECAR_CONF = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
_BEYOND_REPAIR = (NUMBER_FORMAT, NO_SUCH_ELEMENT)  # raised before and after Spark tries one base and then another


class StateFailure(Struct, frozen=True):
    """How the batch fails. `error`: the root cause's class, and the condition nearest to it; `message`: the fixed part
    of what the root cause says, empty where all of it varies."""

    error: SparkError
    message: str
    path: str
    why: str
    phase: Literal["batch"] = "batch"


class StateVerdict(Struct, frozen=True):
    """`failures`: one for each store that does not load, or what stops the batch before; Spark's tasks race, so that
    it may report any of them. `why`: what an `unknown` hangs on, and what a `loadable` rests on."""

    outcome: Outcome
    failures: tuple[StateFailure, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def failure(self) -> StateFailure | None:
        return self.failures[0] if self.failures else None


TABLES_UNREAD = "RocksDB's tables, which were not read inside, are sound"


def predict_state(
    files: StateFiles, release: Release, conf: Mapping[str, str] | None = None, *, is_stateful: bool = True
) -> StateVerdict:
    """`conf`: the session's configuration, as far as it is known, and Spark's defaults otherwise."""
    if files.version <= 0:
        return StateVerdict("loadable", why=("batch 0 begins with empty state",))
    if files.entries is None and not is_stateful:
        return StateVerdict("unknown", why=("there is no state/: a stateless query needs none, a stateful one fails",))
    judge = _Judge(files, release, conf or {})
    failures = tuple(judge.before_loading())
    if not failures:
        failures = tuple(failure for store in files.stores if (failure := judge.load(store)))
    if failures:
        return StateVerdict("failure", failures)
    if judge.doubts:
        return StateVerdict("unknown", why=tuple(dict.fromkeys(judge.doubts)))
    return StateVerdict("loadable", why=tuple(_grounds(files)))


def obstacle_of(files: StateFiles, conditions: Start) -> Failure | Doubt | None:
    """What becomes of the batch that these files are needed for. Nothing is missing from a directory that could not be
    listed."""
    if files.unreachable:
        unlisted = listed(files.unreachable)
        return Doubt(f"whether the state can be loaded is not known: {unlisted} could not be listed")
    verdict = predict_state(files, conditions.release, conditions.conf)
    if verdict.outcome == "unknown":
        return Doubt("; ".join(verdict.why))
    failure = verdict.failure
    if failure is None:
        return None
    error = failure.error
    return Failure("batch", error.class_name, error.condition, failure.message, failure.why, files.version)


def count_loadable(files: StateFiles, release: Release) -> dict[int, int | None]:
    """Of how many partitions of each operator all stores load, whatever else stops the query; None if that is not
    known."""
    counts: dict[int, int | None] = {}
    for operator in files.operators:
        judge = _Judge(files, release, {})
        stores = [store for store in files.stores if store.operator == operator.id]
        failed = {store.partition for store in stores if judge.load(store)}
        loaded = len({store.partition for store in stores} - failed) if files.version > 0 else operator.partitions
        counts[operator.id] = None if judge.doubts else loaded
    return counts


def _grounds(files: StateFiles) -> Iterator[str]:
    if files.mode == "quick":
        yield f"all files that version {files.version} needs are there; none was opened"
        return
    yield f"all files that version {files.version} needs were read to their end"
    if files.has_unread_tables:
        yield TABLES_UNREAD


class _Judge:
    """One release before one set of files. `doubts` gathers what would have to be known besides."""

    def __init__(self, files: StateFiles, release: Release, conf: Mapping[str, str]) -> None:
        self.files = files
        self.release = release
        self.conf = conf
        self.doubts = [f"{path} could not be listed" for path in files.unreachable]

    # -- while the batch is planned, on the driver ---------------------------------------------------------------------

    def before_loading(self) -> Iterator[StateFailure]:
        if self.release >= since.STATE_DIRECTORY and not self.files.entries:
            yield self.failure("state", Fault("missing", "missing, or empty"), "no-state-directory")
        for operator in self.files.operators:
            yield from self.plan(operator)

    def plan(self, operator: OperatorFiles) -> Iterator[StateFailure]:
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

    def load(self, store: StoreFiles) -> StateFailure | None:
        failure = self.load_files(store)
        if failure is None and store.damage:
            self.doubts.append(f"{store.path}: {store.damage}; the batch fails if it comes to the place")
        return failure

    def load_files(self, store: StoreFiles) -> StateFailure | None:
        failure = self.no_number(store) or self.other_spelling(store)
        if failure and failure.error.class_name in _BEYOND_REPAIR:
            return failure
        for chain in chains(store, self.files.version):
            if failure and (not self.repairs(store) or self.is_too_long(chain)):
                break
            if self.is_overlooked(store, chain):
                continue
            failure = self.base_failure(store, chain)
            if failure is None:
                return self.change_failure(store, chain)
            if failure.error.class_name in _BEYOND_REPAIR:
                return failure
        if failure and self.repairs(store):
            return replace(failure, error=SparkError(failure.error.class_name, UNREPAIRED))
        return failure

    def no_number(self, store: StoreFiles) -> StateFailure | None:
        """Where Spark lists the bases, it makes numbers of their names, and fails at the first that is none."""
        for name, version in self.listed_bases(store):
            if version is None:
                error = SparkError(NUMBER_FORMAT)
                return self.failure(f"{store.path}/{name}", Fault("stream", "its name is no version", spark=error))
        return None

    def other_spelling(self, store: StoreFiles) -> StateFailure | None:
        """For `+2.snapshot` Spark goes on to look for `2.snapshot`."""
        versions = [version for _, version in self.listed_bases(store) if version and version <= self.files.version]
        name = f"{max(versions, default=0)}{BASE_SUFFIX[store.provider]}"
        if not versions or name in store.names:
            return None
        error = SparkError(NO_SUCH_ELEMENT if store.provider == "hdfs" else FILE_NOT_FOUND)
        return self.failure(f"{store.path}/{name}", Fault("stream", "it is there under another spelling", spark=error))

    def listed_bases(self, store: StoreFiles) -> list[tuple[str, int | None]]:
        """All names that Spark takes for bases when it lists them; names with ids it takes apart differently."""
        suffix = BASE_SUFFIX[store.provider]
        exact_is_enough = store.provider == "hdfs" or f"{self.files.version}{suffix}" in store.names
        if (
            store.unique_id is not None
            or (self.release < since.REPAIR and exact_is_enough)
            or self.release < since.CHANGELOGS
        ):
            return []
        names = sorted(name for name in store.names if name.endswith(suffix) and "/" not in name)
        return [(name, parse_long(name.removesuffix(suffix))) for name in names]

    def is_overlooked(self, store: StoreFiles, chain: Chain) -> bool:
        """A directory in a snapshot's place is a file that is not there; Spark used to look for an older one then."""
        fault = store.faults.get(chain.base or "")
        return (
            fault is not None
            and fault.kind == "not-a-file"
            and store.provider == "hdfs"
            and self.release < since.REPAIR
        )

    def base_failure(self, store: StoreFiles, chain: Chain) -> StateFailure | None:
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

    def change_failure(self, store: StoreFiles, chain: Chain) -> StateFailure | None:
        path = f"{store.path}/"
        if chain.base is None and store.has_families and chain.changes and self.release >= since.REPAIR:
            # Only a snapshot tells the numbers of column families: without one, a changelog's are nobody's.
            fault = Fault("stream", "no snapshot is left", spark=SparkError(NULL_POINTER))
            return self.failure(f"{path}{chain.changes[0]}", fault)
        for name in chain.changes:
            met = self.fault_met(store, name)
            if met and self.is_known(f"{path}{name}", met):
                return self.failure(f"{path}{name}", met)
        if chain.missing:
            return self.failure(f"{path}{chain.missing}", NO_FILE)
        if store.blocked:
            return self.failure(f"{path}{store.blocked}", Fault("not-a-file", "a directory of that name"), "blocked")
        return None

    def fault_met(self, store: StoreFiles, name: str) -> Fault | None:
        """The checksum beside a file is looked at when the file is closed, whatever went wrong in between. What stops
        Spark at the head of a changelog, or in a zip, comes before that."""
        fault, sidecar = store.faults.get(name) or self.other_version(store, name), store.sidecar_faults.get(name)
        if sidecar is None or not self.reads_sidecar(store, name):
            return fault
        at_the_head = fault and fault.position and fault.position.byte == 0 and fault.spark != SparkError(EOF)
        comes_first = name.endswith(".zip") or (at_the_head and name.endswith(".changelog"))
        return fault if fault and comes_first else sidecar

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

    def is_too_long(self, chain: Chain) -> bool:
        told = self.conf.get(REPLAY_CONF, "")
        return self.files.version - chain.base_version > (int(told) if told.isdecimal() else REPLAY_DEFAULT)

    def is_known(self, path: str, fault: Fault) -> bool:
        """Whether the file was looked at; what was not may be anything."""
        if fault.kind == "unread":
            self.doubts.append(fault.message if path in fault.message else f"{path}: {fault.message}")
        return fault.kind != "unread"

    def failure(self, path: str, fault: Fault, met: str | None = None) -> StateFailure:
        error, message = what_is_raised(fault, path, self.release, met)
        return StateFailure(error, message, path, f"{path}: {fault.message}")


# -- findings ----------------------------------------------------------------------------------------------------------


def check_state_files(files: StateFiles) -> Iterator[Finding]:
    """What is wrong with the files, whatever release comes to load them; the errors named are the newest one's. Of what
    is in a directory that nobody could list, nothing is said."""
    for finding in _check(files):
        if not any(finding.path.startswith(f"{directory}/") for directory in files.unreachable):
            yield finding


def _check(files: StateFiles) -> Iterator[Finding]:
    judge = _Judge(files, NEWEST, {})
    for operator in files.operators:
        for failure in judge.plan(operator):
            yield _finding("state-file-corrupt", failure, None)
    for store in files.stores:
        yield from _missing_files(judge, store)
        yield from _corrupt_files(judge, store)
        yield from _damaged_tables(store)
        yield from _stale_files(store, files.version)


def _missing_files(judge: _Judge, store: StoreFiles) -> Iterator[Finding]:
    chain = next(chains(store, judge.files.version))
    if chain.missing:
        yield _finding("state-file-missing", judge.failure(f"{store.path}/{chain.missing}", NO_FILE), None)
    for name, fault in store.faults.items():
        if fault.kind == "missing":
            yield _finding("state-file-missing", judge.failure(f"{store.path}/{name}", fault), fault)


def _corrupt_files(judge: _Judge, store: StoreFiles) -> Iterator[Finding]:
    for name, fault in {**store.sidecar_faults, **store.faults}.items():
        if fault.kind not in ("missing", "unread"):
            yield _finding("state-file-corrupt", judge.failure(f"{store.path}/{name}", fault), fault)


def _damaged_tables(store: StoreFiles) -> Iterator[Finding]:
    if store.damage:
        yield Finding(
            id="state-unreadable",
            severity="error",
            path=store.path,
            message=store.damage,
            expected="tables as Spark left them",
            next_step=_NEXT_STEPS["state-file-corrupt"],
        )


def _finding(id: str, failure: StateFailure, fault: Fault | None) -> Finding:
    return Finding(
        id=id,
        severity="error",
        path=failure.path,
        message=failure.why.removeprefix(f"{failure.path}: "),
        expected=fault.expected if fault else None,
        next_step=_NEXT_STEPS[id],
        position=fault.position if fault else None,
        spark=failure.error,
    )


def _stale_files(store: StoreFiles, version: int) -> Iterator[Finding]:
    """Files beyond the version that the next batch writes: what an abandoned timeline left. Names with ids are safe."""
    if store.unique_id is not None:
        return
    suffixes = ("snapshot", "delta") if store.provider == "hdfs" else ("zip", "changelog")
    numbers = {name: parse_long(name.rpartition(".")[0]) for name in store.names if name.rpartition(".")[2] in suffixes}
    stale = sorted((number, name) for name, number in numbers.items() if number is not None and number > version + 1)
    if stale:
        yield Finding(
            id="stale-state-after-rewind",
            severity="warning",
            path=f"{store.path}/{stale[0][1]}",
            message=f"{len(stale)} files of versions beyond {version + 1}, which the next batch writes",
            expected=f"nothing beyond version {version + 1}",
            next_step=_NEXT_STEPS["stale-state-after-rewind"],
        )


_NEXT_STEPS = {
    "state-file-missing": "restore the file from a backup, or rewind to a batch whose state is whole",
    "state-file-corrupt": "restore it; a damaged snapshot may also go, if all changes since an older one are there",
    "stale-state-after-rewind": "move them away before the query starts: a later load would take them for its own",
}


LAWS = (
    Law("state-file-missing", "a file of the state is gone", needs="state"),
    Law("state-file-corrupt", "a file of the state cannot be read", needs="state"),
    Law("state-unreadable", "rows of a partition cannot be read", needs="state"),
    Law("stale-state-after-rewind", "state of batches that were undone", severities=("warning",), needs="state"),
    Law(
        "state-keys-miscounted",
        "a snapshot has another number of keys than it says",
        severities=("warning",),
        needs="rows",
    ),
    Law("state-out-of-reach", "files of the state could not be asked for", severities=("warning",), needs="rows"),
)
