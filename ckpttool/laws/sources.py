"""The sources' lines in the offset log, from one batch to the next, and where a source began."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from ckpttool.connectors.base import Offset, Order
from ckpttool.connectors.delta import KIND as DELTA
from ckpttool.connectors.eventhubs import KIND as EVENT_HUBS
from ckpttool.connectors.iceberg import KIND as ICEBERG
from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.connectors.kafka import KafkaOffset, deserialize
from ckpttool.connectors.rate_continuous import KIND as RATE_CONTINUOUS
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, MAPPING, parse_json
from ckpttool.laws.base import ASSERTION, REQUIREMENT, RESTORE, Law, severity_by_age
from ckpttool.model import Finding, SparkError
from ckpttool.releases import since
from ckpttool.scene.batches import Batch, SourceProgress, beside
from ckpttool.scene.scene import SOCKET, Doubt, Failure, Scene
from ckpttool.scene.source_logs import can_be_called, is_json, log_of, unusable_initials


def _initial_offset(scene: Scene) -> Doubt | None:
    """Where batch 0 begins, for as long as it is not committed."""
    if scene.committed is not None or scene.planned not in (None, 0):
        return None
    newest = scene.evidence.newest
    kafkas = {source.key for source in newest.sources if _is_kafkas(scene, source)} if newest else set()
    for log in scene.checkpoint.source_logs:
        path = layout.source_entry(log.name, 0)
        if newest is None and KAFKA in scene.kinds:
            return None
        if log.kind != "file" and log.name not in kafkas and _is_unusable(scene, path):
            return Doubt(f"{path}, where batch 0 begins, cannot be used")
    return None


def _is_unusable(scene: Scene, path: str) -> bool:
    logs = scene.checkpoint.source_logs
    return scene.fault(path) is not None or any(
        path == layout.source_entry(log.name, 0) and log.initial and not is_json(log.initial.text) for log in logs
    )


def check_initial_offsets(scene: Scene) -> Iterator[Finding]:
    for name in unusable_initials(scene.checkpoint.source_logs):
        yield Finding(
            id="initial-offset-file-malformed",
            severity="warning",
            path=layout.source_entry(name, 0),
            message="what stands after the version is not an offset",
            expected="the offset at which the source began, as JSON or a number",
            next_step="restore the file. Spark reads it while batch 0 is not committed, the rate source at every start",
        )


def _unknown_names(scene: Scene) -> Doubt | None:
    """Version 2 names the sources, and a line for no source of the query is passed over."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest and scene.is_replay else ():
        if not can_be_called(source.name):
            return Doubt(f"offsets/{scene.planned} has a line for `{source.name}`, which no source can be called")
    return None


def check_source_names(scene: Scene) -> Iterator[Finding]:
    """Of the newest batch; Spark passes over a line for no source of the query, and the real one has none."""
    newest = scene.evidence.newest
    before = newest and scene.batch(newest.id - 1)
    where = f"where {layout.offsets(before.id)} ends" if before and before.sources else "anew"
    for source in newest.sources if newest else ():
        if newest and not can_be_called(source.name):
            yield Finding(
                id="source-name-impossible",
                severity="error",
                path=layout.offsets(newest.id),
                message=f"a line for `{source.name}`, which no source can be called: a source begins {where}",
                expected="`<source>:<offset>`, with letters, digits and `_` in the name, as version 2 has it",
                next_step="restore the file from a backup. A file of version 1 whose first line was changed needs `v1`",
            )


FIRST = (
    Law(
        "initial-offset-unusable",
        "Until batch 0 is committed, its beginning is read from `sources/<n>/0`.",
        "KafkaMicroBatchStream.getOrCreateInitialPartitionOffsets",
        _initial_offset,
        symptom="batch 0 is not committed, and where it begins cannot be read",
        tells=("initial-offset-file-malformed",),
        errors=("failed to detect the log file version line",),
        often=1,
    ),
    Law(
        "source-name-impossible",
        "Version 2 names the sources. A batch that runs again lacks the line of one that nobody can be called.",
        "OffsetMap, MicroBatchExecution.populateStartOffsets",
        _unknown_names,
        since=since.OFFSETS_2,
        symptom="a line of version 2 that belongs to no source",
        look=check_source_names,
    ),
)


