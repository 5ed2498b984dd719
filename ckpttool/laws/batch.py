"""What a batch runs into once Spark has settled on it, from its offsets to its commit."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, NULL_POINTER
from ckpttool.laws.base import ASSERTION, RENAME_REFUSED, SPARK_EXCEPTION, Law, concurrent_use, no_directory
from ckpttool.laws.pinned import state_settings
from ckpttool.laws.sources import (
    beginning_lost,
    file_position_malformed,
    offset_ahead_of_log,
    range_missing,
    rate_offset_malformed,
)
from ckpttool.laws.state_verdict import obstacle_of
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.source_logs import newest_entry

CONFLICT = "CONCURRENT_STREAM_LOG_UPDATE"


def _source_log_write(scene: Scene) -> Failure | None:
    if scene.is_continuous or scene.is_replay or not scene.is_local:
        return None
    for log in scene.checkpoint.source_logs:
        last = newest_entry(log)
        if log.kind == "file" and str((-1 if last is None else last) + 1) in log.names.directories:
            why = f"sources/{log.name}/{(-1 if last is None else last) + 1} is a directory"
            return Failure("batch", ILLEGAL_STATE, None, "Concurrent update to the log", why, scene.next_id)
        if log.kind == "file" and last is not None and layout.hadoop_crc(str(last + 1)) in log.names.orphan_crcs:
            return _rename_refused(scene, layout.hadoop_crc(layout.source_entry(log.name, last + 1)))
    return None


def _offsets_write(scene: Scene) -> Failure | None:
    batch = scene.next_id
    if scene.is_continuous or scene.is_replay:
        return None
    names = scene.checkpoint.offset_names
    if str(batch) in names.directories:
        return _conflict(scene, batch, f"offsets/{batch} is a directory", sink_written_first=False)
    if scene.is_local and not scene.is_async and layout.hadoop_crc(str(batch)) in names.orphan_crcs:
        return _rename_refused(scene, layout.hadoop_crc(layout.offsets(batch)))
    return None


def _rename_refused(scene: Scene, path: str) -> Failure:
    """What is renamed is in place by then: the next start finds it, and goes on."""
    why = f"{path} is left over, and a rename onto it fails"
    return Failure("batch", RENAME_REFUSED, concurrent_use(scene.release), "Rename destination", why, scene.next_id)


def _conflict(scene: Scene, batch: int, why: str, *, sink_written_first: bool) -> Failure:
    named = scene.release >= since.CONFLICT_CONDITION
    return Failure(
        "batch",
        SPARK_EXCEPTION if named else ASSERTION,
        CONFLICT if named else None,
        f"Multiple streaming jobs detected for {batch}",
        why,
        batch,
        sink_written_first,
    )


def _replayed_range(scene: Scene) -> Failure | None:
    if not scene.is_replay or scene.is_continuous:
        return None
    return file_position_malformed(scene, "batch") or range_missing(scene, "batch")


def _metadata_line(scene: Scene) -> Failure | None:
    """Offsets without metadata leave the watermark's tracker unset: committed, at once; replayed, after the sink."""
    newest = scene.batch(scene.planned)
    if newest is None or newest.entry is None or newest.entry.metadata or scene.is_continuous:
        return None
    why = f"offsets/{newest.id} has no metadata"
    if not scene.is_replay:
        return Failure("init", NULL_POINTER, None, "WatermarkTracker", why)
    return Failure("batch", NULL_POINTER, None, "WatermarkTracker", why, newest.id, sink_written_first=True)


def _state(scene: Scene) -> Failure | Doubt | None:
    """Without any state directory: sure to fail if a batch without data proves the query stateful, else open."""
    if spoken := no_directory(scene, layout.STATE, "batch"):
        return replace(spoken, condition=around_a_task(scene))
    if refused := state_settings(scene):
        return refused
    if obstacle := _unloadable(scene):
        return obstacle
    checkpoint = scene.checkpoint
    if checkpoint.operators or scene.planned is None or scene.is_continuous:
        return None
    if not scene.is_stateful:
        moved = _watermark(scene) > 0
        return Doubt("a watermark moves, and there is no state: was it lost?") if moved else None
    if scene.release < since.STATE_DIRECTORY:
        return Doubt("the query is stateful, and its state is gone")
    return Failure(
        "batch",
        "org.apache.spark.SparkRuntimeException",
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "Cannot restart streaming query with stateful operators because the state directory is",
        "the query is stateful, and state/ is missing or empty",
        scene.next_id,
    )


