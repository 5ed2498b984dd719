"""State as far as names and pinned configuration tell, and whether a batch can load what it needs of it."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.formats.names import holes
from ckpttool.laws import state_load
from ckpttool.laws.base import REQUIREMENT, SPARK_EXCEPTION, SPARK_RUNTIME, Law, in_a_task, no_directory
from ckpttool.laws.pinned import FOR_STATE, PARTITIONS, PROVIDERS
from ckpttool.laws.state_errors import NO_SUCH_ELEMENT
from ckpttool.model import Finding, Operator
from ckpttool.releases import since
from ckpttool.scene.evidence import partition_count
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.words import counted, spell_gaps


def _never_committed(scene: Scene) -> Iterator[Operator]:
    files = scene.needed_state
    new = files.never_committed if files else ()
    return (operator for operator in scene.checkpoint.operators if operator.id in new)


def _not_in_the_query(scene: Scene) -> Failure | Doubt | None:
    """The code that has written the checkpoint has no such operator; what an operator is was not compared before 4.0.
    Where it is the only one, it may as well be that all of its state is lost; a query that is described is not asked
    here what becomes of its own operators (`laws.changes`)."""
    told = scene.query is not None and "operators" not in scene.query.not_told
    has = {one.id for one in scene.query.operators} if scene.query and told else set()
    for operator in _never_committed(scene):
        path = layout.operator(operator.id)
        if operator.id in has:
            continue
        if scene.release < since.OPERATOR_METADATA:
            if told or (scene.needed_state and scene.needed_state.stores):
                continue
            why = f"{path} says what it keeps, and has not one version: of a query that kept no state and whose changed"
            return Doubt(f"{why} code failed to start, nothing is lost. Of one that did, all of its state")
        if operator.metadata:
            why = f"{path} is of an operator that never committed, and the query that did has none of that number"
            condition = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
            message = "Streaming stateful operator name does not match"
            return Failure("batch", SPARK_RUNTIME, condition, message, why, scene.next_id, path=path)
    return None


def check_never_committed(scene: Scene) -> Iterator[Finding]:
    spoken = _not_in_the_query(scene)
    stopped = spoken if isinstance(spoken, Failure) else None
    for operator in _never_committed(scene):
        yield Finding(
            id="operator-never-committed",
            severity="error" if stopped else "warning",
            path=layout.operator(operator.id),
            message="it says what it keeps and has not one version, while batches went on: the query was changed, and"
            " its start failed",
            expected="the operators of the query that has written this checkpoint",
            next_step=f"put the old code back{', and set the directory aside' if stopped else ''}: nothing of it is"
            " lost. The new code wants a checkpoint of its own",
            spark=stopped.spark if stopped else None,
        )


def _repartition(scene: Scene) -> Failure | None:
    """An uncommitted newest batch is compared with the one before: a changed number of partitions is a repartition."""
    planned, committed = scene.planned, scene.committed
    if planned is None or committed is None or planned <= committed:
        return None
    if scene.is_continuous or scene.is_realtime or scene.is_async or scene.may_be_async:
        return None
    if not scene.is_on("spark.sql.streaming.checkUnfinishedRepartitionOnRestart", default=True):
        return None
    if planned - 1 not in scene.checkpoint.offset_names.ids:
        return Failure(
            "init",
            REQUIREMENT,
            None,
            f"Previous batch {planned - 1} not found in offset log",
            f"offsets/{planned} has no commit, and offsets/{planned - 1} is not there",
            path=layout.offsets(planned - 1),
        )
    counts = []
    for batch_id in (planned, planned - 1):
        entry = scene.entry(batch_id)
        if entry is None:
            return None
        if entry.metadata is None:
            return Failure(
                "init",
                REQUIREMENT,
                None,
                f"Batch {batch_id} metadata not found",
                f"offsets/{batch_id} has no metadata",
                path=layout.offsets(batch_id),
            )
        counts.append(entry.metadata.conf.get(PARTITIONS))
    if None in counts:
        if scene.release >= since.REPARTITION_OF_UNPINNED:
            return None
        return Failure(
            "init",
            "java.util.NoSuchElementException",
            None,
            "None.get",
            f"offsets/{planned} or offsets/{planned - 1} pins no number of partitions",
            path=layout.offsets(planned),
        )
    if counts[0] == counts[1]:
        return None
    return Failure(
        "init",
        SPARK_EXCEPTION,
        "STREAMING_UNFINISHED_REPARTITION_DETECTED",
        "is for an unfinished state repartitioning",
        f"offsets/{planned} pins {counts[0]} partitions, and offsets/{planned - 1} pins {counts[1]}",
        path=layout.offsets(planned),
    )


def check_partitions(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    pinned = partition_count(scene.evidence, newest.id) if newest else None
    if newest is None or pinned is None or not pinned.isdecimal():
        return
    before = partition_count(scene.evidence, newest.id - 1)
    if before not in (None, pinned) and scene.checkpoint.last_commit_batch != newest.id:
        yield Finding(
            id="unfinished-repartition",
            severity="error",
            path=layout.offsets(newest.id),
            message=f"pins {pinned} partitions where offsets/{newest.id - 1} pins {before}, and was not committed",
            expected=f"{before} partitions, or a finished repartition",
            next_step="finish the repartition with the same number. If it is a hand edit, restore the file",
        )
        return
    for operator in scene.checkpoint.operators:
        count = operator.partition_directories
        # Keyless aggregations and global limits use partition 0 alone; a crash in batch 0 leaves some out.
        if count > int(pinned) or (1 < count < int(pinned) and newest.id > 0):
            yield Finding(
                id="partition-count-mismatch",
                severity="error",
                path=layout.operator(operator.id),
                message=f"{counted(count, 'partition')} on disk, and offsets/{newest.id} pins {pinned}",
                expected=counted(int(pinned), "partition"),
                next_step="restore the missing directories, or spark.sql.shuffle.partitions in the newest offsets",
            )


REPARTITION = (
    Law(
        "unfinished-repartition",
        "An uncommitted batch whose number of partitions differs from the batch before is an unfinished repartition.",
        "StreamExecution, OfflineStateRepartitionUtils",
        _repartition,
        since=since.REPARTITION,
        symptom="an uncommitted batch pins another number of partitions",
        look=check_partitions,
        tells=("previous-offset-missing",),
        next_step="restore the file from a backup, or start once without the check for repartitions",
        errors=(
            "STREAMING_UNFINISHED_REPARTITION_DETECTED",
            "requirement failed: Previous batch…not found in offset log",
            "requirement failed: Batch…metadata not found",
            "More than Int.MaxValue elements",
            "NoSuchElementException: None.get",
        ),
        often=1,
    ),
)


def check_directories(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    numbers = [operator.id for operator in checkpoint.operators]
    named = any(commit.state_unique_ids for commit in checkpoint.commits.values())
    if (
        not numbers
        and not scene.fault(layout.STATE)
        and (named or (scene.evidence.newest and scene.evidence.newest.watermark_ms))
    ):
        yield Finding(
            id="state-directory-missing",
            severity="error" if named else "warning",
            path=layout.STATE,
            message="the commits name the state of operators, and there is none"
            if named
            else "a watermark moves, and there is no state: a stateful query has lost it, any other never had one",
            expected=layout.operator(0),
            next_step=_RESTORE,
        )
    if numbers and not (checkpoint.offset_names.ids or checkpoint.commit_names.ids):
        yield Finding(
            id="state-without-batches",
            severity="error",
            path=layout.STATE,
            message="there is state, and no batch in the logs",
            expected="offsets/ that belong to the state, or no state",
            next_step="restore the logs. Spark up to 4.0 starts at batch 0 over the old state",
        )
    missing = [range(numbers[0])] if numbers and numbers[0] > 0 else holes(numbers)
    if missing:
        yield Finding(
            id="operator-directory-missing",
            severity="error",
            path=layout.operator(missing[0].start),
            message=f"operator {spell_gaps(missing)} missing",
            expected="operators numbered from 0",
            next_step="restore the directory from a backup",
        )


_PINNED_WITH_METADATA = "spark.sql.streaming.stateStore.encodingFormat"  # pinned since the release that writes it


def check_operator_metadata(scene: Scene) -> Iterator[Finding]:
    """Spark writes it when it plans a run's first batch; only what 4.0 or later has committed must have it."""
    entry = scene.entry(scene.committed)
    if entry is None or entry.metadata is None or _PINNED_WITH_METADATA not in entry.metadata.conf:
        return
    for operator in scene.checkpoint.operators:
        path = layout.operator_metadata(operator.id)
        spoiled = any(f"{fault.path}/".startswith(f"{path}/") for fault in scene.checkpoint.faults)
        if operator.metadata is None and operator.versions and not spoiled:
            yield Finding(
                id="operator-metadata-missing",
                severity="warning",
                path=path,
                message="the operator has state and no metadata: Spark does not check that it is still the query's",
                expected="its name and its stores, as Spark 4.0 and later write them",
                next_step="restore it from a backup. The next batch writes it anew, whatever operator it is then",
            )