BEGINNINGS = (
    Law(
        "initial-offset-file-malformed",
        "where a source began cannot be read",
        look=check_initial_offsets,
        severities=("warning",),
    ),
)


def _offset_texts(scene: Scene) -> Failure | Doubt | None:
    """What cannot be an offset of its source: the source decides what it makes of it."""
    for batch_id in (scene.committed,) if scene.is_continuous else (scene.planned, scene.previous):
        batch = scene.batch(batch_id)
        for source in batch.sources if batch else ():
            log = log_of(scene, source)
            if log is not None and log.kind in ("file", "rate"):
                continue
            if _has_laws_of_its_own(scene, source):
                continue
            if scene.kind_of(source) == RATE_CONTINUOUS and (refused := _no_epoch(source, batch_id or 0)):
                return refused
            for problem in source.offset.problems() if source.offset else ():
                return Doubt(f"source {source.key} in offsets/{batch_id}: {problem}")
    return _another_source(scene)


def _no_epoch(source: SourceProgress, batch_id: int) -> Failure | None:
    """What the rate source of continuous processing does not take for a value of each of its partitions."""
    path, why = layout.offsets(batch_id), f"source {source.key} in offsets/{batch_id} has no value of any partition"
    try:
        value = parse_json(source.text or "")
    except MalformedFile as error:
        class_name = error.spark.class_name if error.spark else MAPPING
        return Failure("init", class_name, None, error.message, f"{why}: {error.message}", path=path)
    if value == {}:
        return Failure("init", REQUIREMENT, None, "The previous run contained 0 partitions", why, path=path)
    if value is None or isinstance(value, dict):
        return None
    return Failure("init", MAPPING, None, "Expected object", why, path=path)


def _is_kafkas(scene: Scene, source: SourceProgress) -> bool:
    """Whether `laws.kafka` judges its lines, and where it began."""
    return scene.kind_of(source) == KAFKA


def _has_laws_of_its_own(scene: Scene, source: SourceProgress) -> bool:
    """Of these it is known what they make of any line and of any range."""
    return scene.kind_of(source) in (KAFKA, DELTA, ICEBERG, SOCKET)


