"""What the offset log and the commit log must be for a query to settle on a batch."""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX, SPARK_ILLEGAL_STATE, parse_lines, parse_version
from ckpttool.laws.base import (
    ASSERTION,
    FILE_NOT_FOUND,
    LOCATION_NOT_EMPTY,
    NO_DIRECTORY,
    REQUIREMENT,
    SPARK_EXCEPTION,
    Law,
    error_of,
    no_directory,
)
from ckpttool.laws.checks.logs import check_first_place, check_heads, check_previous_offset
from ckpttool.laws.checks.sources import check_source_count
from ckpttool.laws.checks.state import check_partitions
from ckpttool.laws.pinned import PARTITIONS, pinned_values
from ckpttool.laws.start import UNREAD
from ckpttool.releases import OLDEST, Release, since
from ckpttool.scene.evidence import left_in_logs
from ckpttool.scene.scene import Doubt, Failure, Scene

# The newest version that a release reads: first release → version.
OFFSETS_READ: tuple[tuple[Release, int], ...] = ((OLDEST, 1), (since.OFFSETS_2, 2))
COMMITS_READ: tuple[tuple[Release, int], ...] = ((OLDEST, 1), (since.COMMITS_2, 2), (since.COMMITS_3, 3))


def newest_read(table: tuple[tuple[Release, int], ...], release: Release) -> int:
    return max(version for first, version in table if first <= release)


def _version_refused(path: str, version: int, newest: int, scene: Scene) -> Failure:
    message = f"maximum supported log version is v{newest}, but encountered v{version}"
    if scene.release < since.LOG_CONDITIONS:
        return Failure("init", ILLEGAL_STATE, None, message, f"{path} has version {version}")
    condition = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
    return Failure("init", SPARK_ILLEGAL_STATE, condition, message, f"{path} has version {version}")


def _unreadable(scene: Scene, path: str) -> Failure | Doubt | None:
    fault = scene.fault(path)
    if fault is None:
        return None
    if fault.id in UNREAD:
        return Doubt(f"{path} was not read: {fault.message}")
    class_name, condition = error_of(fault, scene.release)
    return Failure("init", class_name, condition, fault.message, f"{path}: {fault.message}")


def _log_directories(scene: Scene) -> Failure | Doubt | None:
    for log in layout.LOGS:
        fault = scene.fault(log)
        if fault and fault.id != NO_DIRECTORY:
            return Doubt(f"{log}/ was not listed: {fault.message}")
    return None


def _offsets_no_directory(scene: Scene) -> Failure | None:
    return no_directory(scene, layout.OFFSETS, "init")


def _highest_number(scene: Scene) -> Failure | Doubt | None:
    """Nothing comes after the highest number there is: a range that ends with it cannot be counted."""
    if scene.planned == LONG_MAX and not scene.is_continuous:
        return Failure("init", REQUIREMENT, None, "More than Int.MaxValue elements.", f"offsets/{LONG_MAX} is there")
    return None


def _highest_commit(scene: Scene) -> Failure | Doubt | None:
    if scene.committed != LONG_MAX or (scene.planned is None and scene.release < since.COMMITS_ALONE):
        return None
    return Failure("init", REQUIREMENT, None, "More than Int.MaxValue elements.", f"commits/{LONG_MAX} is there")


def _newest_offsets(scene: Scene) -> Failure | Doubt | None:
    if scene.is_continuous:
        return _continuous_offsets(scene)
    if scene.planned is None:
        return None
    if scene.planned not in scene.checkpoint.offset_names.ids:
        path = layout.offsets(scene.planned)
        return Failure(
            "init",
            FILE_NOT_FOUND,
            None,
            f"{path} does not exist",
            f"a name counts as batch {scene.planned}, and {path} is not there",
        )
    return _offsets_file(scene, scene.planned)


def _continuous_offsets(scene: Scene) -> Failure | Doubt | None:
    """Continuous processing opens the offsets of the last committed epoch, if they are there."""
    committed = scene.committed
    if committed is None or committed not in scene.checkpoint.offset_names.ids:
        return None
    return _offsets_file(scene, committed)


def _offsets_file(scene: Scene, batch_id: int) -> Failure | Doubt | None:
    path = layout.offsets(batch_id)
    if spoken := _unreadable(scene, path):
        return spoken
    entry = scene.entry(batch_id)
    newest = newest_read(OFFSETS_READ, scene.release)
    if entry and entry.version > newest:
        return _version_refused(path, entry.version, newest, scene)
    return None