def _unloadable(scene: Scene) -> Failure | Doubt | None:
    """As far as somebody looked; where no task of the batch runs, nobody opens the state."""
    files = scene.needed_state
    spoken = obstacle_of(files, scene.start) if files and scene.asks_for_rows else None
    if isinstance(spoken, Failure):
        return replace(spoken, condition=spoken.condition or around_a_task(scene))
    return spoken


_FAILED_WRITES: tuple[tuple[Release, Release, tuple[str, ...], str], ...] = (
    (since.WRITES_ABORTED, since.TASK_WRITES_FAILED, ("memory", "noop", "kafka"), "WRITING_JOB_ABORTED"),
    (since.TASK_WRITES_FAILED, since.TASK_WRITES_BARE, ("file", "delta"), "TASK_WRITE_FAILED"),
)


def around_a_task(scene: Scene) -> str | None:
    """What some sinks' writers put around any failure of their tasks. If none is named, by what lies beside."""
    kinds: set[str] = {sink.kind for sink in scene.sinks} or {ledger.kind for ledger in scene.checkpoint.ledgers}
    for first, until, sinks, condition in _FAILED_WRITES:
        if first <= scene.release < until and kinds & set(sinks):
            return condition
    return None


def _watermark(scene: Scene) -> int:
    """The newest batch's, where the commit before does not say otherwise."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    said = before.commit.next_watermark_ms if before and before.commit else None
    return min(mark for mark in (newest.watermark_ms if newest else 0, said) if mark is not None)


def _commit_write(scene: Scene) -> Failure | None:
    """The last step: the sink has the batch by then, and gets it again at every further start."""
    if scene.is_continuous or scene.is_async:
        return None
    if spoken := no_directory(scene, layout.COMMITS, "batch", sink_written_first=True):
        return spoken
    batch, names = scene.next_id, scene.checkpoint.commit_names
    if batch in names.ids or str(batch) in names.directories:
        if scene.release < since.ONE_COMMIT:
            return None  # the answer of the commit log was not looked at
        return _conflict(scene, batch, f"commits/{batch} is there already", sink_written_first=True)
    return None


RULES = (
    Law(
        "beginning-lost",
        "Without the time of its beginning the rate source begins anew, behind its own offset.",
        "RateStreamMicroBatchStream.planInputPartitions",
        beginning_lost,
    ),
    Law(
        "rate-offset-malformed",
        "The rate source's offset must be a number, where its next batch begins.",
        "RateStreamMicroBatchStream.deserializeOffset",
        rate_offset_malformed,
        tells=("source-offset-malformed",),
    ),
    Law(
        "offset-ahead-of-log",
        "A file source whose log was lost counts its entries anew, behind its own offset.",
        "FileStreamSource.getBatch",
        offset_ahead_of_log,
        tells=("source-log-missing",),
    ),
    Law(
        "source-log-write",
        "A stale checksum where the file source writes its next entry stops the rename.",
        "CheckpointFileManager, Hadoop's LocalFs",
        _source_log_write,
        tells=("orphan-crc",),
    ),
    Law(
        "offsets-write",
        "A stale checksum, or a directory, in the place of the next offsets file stops the batch.",
        "HDFSMetadataLog.add",
        _offsets_write,
        tells=("orphan-crc", "directory-in-log"),
    ),
    Law(
        "replayed-range",
        "A batch that runs again needs the entries of the file source's log that it names.",
        "FileStreamSource.getBatch, HDFSMetadataLog.verifyBatchIds",
        _replayed_range,
        tells=("source-log-missing", "source-log-hole", "source-offset-malformed"),
    ),
    Law(
        "metadata-line-empty",
        "Offsets without a metadata line, as continuous processing writes them, stop a micro-batch query.",
        "MicroBatchExecution, WatermarkTracker",
        _metadata_line,
    ),
    Law(
        "state-missing",
        "A stateful query needs the state of the batch before.",
        "IncrementalExecution, StateStore",
        _state,
        tells=(
            "state-directory-missing",
            "state-file-missing",
            "state-file-corrupt",
            "state-unreadable",
            "not-a-directory",
            "operator-metadata-corrupt",
            "state-schema-corrupt",
            "state-without-batches",
        ),
    ),
    Law(
        "commit-write",
        "A commit that is there already stops the batch after its sink.",
        "MicroBatchExecution.markMicroBatchEnd, CommitLog.add",
        _commit_write,
        tells=("commit-ahead-of-offset", "orphan-crc", "directory-in-log", "not-a-directory"),
    ),
)