def _another_source(scene: Scene) -> Failure | Doubt | None:
    """An offset that lost the shape which the one before it has."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source, earlier in beside(newest, before):
        start, end = earlier.offset if earlier else None, source.offset
        log = log_of(scene, source)
        if _has_laws_of_its_own(scene, source) or (log is not None and log.kind in ("file", "rate")):
            continue
        if start and source.text and start.kind == "rate-micro-batch" and end and end.kind in ("python", "unknown"):
            return _no_position(scene, source)
        if start and end and start.kind == "unknown" and end.kind == "python" and not scene.is_replay:
            continue  # nobody asks it for a range that is committed
        if start and end and start.kind != end.kind and end.kind in ("python", "unknown"):
            where = f"offsets/{scene.previous} and offsets/{scene.planned}"
            return Doubt(f"source {source.key} is {start.kind} and {end.kind} in {where}")
    return None


def _no_position(scene: Scene, source: SourceProgress) -> Failure:
    try:
        class_name = ILLEGAL_STATE if parse_json(source.text or "") is None else MAPPING  # null is taken for one
    except MalformedFile as error:
        class_name = error.spark.class_name if error.spark else MAPPING
    why = f"source {source.key} in offsets/{scene.planned} has no `offset` and `timestamp`"
    return Failure("batch", class_name, None, "", why, scene.next_id, path=layout.offsets(scene.planned or 0))


# How a source answers when it is asked for a range that ends before it begins.
BACKWARDS: dict[str, tuple[str, str | None, str]] = {
    "file": (ASSERTION, None, "assertion failed"),
    "rate-micro-batch": (ASSERTION, "INTERNAL_ERROR", "assertion failed: startOffset"),
    "rate": (ASSERTION, "INTERNAL_ERROR", "assertion failed: startSeconds"),
}


def _range_backwards(scene: Scene) -> Failure | Doubt | None:
    """The range that is asked for ends before it begins: of the newest batch, and of old sources even if committed."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest and not scene.is_continuous else ():
        kind = source.offset.kind if source.offset else None
        if kind is None or source.step is None or not source.step.backwards:
            continue
        if _has_laws_of_its_own(scene, source):
            continue
        if scene.kind_of(source) == EVENT_HUBS:
            continue  # it reads nothing then, and warns
        if not scene.is_replay and kind != "file":
            continue  # sources of the new interface are not asked for a range that is committed
        why = f"source {source.key} goes back from offsets/{scene.previous} to offsets/{scene.planned}"
        if kind not in BACKWARDS:
            return Doubt(f"{why}: what its source makes of that is its own")
        class_name, condition, message = BACKWARDS[kind]
        phase: Literal["init", "batch"] = "batch" if scene.is_replay else "init"
        batch = scene.next_id if scene.is_replay else None
        return Failure(phase, class_name, condition, message, why, batch, path=layout.offsets(scene.planned or 0))
    return None