def _no_directory(scene: Scene) -> Failure | None:
    spoken = no_directory(scene, layout.STATE, "batch")
    return in_a_task(scene, spoken) if spoken else None


def _directory_missing(scene: Scene) -> Failure | Doubt | None:
    """Without any state directory: sure to fail if a batch without data proves the query stateful, else open."""
    checkpoint = scene.checkpoint
    if checkpoint.operators or scene.planned is None or scene.is_continuous:
        return None
    if scene.release < since.STATE_DIRECTORY and not scene.asks_for_rows:
        return None  # it is looked for where a task runs, and none does
    if not scene.is_stateful:
        moved = _watermark(scene) > 0
        return Doubt(_MAY_BE_LOST) if moved else None
    if scene.release < since.STATE_DIRECTORY:
        return Doubt("the query is stateful, and its state is gone")
    return Failure(
        "batch",
        SPARK_RUNTIME,
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "Cannot restart streaming query with stateful operators because the state directory is",
        "the query is stateful, and state/ is missing or empty",
        scene.next_id,
        path=layout.STATE,
    )


_MAY_BE_LOST = "a watermark moves, and there is no state/: was it lost? the query's progress names its `stateOperators`"


def _watermark(scene: Scene) -> int:
    """The newest batch's, where the commit before does not say otherwise."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    said = before.commit.next_watermark_ms if before and before.commit else None
    return min(mark for mark in (newest.watermark_ms if newest else 0, said) if mark is not None)


_RESTORE = "restore state/ from a backup"
_MISSING = Law(
    "state-directory-missing",
    "A stateful query needs the state of the batch before.",
    "IncrementalExecution, StateStore",
    _directory_missing,
    symptom="a stateful query without state",
    look=check_directories,
    severities=("error", "warning"),
    tells=("state-without-batches",),
    next_step=_RESTORE,
    errors=(
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "/state/…does not exist",
        "Error reading delta file",
        "Error reading streaming state file",
    ),
)

DIRECTORIES = (
    _MISSING,
    Law("state-without-batches", "state, but no batch in the logs", look=check_directories),
    Law(
        "operator-metadata-missing",
        "an operator with state has no metadata",
        look=check_operator_metadata,
        severities=("warning",),
    ),
    Law("operator-directory-missing", "the numbering of `state/` has a hole", look=check_directories),
    Law(
        "partition-count-mismatch",
        "state has other partitions than are pinned",
        look=check_partitions,
        errors=("Error reading delta file", "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
        often=1,
    ),
)


def _unnamed(scene: Scene) -> Failure | None:
    """State is loaded by plain names then; whoever goes by the newest commit wants ids of the next version."""
    commit = scene.checkpoint.commits.get(-1 if scene.committed is None else scene.committed)
    files = scene.needed_state
    if commit is None or commit.version != _WITH_IDS or commit.state_unique_ids or files is None or not files.stores:
        return None
    path = layout.commits(commit.batch_id)
    why = f"{path} has version {_WITH_IDS} and names no state, which the query has"
    if any(store.provider == "hdfs" for store in files.stores):
        class_name, condition = _NO_IDS
        return Failure("batch", class_name, condition, "checkpoint", why, scene.next_id, path=path)
    condition = "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"
    return Failure("batch", NO_SUCH_ELEMENT, condition, "None.get", why, scene.next_id, path=path)


_WITH_IDS = 2
_NO_IDS = (f"{PROVIDERS}.StateStoreCheckpointIdsNotSupported", "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED")
_NEVER_COMMITTED = Law(
    "operator-never-committed",
    "Every operator that has metadata must be one of the query's, also one that a failed start has left.",
    "IncrementalExecution.checkOperatorValidWithMetadata",
    _not_in_the_query,
    symptom="an operator has a schema and no version, while batches went on: a changed query failed to start",
    look=check_never_committed,
    severities=("error", "warning"),
    needs="state",
    errors=(
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        "Error reading delta file…/1.delta",
        "Error reading streaming state file…/1.changelog",
    ),
    often=3,
)
LOADED = (
    _NEVER_COMMITTED,
    Law(
        "state-no-directory",
        "A file in the place of `state/` stops the first task that opens a store.",
        "StateStore, Hadoop's LocalFs",
        _no_directory,
        symptom="a file stands in the place of state/",
        tells=("not-a-directory",),
        errors=("ParentNotDirectoryException…/state",),
        often=1,
    ),
    *FOR_STATE,
    *state_load.LOADED,
    Law(
        "commit-names-no-state",
        "A query whose newest commit has version 2 writes ids of its state, and needs those that it goes on from.",
        "CheckpointVersionManager, HDFSBackedStateStoreProvider.init, RocksDB.commit",
        _unnamed,
        since=since.COMMITS_OVERRULE,
        symptom="a commit of version 2 names no state, and the query has it",
        next_step="restore the commit from a backup. A file of version 1 whose first line was changed needs `v1`",
        errors=("CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT…None.get", "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED"),
        often=1,
    ),
    _MISSING,
)

FILES = (_NEVER_COMMITTED, *state_load.LOADED, *state_load.STALE)
OF_ROWS = state_load.OF_ROWS
