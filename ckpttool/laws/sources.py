"""What the sources' own files must be: the log of the file source, the beginning of the rate source."""

from __future__ import annotations

from typing import Literal

from ckpttool.connectors.file import read_position
from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, INT_MAX, LONG_MAX, MAPPING, parse_json
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, compact_interval, live_log_ids
from ckpttool.laws.base import ASSERTION, FILE_NOT_FOUND, REQUIREMENT, Law, error_of, no_directory
from ckpttool.laws.checks.sources import check_source_names
from ckpttool.laws.start import UNREAD
from ckpttool.model import SourceLog
from ckpttool.releases import since
from ckpttool.scene.batches import SourceProgress, file_log_position
from ckpttool.scene.scene import Doubt, Failure, Scene, highest
from ckpttool.scene.source_logs import (
    can_be_called,
    has_unmatched_logs,
    is_json,
    is_kept,
    log_of,
    missing_live_entries,
    newest_entry,
    position_in,
)

_HOLES_TOLD = 1000


def _no_next_id(path: str) -> Failure:
    """Nothing comes after the highest number there is: the range that ends with it cannot be counted."""
    return Failure("init", REQUIREMENT, None, "More than Int.MaxValue elements.", f"{path} is there")


def _is_beyond_counting(log: SourceLog) -> bool:
    last = newest_entry(log)
    if last is None:
        return False
    live = live_log_ids(last, compact_interval(log.names.compact_ids, DEFAULT_COMPACT_INTERVAL))
    return last == LONG_MAX or live.stop - live.start > INT_MAX


def _file_source_log(scene: Scene) -> Failure | Doubt | None:
    """The file source reads its whole live log when it is made."""
    if spoken := no_directory(scene, layout.SOURCES, "init"):
        return spoken
    for log in scene.checkpoint.source_logs:
        path = layout.source(log.name)
        for fault in reversed(scene.checkpoint.faults):  # of several the newest file, which is read first
            if log.kind == "file" and fault.path.startswith(f"{path}/"):
                if fault.id in UNREAD:
                    return Doubt(f"{fault.path} was not read: {fault.message}")
                class_name, condition = error_of(fault, scene.release)
                return Failure("init", class_name, condition, fault.message, f"{fault.path}: {fault.message}")
        odd = highest(log.names)
        if odd is not None and odd not in log.names.ids and odd > (newest_entry(log) or -1):
            return Failure(
                "init",
                FILE_NOT_FOUND if scene.release >= since.SOURCE_LOG_ENTRY_OPENED else ILLEGAL_STATE,
                None,
                f"{path}/{odd} does not exist",
                f"a name in {path} counts as entry {odd}, and {path}/{odd} is not there",
            )
        try:
            if _is_beyond_counting(log):
                return _no_next_id(f"{path}/{newest_entry(log)}")
            missing = missing_live_entries(log)
        except MalformedFile as error:
            class_name = error.spark.class_name if error.spark else ASSERTION
            return Failure("init", class_name, None, "assertion failed", f"{path}: {error.message}")
        if missing:
            class_name = FILE_NOT_FOUND if scene.release >= since.SOURCE_LOG_HOLE_OPENED else ILLEGAL_STATE
            return Failure(
                "init",
                class_name,
                None,
                f"{path}/{missing[0]} doesn't exist",
                f"{path}/{missing[0]} is missing, and the file source reads its whole live log",
            )
    return None


def _rate_beginning(scene: Scene) -> Failure | Doubt | None:
    """The rate source reads the time of its beginning whenever it is made."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        path = layout.source_entry(source.name or source.index, 0)
        if source.offset and source.offset.kind in ("rate", "integer") and _is_no_beginning(scene, path):
            fault = scene.fault(path)
            if fault is None:
                return Failure(
                    "init",
                    "java.lang.NumberFormatException",
                    None,
                    "For input string",
                    f"{path} is not the time at which the rate source began",
                )
            class_name, condition = error_of(fault, scene.release)
            if not scene.checkpoint.raw.get(path, b"v").startswith(b"v"):
                class_name, condition = ILLEGAL_STATE, None
            return Failure("init", class_name, condition, fault.message, f"{path}: {fault.message}")
    return None


def beginning_lost(scene: Scene) -> Failure | Doubt | None:
    """A rate source without its beginning begins now, and its offset is seconds that have not passed yet."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        log = log_of(scene, source)
        if source.offset is None or source.offset.kind not in ("rate", "integer") or source.text == "0":
            continue
        if log is not None and not log.names.ids:
            message = f"assertion failed: startSeconds({source.text}) > endSeconds"
            return Failure(
                "batch",
                ASSERTION,
                "INTERNAL_ERROR",
                message,
                f"sources/{log.name}/0, the beginning of the rate source, is gone",
                scene.next_id,
            )
        if log is None:
            return Doubt(f"source {source.index} counts seconds, or rows of a socket, and no file says which")
    return None