LAST_RANGE = (
    Law(
        "offset-not-of-its-source",
        "A source parses its own line. What cannot be one of its offsets fails in its own way, or is taken.",
        "the sources' deserializeOffset",
        _offset_texts,
        symptom="a line of the newest offsets is no offset of its source",
        tells=("source-offset-malformed", "sentinels-in-checkpoint"),
        next_step=RESTORE,
        errors=(
            "The previous run contained…partitions are currently configured",
            "Do not know how to convert…into long",
            "Did not find value which can be converted into long",
            "Expected object but got",
            "The type of Offset should be",
            "MappingException",
            "NumberFormatException: For input string",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=1,
    ),
    Law(
        "range-backwards",
        "A range that ends before it begins is refused by its source.",
        "the sources' getBatch and planInputPartitions",
        _range_backwards,
        symptom="the range that is asked for ends before it begins",
        tells=("offset-regression",),
        next_step=RESTORE,
        errors=("assertion failed", "assertion failed: startOffset(…> endOffset("),
        often=1,
    ),
)


def check_offsets(scene: Scene) -> Iterator[Finding]:
    for batch in scene.evidence.batches[-2:]:
        for source in batch.sources:
            for problem in source.offset.problems() if source.offset else ():
                sentinel = isinstance(source.offset, KafkaOffset) and source.offset.sentinels()
                yield Finding(
                    id="sentinels-in-checkpoint" if sentinel else "source-offset-malformed",
                    severity=severity_by_age(scene, batch.id),
                    path=layout.offsets(batch.id),
                    message=f"source {source.key}: {problem}",
                    expected="an offset that the source wrote",
                    next_step="restore the line from a backup, or from the query's progress events",
                    spark=SparkError(ASSERTION) if sentinel else None,
                )


def check_steps(scene: Scene) -> Iterator[Finding]:
    for before, batch in pairwise(batch for batch in scene.evidence.batches if batch.entry):
        for source, start in beside(batch, before):
            if start is not None and start.offset is not None and source.text is None:
                yield _offset_lost(scene, before, batch, source)
            if start is None or start.offset is None or source.offset is None or source.text == start.text:
                continue
            if lacking := _read_once_more(scene, batch, source, start):
                yield lacking
            elif type(start.offset) is not type(source.offset):
                yield _kind_changed(batch, source, start.offset, source.offset)
            elif scene.mode == "microbatch" and not source.offset.problems():
                yield from _backwards(batch, source, start.offset, source.offset)
                yield from _parts_gone(batch, source)


def _offset_lost(scene: Scene, before: Batch, batch: Batch, source: SourceProgress) -> Finding:
    # The start of the batch after a committed one is put together of both files, so the older one still counts.
    is_last = batch.id == scene.planned == scene.committed
    comes = f"it goes on from there, and reads the rows of batch {batch.id} again" if is_last else "it begins anew"
    return Finding(
        id="offset-regression",
        severity=severity_by_age(scene, batch.id),
        path=layout.offsets(batch.id),
        message=f"source {source.key} has no offset, and had one in batch {before.id}: {comes}",
        expected="an offset, once there was one",
        next_step=f"restore the line from a backup, or put that of offsets/{before.id} in its place",
    )


def _read_once_more(scene: Scene, batch: Batch, source: SourceProgress, start: SourceProgress) -> Finding | None:
    """A Kafka source begins anew with what its newest committed offsets do not name, whatever it had read of it."""
    is_last = batch.id == scene.planned == scene.committed
    if not is_last or scene.mode != "microbatch" or not _is_kafkas(scene, source):
        return None
    try:
        named, before = deserialize(source.text or ""), deserialize(start.text or "")
    except MalformedFile:
        return None
    if any(named.values()) or not any(before.values()):
        return None
    return Finding(
        id="offset-regression",
        severity="error",
        path=layout.offsets(batch.id),
        message=f"source {source.key} names no partition: the next batch reads all of them from their earliest records,"
        " and rows come a second time",
        expected=f"the partitions of offsets/{batch.id - 1}",
        next_step=f"restore the line from a backup, or put that of offsets/{batch.id - 1} in its place",
    )


def _kind_changed(batch: Batch, source: SourceProgress, start: Offset, end: Offset) -> Finding:
    return Finding(
        id="source-kind-changed",
        severity="warning",
        path=layout.offsets(batch.id),
        message=f"source {source.key} was {start.kind} in the batch before and is {end.kind} here",
        expected="the same sources in the same order in every batch",
        next_step="compare with the order of the sources in the query",
    )


def _backwards(batch: Batch, source: SourceProgress, start: Offset, end: Offset) -> Iterator[Finding]:
    parts = source.step.backwards if source.step else ()
    if parts or end.order(start) is Order.BEFORE:
        where = f" in {', '.join(parts[:5])}" if parts else ""
        yield Finding(
            id="offset-regression",
            severity="warning",
            path=layout.offsets(batch.id),
            message=f"source {source.key} goes back{where}",
            expected="offsets that never fall from one batch to the next",
            next_step="a reset topic, an offline repartition or a hand edit: compare with the source",
        )


def _parts_gone(batch: Batch, source: SourceProgress) -> Iterator[Finding]:
    if gone := ", ".join(source.step.gone[:5]) if source.step else "":
        yield Finding(
            id="partitions-gone",
            severity="warning",
            path=layout.offsets(batch.id),
            message=f"source {source.key} has no offset for {gone}: if it still reads that, or again, it begins with"
            " the earliest row, and what it had read comes a second time",
            expected="every part that the batch before had",
            next_step="check the topics and the subscription",
        )


OFFSETS = (
    Law(
        "sentinels-in-checkpoint",
        "`-1` or `-2` instead of a Kafka offset",
        look=check_offsets,
        severities=("error", "warning"),
    ),
    Law(
        "source-offset-malformed",
        "an offset that its source cannot have written",
        look=check_offsets,
        severities=("error", "warning"),
    ),
    Law("offset-regression", "a source goes back", look=check_steps, severities=("warning",)),
    Law(
        "source-kind-changed",
        "a line belongs to another kind of source than before",
        look=check_steps,
        severities=("warning",),
    ),
    Law(
        "partitions-gone",
        "a source no longer reads parts that it had",
        look=check_steps,
        severities=("error", "warning"),
    ),
)
