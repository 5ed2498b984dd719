"""The file source: its log below `sources/`, and its offsets, which count the entries of that log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ckpttool.connectors.file import KIND as FILES
from ckpttool.connectors.file import read_position
from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, INT_MAX, LONG_MAX, MAPPING
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, compact_interval, live_log_ids
from ckpttool.laws.base import (
    ASSERTION,
    FILE_NOT_FOUND,
    LARGE_LOG_BYTES,
    RESTORE,
    Law,
    no_directory,
    no_next_id,
    reads,
    unread,
)
from ckpttool.model import Finding, SourceLog
from ckpttool.releases import since
from ckpttool.scene.batches import Batch, file_log_position
from ckpttool.scene.scene import Doubt, Failure, Scene, highest
from ckpttool.scene.source_logs import (
    empty_entries,
    has_unmatched_logs,
    is_kept,
    log_of,
    missing_live_entries,
    newest_entry,
    position_in,
)
from ckpttool.words import listed, spell_gaps

ENTRIES_BACK = "restore the entries from a backup: they say which files are read"
EMPTY_ENTRY = "source-log-entry-empty"


def _file_source_log(scene: Scene) -> Failure | Doubt | None:
    """The file source reads its whole live log when it is made."""
    if spoken := no_directory(scene, layout.SOURCES, "init"):
        return spoken
    for log in scene.checkpoint.source_logs:
        path = layout.source(log.name)
        for fault in reversed(scene.checkpoint.faults):  # of several the newest file, which is read first
            if log.kind == "file" and fault.path.startswith(f"{path}/"):
                return unread(scene, fault, "init", fault.path)
        odd = highest(log.names)
        if odd is not None and odd not in log.names.ids and odd > (newest_entry(log) or -1):
            return Failure(
                "init",
                FILE_NOT_FOUND if scene.release >= since.SOURCE_LOG_ENTRY_OPENED else ILLEGAL_STATE,
                None,
                f"{path}/{odd} does not exist",
                f"a name in {path} counts as entry {odd}, and {path}/{odd} is not there",
                path=f"{path}/{odd}",
            )
        try:
            if _is_beyond_counting(log):
                return no_next_id(f"{path}/{newest_entry(log)}")
            missing = missing_live_entries(log)
        except MalformedFile as error:
            class_name = error.spark.class_name if error.spark else ASSERTION
            return Failure("init", class_name, None, "assertion failed", f"{path}: {error.message}", path=path)
        if missing:
            class_name = FILE_NOT_FOUND if scene.release >= since.SOURCE_LOG_HOLE_OPENED else ILLEGAL_STATE
            return Failure(
                "init",
                class_name,
                None,
                f"{path}/{missing[0]} doesn't exist",
                f"{path}/{missing[0]} is missing, and the file source reads its whole live log",
                path=f"{path}/{missing[0]}",
            )
    return None


def _is_beyond_counting(log: SourceLog) -> bool:
    last = newest_entry(log)
    if last is None:
        return False
    live = live_log_ids(last, compact_interval(log.names.compact_ids, DEFAULT_COMPACT_INTERVAL))
    return last == LONG_MAX or live.stop - live.start > INT_MAX


MADE = (
    Law(
        "file-source-log",
        "The file source reads its live log, the newest compact file and what follows, when it is made.",
        "FileStreamSource, CompactibleFileStreamLog.restore",
        _file_source_log,
        tells=(
            "source-log-torn",
            "source-log-hole",
            "source-log-compact-names",
            "not-a-directory",
            "log-version-too-new",
            "rename-lost",
        ),
        symptom="a file source's log cannot be read as it is named",
        next_step="restore the log from a backup, and set aside what Spark did not write",
        errors=(
            "/sources/…doesn't exist (latestId:",
            "doesn't exist (latestId:",
            "/sources/…does not exist",
            "Log file was malformed: failed to read correct log version from",
            "Failed to read log file…/sources/…Incomplete log file",
            "Incomplete log file",
            "Did not find value which can be converted into java.lang.String",
            "maximum supported log version is",
            "FileStreamSource$FileEntry",
            "CompactibleFileStreamLog",
            "FileStreamSourceLog",
            "MalformedInputException: Input length",
            "requirement failed",
            "More than Int.MaxValue elements",
            "failed to read log file for batch",
            "MismatchedInputException: No content to map due to end-of-input",
            "MappingException",
            "/sources/…(Is a directory)",
            "NumberFormatException: For input string",
            "assertion failed",
            "ParentNotDirectoryException…/sources",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=3,
    ),
)


def check_file_logs(scene: Scene) -> Iterator[Finding]:
    for log in scene.checkpoint.source_logs:
        try:
            missing = missing_live_entries(log)
        except MalformedFile as error:
            yield _odd_compact_names(log, error)
            continue
        if missing:
            yield Finding(
                id="source-log-hole",
                severity="error",
                path=layout.source_entry(log.name, missing[0]),
                message=f"{spell_gaps([range(number, number + 1) for number in missing])} missing from the live log, "
                "which the file source reads as a whole when it starts",
                expected="every entry from the newest compact file on",
                next_step="restore the file from a backup. The query cannot start without it",
            )
        last = newest_entry(log)
        if log.kind == "file" and last is not None:
            yield from _offset_beyond_log(scene, log, last)


def _odd_compact_names(log: SourceLog, error: MalformedFile) -> Finding:
    return Finding(
        id="source-log-compact-names",
        severity="error",
        path=layout.source(log.name),
        message=error.message,
        expected=error.expected,
        next_step="set the compact file that Spark did not write aside",
    )


def _offset_beyond_log(scene: Scene, log: SourceLog, last: int) -> Iterator[Finding]:
    newest = scene.evidence.newest
    for reached in _positions(newest, log):
        if newest and reached > last:
            yield Finding(
                id="source-log-missing",
                severity="error",
                path=layout.source(log.name),
                message=f"offsets/{newest.id} refers to entry {reached}, and the log ends at {last}",
                expected=layout.source_entry(log.name, reached),
                next_step="restore the log from a backup",
            )


def check_empty_entries(scene: Scene) -> Iterator[Finding]:
    """Spark writes no entry without files: what this one listed is forgotten, and looks new. Where the batch that read
    it is not done, its rows come with a later batch, and only there unless a sink has that batch already."""
    done = scene.batch(scene.checkpoint.last_commit_batch)
    held = [view.sink.path or view.sink.kind for view in scene.sink_views if view.holds_what_it_skips(scene.next_id)]
    for log in scene.checkpoint.source_logs:
        read = max((reached for reached in _positions(done, log)), default=-1)
        for number in empty_entries(log):
            name = number if number in log.names.ids else f"{number}.compact"
            twice = number > read and f". {listed(held)} has their rows already, and gets them twice"
            message = "an entry without files: those that it listed look new, and a restart reads them again"
            yield Finding(
                id=EMPTY_ENTRY,
                severity="error" if number <= read or held else "warning",
                path=layout.source_entry(log.name, name),
                message=f"{message}{twice if held and twice else ''}",
                expected="a line for each file that the batch read",
                next_step="restore the file from a backup, or go back to before the batch that read it: --to-batch",
            )


def _positions(batch: Batch | None, log: SourceLog) -> Iterator[int]:
    for source in batch.sources if batch else ():
        reached = file_log_position(source)
        if source.key == log.name and reached is not None:
            yield reached


ENTRIES = (
    Law("source-log-compact-names", "a file source's compact files give no interval", look=check_file_logs),
    Law("source-log-hole", "a file source's log lacks live entries", look=check_file_logs),
    Law("source-log-missing", "offsets reach beyond a file source's log", look=check_file_logs),
    Law(
        "source-log-entry-empty",
        "a file source's log has an entry without files",
        look=check_empty_entries,
        severities=("error", "warning"),
    ),
)


def _last_position(scene: Scene) -> Failure | None:
    return None if scene.is_replay or scene.is_continuous else file_position_malformed(scene, "init")


def file_position_malformed(scene: Scene, phase: Literal["init", "batch"]) -> Failure | None:
    """Both ends of the newest batch are read by the file source."""
    for batch_id in (scene.planned, scene.previous):
        batch = scene.batch(batch_id)
        for source in batch.sources if batch else ():
            log = log_of(scene, source)
            if source.text is None or log is None or log.kind != "file":
                continue
            try:
                read_position(source.text)
            except MalformedFile as error:
                class_name = error.spark.class_name if error.spark else MAPPING
                why, path = f"source {source.key} in offsets/{batch_id}: {error.message}", layout.offsets(batch_id or 0)
                return Failure(phase, class_name, None, "", why, scene.next_id if phase == "batch" else None, path=path)
    return None


POSITIONS = (
    Law(
        "file-position-malformed",
        "If the newest batch is committed, the file source reads both of its ends once more.",
        "FileStreamSourceOffset.apply",
        _last_position,
        symptom="an offset of a file source has no number of a log entry",
        tells=("source-offset-malformed",),
        next_step=RESTORE,
        errors=(
            "Did not find value which can be converted into long",
            "Do not know how to convert…into long",
            "FileStreamSourceOffset",
            "No usable value for logOffset…into long",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=1,
    ),
)


def _last_range(scene: Scene) -> Failure | None:
    """Sources of the old interface are asked for the last range again, although it is committed."""
    if scene.is_replay or scene.is_continuous:
        return None
    return range_missing(scene, "init")


def range_missing(scene: Scene, phase: Literal["init", "batch"]) -> Failure | None:
    """Entries of a file source's log that the newest batch's range names and nobody has."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source in newest.sources if newest else ():
        start, end = position_in(before, source), file_log_position(source)
        log = log_of(scene, source)
        if end is None or start >= end or scene.kind_of(source) == KAFKA or (log is None and has_unmatched_logs(scene)):
            continue
        gone = [number for number in range(start + 1, min(end, start + 10_000) + 1) if not is_kept(log, number)]
        if gone:
            path = layout.source(source.key)
            message = f"batch {end} doesn't exist" if len(gone) == end - start == 1 else "don't exist"
            why = f"offsets/{scene.planned} reads up to entry {end} of {path}, and {gone[0]} is not there"
            batch_id = scene.planned if phase == "batch" else None
            return Failure(phase, ILLEGAL_STATE, None, message, why, batch_id, path=f"{path}/{gone[0]}")
    return None


