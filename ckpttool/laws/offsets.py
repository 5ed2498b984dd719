"""The offset log: the two files that a restart opens, and its head against that of the commits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX
from ckpttool.laws.base import (
    ASSERTION,
    OTHER_VERSION,
    RESTORE,
    Law,
    misnamed,
    no_next_id,
    severity_by_age,
    unread,
    version_refused,
)
from ckpttool.model import Finding
from ckpttool.releases import OLDEST, since
from ckpttool.scene.batches import Batch
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.words import spell_batches

# The newest version that a release reads: first release → version.
_NEWEST_READ = {OLDEST: 1, since.OFFSETS_2: 2}

_ASK_HOW = (
    "say how the query runs: with asynchronous progress tracking (--option asyncProgressTrackingEnabled=true) nothing"
    " is missing"
)


def _newest_offsets(scene: Scene) -> Failure | Doubt | None:
    if scene.is_continuous:
        return _continuous_offsets(scene)
    if scene.planned is None:
        return None
    if scene.planned not in scene.checkpoint.offset_names.ids:
        return misnamed(layout.offsets(scene.planned), scene.planned)
    return _offsets_file(scene, scene.planned)


def _continuous_offsets(scene: Scene) -> Failure | Doubt | None:
    """Continuous processing opens the offsets of the last committed epoch, if they are there."""
    committed = scene.committed
    if committed is None or committed not in scene.checkpoint.offset_names.ids:
        return None
    return _offsets_file(scene, committed)


def _offsets_file(scene: Scene, batch_id: int) -> Failure | Doubt | None:
    path = layout.offsets(batch_id)
    if fault := scene.fault(path):
        return unread(scene, fault, "init", path)
    entry = scene.entry(batch_id)
    return version_refused(scene, path, entry.version, _NEWEST_READ) if entry else None


NEWEST = (
    Law(
        "newest-offsets-malformed",
        "The highest offset file is opened, and never an older one in its place.",
        "HDFSMetadataLog.getLatest, OffsetSeqLog.deserialize",
        _newest_offsets,
        symptom="the highest offset file cannot be used",
        tells=("offset-file-torn", "log-version-too-new", "non-canonical-batch-name"),
        next_step=OTHER_VERSION,
        errors=(
            "Log file was malformed: failed to read correct log version from",
            "Log file was malformed: failed to read correct log version from…OffsetSeqLog.deserialize",
            "Log file was malformed…OffsetSeqLog.deserialize",
            "Failed to read log file…/offsets/…Incomplete log file",
            "Incomplete log file",
            "maximum supported log version is",
            "maximum supported log version is…OffsetSeqLog.deserialize",
            "/offsets/…does not exist",
            '{"batchWatermark',
            "Unexpected end-of-input",
            "Unexpected end-of-input…OffsetSeqLog.deserialize",
            "Do not know how to convert…into long",
            "Did not find value which can be converted into long",
            "OffsetSeqLog.deserialize",
            "next on empty iterator",
            "Invalid OffsetMap format",
            "MalformedInputException: Input length",
            "MappingException",
            "INVALID_LOG_VERSION",
            "/offsets/…(Is a directory)",
            "ParentNotDirectoryException…/offsets",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=3,
    ),
)


def check_heads(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    planned, committed = checkpoint.last_offset_batch, checkpoint.last_commit_batch
    if committed is None or scene.is_continuous or scene.fault(layout.OFFSETS):
        return
    if planned is None:
        yield Finding(
            id="offset-log-lost",
            severity="error",
            path=layout.OFFSETS,
            message=f"no offsets are left, and commits/ reaches batch {committed}",
            expected=layout.offsets(committed),
            next_step="restore offsets/ from a backup: the two newest files are enough",
        )
    elif committed > planned:
        yield Finding(
            id="commit-ahead-of-offset",
            severity="error",
            path=layout.commits(committed),
            message=f"the newest offsets are those of batch {planned}: Spark runs that batch again, writes it to the "
            "sink, and only then fails, at every restart",
            expected=layout.offsets(committed),
            next_step=f"restore offsets/{planned + 1} and later, or set the commits above {planned} aside",
        )
    elif planned > committed + 1 and planned - 1 not in checkpoint.offset_names.ids:
        if scene.is_async:
            return  # both logs have holes then, and the batch begins at the next lower offsets
        unsure = scene.may_be_async
        yield Finding(
            id="stray-batch-file",
            severity="warning" if unsure else "error",
            path=layout.offsets(planned),
            message=f"Spark takes it for the newest batch, and the log before it ends near {committed}",
            expected=f"{committed} or {committed + 1} as the highest number",
            next_step=_ASK_HOW if unsure else "find out who wrote it. If it was not Spark, set it aside",
        )
    elif planned > committed + 1 and scene.mode == "microbatch":
        yield Finding(
            id="offset-ahead-by-two-or-more",
            severity="error",
            path=layout.offsets(planned),
            message=f"the newest commit is {committed}: Spark runs batch {planned} again and never "
            f"{spell_batches(range(committed + 1, planned))}. Their rows are lost unless they had been written",
            expected=layout.commits(planned - 1),
            next_step="compare with what the sink has before restarting",
        )


def check_epoch_ends(scene: Scene) -> Iterator[Finding]:
    """An epoch that is run again keeps the end of its first attempt: `offsetLog.add` finds the file, and nobody looks
    at its answer."""
    planned, committed = scene.planned, scene.committed
    if not scene.is_continuous or planned is None or committed is None or planned <= committed:
        return
    yield Finding(
        id="epoch-end-stale",
        severity="warning",
        path=layout.offsets(planned),
        message=f"epoch {planned} runs again from offsets/{committed}, and this file keeps the end of its first try:"
        f" a start after commits/{planned} goes on from there, whatever the second attempt has read",
        expected=f"nothing above offsets/{committed}",
        next_step="set it aside before the start: the epoch then writes its own end",
    )


HEADS = (
    Law(
        "commit-ahead-of-offset",
        "a commit without its offsets: a batch is written again at every start",
        look=check_heads,
    ),
    Law(
        "stray-batch-file",
        "a number far above the others is taken for the newest batch",
        look=check_heads,
        severities=("error", "warning"),
    ),
    Law("offset-ahead-by-two-or-more", "planned batches that will never run", look=check_heads),
    Law(
        "epoch-end-stale",
        "the end of an epoch that was not committed stays behind",
        look=check_epoch_ends,
        severities=("warning",),
    ),
)


def _highest_number(scene: Scene) -> Failure | None:
    return no_next_id(layout.offsets(LONG_MAX)) if scene.planned == LONG_MAX and not scene.is_continuous else None


def _commits_without_offsets(scene: Scene) -> Failure | None:
    if scene.planned is not None or scene.committed is None or scene.is_continuous:
        return None
    return Failure(
        "init",
        ASSERTION,
        None,
        "assertion failed",
        f"commits/{scene.committed} is there, offsets/ is empty",
        path=layout.OFFSETS,
    )


def _previous_offsets(scene: Scene) -> Failure | Doubt | None:
    """The batch before the newest: its end is where the newest begins."""
    planned = scene.planned
    if not planned or scene.is_continuous:
        return None
    if scene.is_async:
        return None if scene.previous is None else _offsets_file(scene, scene.previous)
    if planned - 1 not in scene.checkpoint.offset_names.ids:
        if scene.may_be_async:
            why = f"batch {planned - 1} is in neither log, as with asynchronous progress"
            return Doubt(f"{why} (--option asyncProgressTrackingEnabled= decides)")
        return Failure(
            "init",
            ILLEGAL_STATE,
            None,
            f"batch {planned - 1} doesn't exist",
            f"offsets/{planned} is the highest, and offsets/{planned - 1} is not there",
            path=layout.offsets(planned - 1),
        )
    return _offsets_file(scene, planned - 1)


def _epoch_offsets(scene: Scene) -> Failure | None:
    """Continuous processing goes on at the end of the last epoch that was committed."""
    last = scene.checkpoint.last_commit_batch
    if not scene.is_continuous or last is None or last in scene.checkpoint.offset_names.ids:
        return None
    message = f"Batch {last} was committed without end epoch offsets!"
    why = f"epoch {last} was committed, and offsets/{last} is not there"
    return Failure("init", ILLEGAL_STATE, None, message, why, path=layout.offsets(last))


def check_previous_offset(scene: Scene) -> Iterator[Finding]:
    names = scene.checkpoint.offset_names
    if scene.mode not in ("microbatch", "realtime") or not names.last or names.last - 1 in names.ids:
        return
    unsure = scene.may_be_async
    yield Finding(
        id="previous-offset-missing",
        severity="warning" if unsure else "error",
        path=layout.offsets(names.last - 1),
        message=f"Spark needs the offsets of batch {names.last - 1} to start batch {names.last} or the one after",
        expected=layout.offsets(names.last - 1),
        next_step=_ASK_HOW if unsure else "restore the file, or set aside what lies above the hole",
    )


_LINES = "restore the lines, or restart the query with as many sources as the file has lines"
_CHANGED_BEFORE = "nothing for a restart, which does not open these two. One may not go back beyond them"


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
        path=layout.offsets(scene.planned or 0),
    )


def check_source_count(scene: Scene) -> Iterator[Finding]:
    """The number of lines is the number of sources in the plan; it cannot change, and an empty line counts."""
    planned = [batch for batch in scene.evidence.batches if batch.entry and batch.entry.version == 1]
    for before, batch in pairwise(planned):
        if batch.id - before.id == 1 and len(before.sources) != len(batch.sources):
            yield _count_changed(scene, batch, before.id, f"{len(before.sources)} in offsets/{before.id}")
    if planned and not planned[-1].sources:
        yield _count_changed(scene, planned[-1], planned[-1].id, "a query has at least one source")


def _count_changed(scene: Scene, batch: Batch, older: int, compared: str) -> Finding:
    """`older`: of the batches that do not agree. A restart opens both, or it does not see it."""
    severity = severity_by_age(scene, older)
    return Finding(
        id="source-count-changed",
        severity=severity,
        path=layout.offsets(batch.id),
        message=f"{len(batch.sources)} source lines, and {compared}",
        expected="one line per source of the query, the same number in every batch",
        next_step=_LINES if severity == "error" or _is_opened_and_unlike(scene, batch) else _CHANGED_BEFORE,
    )


def _is_opened_and_unlike(scene: Scene, batch: Batch) -> bool:
    """Whether a restart holds it against the newest, which has another number of lines."""
    newest = scene.evidence.newest
    is_opened = severity_by_age(scene, batch.id) == "error"
    return is_opened and newest is not None and len(batch.sources) != len(newest.sources)


BOTH = (
    Law(
        "highest-number",
        "No batch can follow one with the highest number there is.",
        "HDFSMetadataLog.verifyBatchIds, NumericRange",
        _highest_number,
        symptom="the highest number that there is stands in a log",
        next_step="set the file aside, if Spark did not write it",
        errors=("More than Int.MaxValue elements",),
        often=1,
    ),
    Law(
        "offset-log-lost",
        "Commits without any offsets fail an assertion.",
        "CheckpointVersionManager",
        _commits_without_offsets,
        since=since.COMMITS_ALONE,
        symptom="commits without any offsets",
        look=check_heads,
        tells=("not-a-directory",),
        errors=(
            "AssertionError: assertion failed",
            "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            "CONCURRENT_STREAM_LOG_UPDATE…detected for 0",
        ),
    ),
    Law(
        "previous-offset-missing",
        "The offsets of the batch before the newest are opened as well.",
        "MicroBatchExecution.populateStartOffsets",
        _previous_offsets,
        symptom="the second newest offset file is gone",
        look=check_previous_offset,
        severities=("error", "warning"),
        tells=("offset-file-torn", "log-version-too-new", "rename-lost"),
        next_step=OTHER_VERSION,
        errors=(
            "batch…doesn't exist",
            "batch…doesn't exist…populateStartOffsets",
            "is required to restart the query from the latest batch",
            "requirement failed: Previous batch…not found in offset log",
            "Log file was malformed: failed to read correct log version from",
            "Log file was malformed: failed to read correct log version from…OffsetSeqLog.deserialize",
            "Log file was malformed…OffsetSeqLog.deserialize",
            "Failed to read log file…/offsets/…Incomplete log file",
            "Incomplete log file",
            "maximum supported log version is",
            "Do not know how to convert…into long",
            "Did not find value which can be converted into long",
            "MalformedInputException: Input length",
            '{"batchWatermarkMs"',
            "MappingException",
            "/offsets/…does not exist",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=3,
    ),
    Law(
        "source-count-changed",
        "Each of the two offset files must have one line per source of the query.",
        "OffsetSeq.toStreamProgress",
        _source_count,
        symptom="another number of source lines",
        look=check_source_count,
        severities=("error", "warning"),
        next_step=_LINES,
        errors=("There are […sources in the checkpoint offsets and now there are",),
        often=3,
    ),
)
EPOCHS = (
    Law(
        "epoch-offsets-missing",
        "Continuous processing goes on at the offsets of the last epoch that was committed.",
        "ContinuousExecution.getStartOffsets",
        _epoch_offsets,
        symptom="the offsets of the last committed epoch are gone",
        tells=("offset-log-lost",),
        next_step=f"{RESTORE}, or set aside the commits above the offsets that are there",
        errors=("was committed without end epoch offsets",),
        often=1,
    ),
)