def rate_offset_malformed(scene: Scene) -> Failure | None:
    """The rate source reads where its next batch begins, and of a batch that runs again both ends."""
    if scene.is_continuous:
        return None
    for batch_id in (scene.planned, scene.previous) if scene.is_replay else (scene.planned,):
        batch = scene.batch(batch_id)
        for source in batch.sources if batch else ():
            log = log_of(scene, source)
            if log is None or log.kind != "rate" or source.text is None or source.text.removeprefix("-").isdecimal():
                continue
            why = f"source {source.name or source.index} in offsets/{batch_id} is no number of seconds"
            return Failure("batch", "java.lang.NumberFormatException", None, "For input string", why, scene.next_id)
    return None


def _unknown_names(scene: Scene) -> Doubt | None:
    """Version 2 names the sources, and a line for no source of the query is passed over: that one begins anew."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest and scene.is_replay else ():
        if not can_be_called(source.name):
            return Doubt(f"offsets/{scene.planned} has a line for `{source.name}`, which no source can be called")
    return None


def _no_position(scene: Scene, source: SourceProgress) -> Failure:
    class_name = MAPPING
    try:
        parse_json(source.text or "")
    except MalformedFile as error:
        class_name = error.spark.class_name if error.spark else MAPPING
    why = f"source {source.name or source.index} in offsets/{scene.planned} has no `offset` and `timestamp`"
    return Failure("batch", class_name, None, "", why, scene.next_id)


def _is_unusable(scene: Scene, path: str) -> bool:
    logs = scene.checkpoint.source_logs
    return scene.fault(path) is not None or any(
        path == layout.source_entry(log.name, 0) and log.initial and not is_json(log.initial.text) for log in logs
    )


def _is_no_beginning(scene: Scene, path: str) -> bool:
    logs = scene.checkpoint.source_logs
    return scene.fault(path) is not None or any(
        path == layout.source_entry(log.name, 0) and log.initial and not log.initial.text.removeprefix("-").isdecimal()
        for log in logs
    )


def _initial_offset(scene: Scene) -> Doubt | None:
    """Where batch 0 begins, for as long as it is not committed."""
    if scene.committed is not None or scene.planned not in (None, 0):
        return None
    for log in scene.checkpoint.source_logs:
        path = layout.source_entry(log.name, 0)
        if log.kind != "file" and _is_unusable(scene, path):
            return Doubt(f"{path}, where batch 0 begins, cannot be used")
    return None


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
                why = f"source {source.name or source.index} in offsets/{batch_id}: {error.message}"
                return Failure(phase, class_name, None, "", why, scene.next_id if phase == "batch" else None)
    return None


def _last_position(scene: Scene) -> Failure | None:
    return None if scene.is_replay or scene.is_continuous else file_position_malformed(scene, "init")


def _offset_texts(scene: Scene) -> Failure | Doubt | None:
    """What cannot be an offset of its source: the source decides what it makes of it."""
    for batch_id in (scene.committed,) if scene.is_continuous else (scene.planned, scene.previous):
        batch = scene.batch(batch_id)
        for source in batch.sources if batch else ():
            log = log_of(scene, source)
            if log is not None and log.kind in ("file", "rate"):
                continue
            if _is_kafkas(scene, source):
                continue
            for problem in source.offset.problems() if source.offset else ():
                return Doubt(f"source {source.name or source.index} in offsets/{batch_id}: {problem}")
    return _another_source(scene)


def _is_kafkas(scene: Scene, source: SourceProgress) -> bool:
    """Whether `kafka.rules` judges the numbers."""
    return scene.kafka is not None and isinstance(source.offset, KafkaOffset) and any(source.offset.topics.values())


def _another_source(scene: Scene) -> Failure | Doubt | None:
    """An offset that lost the shape which the one before it has."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    earlier = {(source.index, source.name): source.offset for source in before.sources} if before else {}
    for source in newest.sources if newest else ():
        start, end = earlier.get((source.index, source.name)), source.offset
        log = log_of(scene, source)
        if log is not None and log.kind in ("file", "rate"):
            continue
        if start and source.text and start.kind == "rate-micro-batch" and end and end.kind in ("python", "unknown"):
            return _no_position(scene, source)
        if start and end and start.kind != end.kind and end.kind in ("python", "unknown"):
            where = f"offsets/{scene.previous} and offsets/{scene.planned}"
            return Doubt(f"source {source.name or source.index} is {start.kind} and {end.kind} in {where}")
    return None


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
        if end is None or start >= end or (log is None and has_unmatched_logs(scene)):
            continue
        gone = [number for number in range(start + 1, min(end, start + 10_000) + 1) if not is_kept(log, number)]
        if gone:
            path = layout.source(source.name or source.index)
            message = f"batch {end} doesn't exist" if len(gone) == end - start == 1 else "don't exist"
            why = f"offsets/{scene.planned} reads up to entry {end} of {path}, and {gone[0]} is not there"
            return Failure(phase, ILLEGAL_STATE, None, message, why, scene.planned if phase == "batch" else None)
    return None