LAST_RANGE = (
    Law(
        "last-range-again",
        "If the newest batch is committed, sources of the old interface are asked for its range once more.",
        "MicroBatchExecution.populateStartOffsets",
        _last_range,
        symptom="a file source's log has not what the last batch read",
        tells=("source-log-missing", "source-log-hole", "rename-lost"),
        next_step=ENTRIES_BACK,
        errors=(
            "batch…doesn't exist",
            "batches…don't  exist",
            "batch…doesn't exist…FileStreamSource.getBatch…populateStartOffsets",
            "batches…don't  exist…FileStreamSource.getBatch…populateStartOffsets",
        ),
    ),
)


def _large(scene: Scene) -> Iterator[Finding]:
    for path, size in (scene.around.log_bytes if scene.around else {}).items():
        if size >= LARGE_LOG_BYTES:
            yield Finding(
                "source-log-large",
                "warning",
                path,
                f"it has {size / 2**20:,.0f} MiB: the driver holds all of it in memory at each start and at every tenth"
                " batch, and it never shrinks",
                expected="a log that fits into memory",
                next_step="give the driver memory, write fewer and larger files, or begin anew at an emptied directory",
            )


HEALTH = (
    Law(
        "source-log-large",
        "a file source's log is very large",
        look=_large,
        severities=("warning",),
        needs="around",
        applies=reads(FILES),
        errors=("OutOfMemoryError",),
    ),
)