def _previous_offsets(scene: Scene) -> Failure | Doubt | None:
    """The batch before the newest: its end is where the newest begins."""
    planned = scene.planned
    if not planned or scene.is_continuous:
        return None
    if scene.is_async:
        return None if scene.previous is None else _offsets_file(scene, scene.previous)
    if planned - 1 not in scene.checkpoint.offset_names.ids:
        if scene.committed is None and scene.previous_on_disk is not None and not scene.is_stateful:
            return Doubt(f"offsets/{planned - 1} is not there, as with asynchronous progress, and no commit is either")
        return Failure(
            "init",
            ILLEGAL_STATE,
            None,
            f"batch {planned - 1} doesn't exist",
            f"offsets/{planned} is the highest, and offsets/{planned - 1} is not there",
        )
    return _offsets_file(scene, planned - 1)


def _source_count(scene: Scene) -> Failure | None:
    """Both files that are opened must have a line for each of the query's sources; a source never has an empty one."""
    counts = {}
    surplus = False
    for batch_id in (scene.planned, scene.previous):
        entry = scene.entry(batch_id)
        if entry and entry.version == 1 and (entry.sources or not scene.is_continuous):
            counts[batch_id] = len(entry.sources)
            surplus = surplus or "" in [source.text for source in entry.sources]
    if len(set(counts.values())) < 2 and 0 not in counts.values() and not surplus:
        return None
    spelled = " and ".join(f"offsets/{batch_id} has {count}" for batch_id, count in counts.items())
    return Failure(
        "init",
        ASSERTION,
        None,
        "sources in the checkpoint offsets and now there are",
        f"there must be a line for each source: {spelled}",
    )


def _newest_commit(scene: Scene) -> Failure | Doubt | None:
    committed = scene.committed
    if committed is None or (scene.planned is None and scene.release < since.COMMITS_ALONE):
        return None
    path = layout.commits(committed)
    if committed not in scene.checkpoint.commit_names.ids:
        return Failure(
            "init",
            FILE_NOT_FOUND,
            None,
            f"{path} does not exist",
            f"a name counts as batch {committed}, and {path} is not there",
        )
    exact = since.COMMITS_2 <= scene.release < since.COMMITS_3
    fault = scene.fault(path)
    if exact and fault and fault.id == "log-version-too-new":
        return _exact_version(path)
    version = _commit_version(scene, committed)
    # A session that wrote version 2 had asked for it, and is taken to ask again.
    asked = scene.conf("spark.sql.streaming.stateStore.checkpointFormatVersion", str(min(version or 1, 2)))
    if exact and version is not None and str(version) != asked:
        return _exact_version(path)
    newest = newest_read(COMMITS_READ, scene.release)
    if version is not None and version > newest:
        return _version_refused(path, version, newest, scene)
    if spoken := _unreadable(scene, path):
        return spoken
    entry = scene.checkpoint.commits.get(committed)
    if entry and entry.version > 1 and scene.checkpoint.operators and not entry.state_unique_ids:
        return Doubt(f"{path} has version {entry.version}, and names no state, which the query has")
    return None


def _commit_version(scene: Scene, batch_id: int) -> int | None:
    """The version that the file gives itself, which is looked at before the rest of it."""
    entry = scene.checkpoint.commits.get(batch_id)
    if entry is not None:
        return entry.version
    try:
        return parse_version(parse_lines(scene.checkpoint.raw.get(layout.commits(batch_id), b""))[0].strip(), 3)
    except MalformedFile:
        return None


def _exact_version(path: str) -> Failure:
    return Failure(
        "init",
        SPARK_ILLEGAL_STATE,
        "INVALID_LOG_VERSION.EXACT_MATCH_VERSION",
        "The only supported log version is",
        f"{path} has not the version that the session writes",
    )


def _repartition(scene: Scene) -> Failure | None:
    """An uncommitted newest batch is compared with the one before: a changed number of partitions is a repartition."""
    planned, committed = scene.planned, scene.committed
    if planned is None or committed is None or planned <= committed:
        return None
    if scene.is_continuous or scene.is_realtime or scene.is_async:
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
        )
    counts = []
    for batch_id in (planned, planned - 1):
        entry = scene.entry(batch_id)
        if entry is None:
            return None
        if entry.metadata is None:
            return Failure(
                "init", REQUIREMENT, None, f"Batch {batch_id} metadata not found", f"offsets/{batch_id} has no metadata"
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
        )
    if counts[0] == counts[1]:
        return None
    return Failure(
        "init",
        SPARK_EXCEPTION,
        "STREAMING_UNFINISHED_REPARTITION_DETECTED",
        "is for an unfinished state repartitioning",
        f"offsets/{planned} pins {counts[0]} partitions, offsets/{planned - 1} {counts[1]}",
    )