# How a source answers when it is asked for a range that ends before it begins.
BACKWARDS: dict[str, tuple[str, str | None, str]] = {
    "file": (ASSERTION, None, "assertion failed"),
    "rate-micro-batch": (ASSERTION, "INTERNAL_ERROR", "assertion failed: startOffset"),
    "rate": (ASSERTION, "INTERNAL_ERROR", "assertion failed: startSeconds"),
}


def range_backwards(scene: Scene) -> Failure | Doubt | None:
    """The range that is asked for ends before it begins: of the newest batch, and of old sources even if committed."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest and not scene.is_continuous else ():
        kind = source.offset.kind if source.offset else None
        if kind is None or source.step is None or not source.step.backwards:
            continue
        if _is_kafkas(scene, source):
            continue
        if not scene.is_replay and kind not in ("file", "delta"):
            continue  # sources of the new interface are not asked for a range that is committed
        why = f"source {source.name or source.index} goes back from offsets/{scene.previous} to offsets/{scene.planned}"
        if kind not in BACKWARDS:
            return Doubt(f"{why}: what its source makes of that is its own")
        class_name, condition, message = BACKWARDS[kind]
        phase: Literal["init", "batch"] = "batch" if scene.is_replay else "init"
        return Failure(phase, class_name, condition, message, why, scene.next_id if scene.is_replay else None)
    return None


def offset_ahead_of_log(scene: Scene) -> Failure | Doubt | None:
    """A file source that lost its log begins to count anew, and then stands before its own offset."""
    if scene.is_replay or scene.is_continuous:
        return None
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        end, log = file_log_position(source), log_of(scene, source)
        if log is None and has_unmatched_logs(scene):
            continue
        last = newest_entry(log) if log else None
        begun = -1 if last is None else last
        if end is not None and begun == end - 1:
            return Doubt(f"the next input file becomes entry {end} of its source's log, which counts as read")
        if end is not None and begun < end:
            why = f"offsets/{scene.planned} stands at entry {end} of sources/{source.name or source.index}, whose log "
            why += "is gone" if last is None else f"ends at {last}"
            return Failure("batch", ASSERTION, None, "assertion failed", why, scene.next_id)
    return None


AT_START = (
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
        ),
    ),
    Law(
        "rate-source-beginning",
        "The rate source reads the time of its beginning from `sources/<n>/0` when it is made.",
        "RateStreamMicroBatchStream",
        _rate_beginning,
        tells=("initial-offset-file-malformed", "log-version-too-new"),
    ),
)
LAST_RANGE = (
    Law(
        "initial-offset-unusable",
        "Until batch 0 is committed, its beginning is read from `sources/<n>/0`.",
        "KafkaMicroBatchStream.getOrCreateInitialPartitionOffsets",
        _initial_offset,
        tells=("initial-offset-file-malformed",),
    ),
    Law(
        "source-name-impossible",
        "Version 2 names the sources; a batch that runs again lacks the line of one that nobody can be called.",
        "OffsetMap, MicroBatchExecution.populateStartOffsets",
        _unknown_names,
        since=since.OFFSETS_2,
        symptom="a line of version 2 that belongs to no source",
        look=check_source_names,
    ),
    Law(
        "file-position-malformed",
        "If the newest batch is committed, the file source reads both of its ends once more.",
        "FileStreamSourceOffset.apply",
        _last_position,
        tells=("source-offset-malformed",),
    ),
    Law(
        "offset-not-of-its-source",
        "A source parses its own line; what cannot be one of its offsets fails in its own way, or is taken.",
        "the sources' deserializeOffset",
        _offset_texts,
        tells=("source-offset-malformed", "sentinels-in-checkpoint"),
    ),
    Law(
        "range-backwards",
        "A range that ends before it begins is refused by its source.",
        "the sources' getBatch and planInputPartitions",
        range_backwards,
        tells=("offset-regression",),
    ),
    Law(
        "last-range-again",
        "If the newest batch is committed, sources of the old interface are asked for its range once more.",
        "MicroBatchExecution.populateStartOffsets",
        _last_range,
        tells=("source-log-missing", "source-log-hole"),
    ),
)