def _offset_ahead_of_log(scene: Scene) -> Failure | Doubt | None:
    """A file source that lost its log begins to count anew, and then stands before its own offset."""
    if scene.is_replay or scene.is_continuous:
        return None
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        end, log = file_log_position(source), log_of(scene, source)
        if scene.kind_of(source) == KAFKA or (log is None and has_unmatched_logs(scene)):
            continue
        last = newest_entry(log) if log else None
        begun = -1 if last is None else last
        if end is not None and begun == end - 1:
            return Doubt(f"the next input file becomes entry {end} of its source's log, which counts as read")
        if end is not None and begun < end:
            why = f"offsets/{scene.planned} stands at entry {end} of sources/{source.key}, whose log "
            why += "is gone" if last is None else f"ends at {last}"
            return Failure(
                "batch", ASSERTION, None, "assertion failed", why, scene.next_id, path=layout.source(source.key)
            )
    return None


NEXT_ENTRY = (
    Law(
        "offset-ahead-of-log",
        "A file source whose log was lost counts its entries anew, behind its own offset.",
        "FileStreamSource.getBatch",
        _offset_ahead_of_log,
        symptom="a file source's offset is ahead of its log",
        tells=("source-log-missing",),
        next_step=ENTRIES_BACK,
        errors=("AssertionError: assertion failed",),
    ),
)