def _commits_without_offsets(scene: Scene) -> Failure | None:
    if scene.planned is not None or scene.committed is None or scene.is_continuous:
        return None
    return Failure(
        "init", ASSERTION, None, "assertion failed", f"commits/{scene.committed} is there, offsets/ is empty"
    )


def _not_empty_at_start(scene: Scene) -> Failure | None:
    """A first batch wants offsets, commits and state to be empty: also of what a crash left of `offsets/0`."""
    if scene.planned is not None or scene.is_continuous:
        return None
    if not scene.is_on("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", default=True):
        return None
    if scene.committed is not None:
        occupied = "commits"
    elif left := left_in_logs(scene.checkpoint):
        occupied = left[0].rpartition("/")[0]
    elif scene.checkpoint.operators:
        occupied = "state"
    else:
        return None
    return Failure(
        "init",
        LOCATION_NOT_EMPTY,
        "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        "should be empty on batch 0",
        f"there are no offsets, and {occupied}/ is not empty",
    )


NEWEST = (
    Law("log-directory-unread", "Both logs must be listed.", "HDFSMetadataLog.getLatest", _log_directories),
    Law(
        "newest-offsets-malformed",
        "The highest offset file is opened, and never an older one in its place.",
        "HDFSMetadataLog.getLatest, OffsetSeqLog.deserialize",
        _newest_offsets,
        tells=("offset-file-torn", "log-version-too-new", "non-canonical-batch-name"),
    ),
)
COMMITS = (
    Law(
        "highest-commit",
        "No batch can follow a commit with the highest number there is.",
        "HDFSMetadataLog, NumericRange",
        _highest_commit,
    ),
    Law(
        "newest-commit-malformed",
        "The highest commit file is opened; 4.0 and 4.1 take exactly the version that the session would write.",
        "CommitLog.deserialize, MetadataVersionUtil",
        _newest_commit,
        tells=("commit-file-torn", "log-version-too-new", "non-canonical-batch-name"),
    ),
    Law(
        "unfinished-repartition",
        "An uncommitted batch whose number of partitions differs from the batch before is an unfinished repartition.",
        "StreamExecution, OfflineStateRepartitionUtils",
        _repartition,
        since=since.REPARTITION,
        symptom="an uncommitted batch pins another number of partitions",
        look=check_partitions,
        tells=("previous-offset-missing",),
    ),
)
REST = (
    Law(
        "highest-number",
        "No batch can follow one with the highest number there is.",
        "HDFSMetadataLog.verifyBatchIds, NumericRange",
        _highest_number,
    ),
    Law(
        "offset-log-lost",
        "Commits without any offsets fail an assertion.",
        "CheckpointVersionManager",
        _commits_without_offsets,
        since=since.COMMITS_ALONE,
        symptom="commits without any offsets",
        look=check_heads,
    ),
    Law(
        "previous-offset-missing",
        "The offsets of the batch before the newest are opened as well.",
        "MicroBatchExecution.populateStartOffsets",
        _previous_offsets,
        symptom="the second newest offset file is gone",
        look=check_previous_offset,
        tells=("offset-file-torn", "log-version-too-new"),
    ),
    Law(
        "source-count-changed",
        "Each of the two offset files must have one line per source of the query.",
        "OffsetSeq.toStreamProgress",
        _source_count,
        symptom="another number of source lines",
        look=check_source_count,
        severities=("error", "warning"),
    ),
    Law(
        "pinned-value",
        "The configuration that the newest offsets pin is forced on the session, and must be valid there.",
        "OffsetSeqMetadata.setSessionConf",
        pinned_values,
    ),
    Law(
        "location-not-empty",
        "A query without offsets wants an empty place.",
        "MicroBatchExecution, verifyCheckpointDirectoryEmptyOnStart",
        _not_empty_at_start,
        since=since.EMPTY_LOCATION,
        symptom="something lies where the first batch wants an empty place",
        look=check_first_place,
        severities=("error", "warning"),
        tells=("state-without-batches", "offset-log-lost"),
    ),
    Law(
        "offsets-no-directory",
        "A file in the place of `offsets/` is taken for an empty log, until the first batch is to be written there.",
        "HDFSMetadataLog.getLatest, Hadoop's LocalFs",
        _offsets_no_directory,
        tells=("not-a-directory",),
    ),
)
RULES = (*NEWEST, *COMMITS, *REST)
