"""What a batch runs into where it writes to the logs, once Spark has settled on it."""

from __future__ import annotations

from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, NULL_POINTER
from ckpttool.laws.base import (
    ASSERTION,
    OUT_OF_THE_WAY,
    SPARK_EXCEPTION,
    Law,
    no_directory,
    rename_refused,
)
from ckpttool.laws.file_log import ENTRIES_BACK, file_position_malformed, range_missing
from ckpttool.releases import since
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.source_logs import newest_entry

CONFLICT = "CONCURRENT_STREAM_LOG_UPDATE"


def _source_log_write(scene: Scene) -> Failure | None:
    if scene.is_continuous or scene.is_replay or not scene.is_local:
        return None
    for log in scene.checkpoint.source_logs:
        last = newest_entry(log)
        if log.kind == "file" and str((-1 if last is None else last) + 1) in log.names.directories:
            path = layout.source_entry(log.name, (-1 if last is None else last) + 1)
            message, why = "Concurrent update to the log", f"{path} is a directory"
            return Failure("batch", ILLEGAL_STATE, None, message, why, scene.next_id, path=path)
        if log.kind == "file" and last is not None and layout.hadoop_crc(str(last + 1)) in log.names.orphan_crcs:
            return rename_refused(
                layout.hadoop_crc(layout.source_entry(log.name, last + 1)), scene.release, "batch", scene.next_id
            )
    return None


def _offsets_write(scene: Scene) -> Failure | None:
    batch = scene.next_id
    if scene.is_continuous or scene.is_replay:
        return None
    names = scene.checkpoint.offset_names
    if str(batch) in names.directories:
        return _conflict(scene, batch, layout.offsets(batch), "is a directory", sink_written_first=False)
    if scene.is_local and not scene.is_async and layout.hadoop_crc(str(batch)) in names.orphan_crcs:
        return rename_refused(layout.hadoop_crc(layout.offsets(batch)), scene.release, "batch", scene.next_id)
    return None


def _replayed_range(scene: Scene) -> Failure | None:
    if not scene.is_replay or scene.is_continuous:
        return None
    return file_position_malformed(scene, "batch") or range_missing(scene, "batch")


def _metadata_line(scene: Scene) -> Failure | None:
    """Offsets without metadata leave the watermark's tracker unset: committed, at once; replayed, after the sink."""
    newest = scene.batch(scene.planned)
    if newest is None or newest.entry is None or newest.entry.metadata or scene.is_continuous:
        return None
    path, why = layout.offsets(newest.id), f"offsets/{newest.id} has no metadata"
    if not scene.is_replay:
        return Failure("init", NULL_POINTER, None, "WatermarkTracker", why, path=path)
    return Failure("batch", NULL_POINTER, None, "WatermarkTracker", why, newest.id, sink_written_first=True, path=path)


BEGUN = (
    Law(
        "source-log-write",
        "A stale checksum where the file source writes its next entry stops the rename.",
        "CheckpointFileManager, Hadoop's LocalFs",
        _source_log_write,
        symptom="something lies where a file source writes its next entry",
        tells=("orphan-crc",),
        next_step=OUT_OF_THE_WAY,
        errors=(
            "Rename destination…/sources/…crc already exists",
            "Concurrent update to the log. Multiple streaming jobs detected for",
        ),
        often=1,
    ),
    Law(
        "offsets-write",
        "A stale checksum, or a directory, in the place of the next offsets file stops the batch.",
        "HDFSMetadataLog.add",
        _offsets_write,
        symptom="something lies where the next offsets are to be written",
        tells=("orphan-crc", "directory-in-log"),
        next_step=OUT_OF_THE_WAY,
        errors=(
            "Rename destination…/offsets/…crc already exists",
            "Multiple streaming queries are concurrently using…/offsets/",
            "CONCURRENT_STREAM_LOG_UPDATE",
        ),
        often=1,
    ),
    Law(
        "replayed-range",
        "A batch that runs again needs the entries of the file source's log that it names.",
        "FileStreamSource.getBatch, HDFSMetadataLog.verifyBatchIds",
        _replayed_range,
        symptom="a file source's log has not what the batch that runs again read",
        next_step=ENTRIES_BACK,
        tells=("source-log-missing", "source-log-hole", "source-offset-malformed"),
        errors=(
            "batch…doesn't exist",
            "batches…don't  exist",
            "batch…doesn't exist…FileStreamSource.getBatch…runBatch",
            "Did not find value which can be converted into long",
            "Do not know how to convert…into long",
            "FileStreamSourceOffset",
            "No usable value for logOffset…into long",
            "No usable value for logOffset…FileStreamSource.getBatch…runBatch",
            "JsonEOFException",
            "JsonParseException",
        ),
    ),
    Law(
        "metadata-line-empty",
        "Offsets without a metadata line, as continuous processing writes them, stop a micro-batch query.",
        "MicroBatchExecution, WatermarkTracker",
        _metadata_line,
        symptom="the newest offsets have no metadata",
        next_step="restore the line from a backup, or go on with a continuous trigger",
        errors=("WatermarkTracker", "OffsetSeqMetadata.conf()"),
        often=1,
    ),
)


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
        return _conflict(scene, batch, layout.commits(batch), "is there already", sink_written_first=True)
    return None


def _conflict(scene: Scene, batch: int, path: str, why: str, *, sink_written_first: bool) -> Failure:
    named = scene.release >= since.CONFLICT_CONDITION
    return Failure(
        "batch",
        SPARK_EXCEPTION if named else ASSERTION,
        CONFLICT if named else None,
        f"Multiple streaming jobs detected for {batch}",
        f"{path} {why}",
        batch,
        sink_written_first,
        path=path,
    )


COMMITTED = (
    Law(
        "commit-write",
        "A commit that is there already stops the batch after its sink.",
        "MicroBatchExecution.markMicroBatchEnd, CommitLog.add",
        _commit_write,
        symptom="something lies where the commit is to be written",
        tells=(
            "commit-ahead-of-offset",
            "offset-log-lost",
            "orphan-crc",
            "directory-in-log",
            "not-a-directory",
            "rename-lost",
        ),
        next_step="set it aside: until then each start writes the batch to the sink, and fails",
        errors=(
            "CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for",
            "CONCURRENT_STREAM_LOG_UPDATE",
            "Concurrent update to the commit log. Multiple streaming jobs detected for",
            "ParentNotDirectoryException…/commits",
        ),
        often=3,
    ),
)
