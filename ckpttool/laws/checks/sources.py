"""The sources' lines in the offset log, and what the sources keep themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ckpttool.connectors.base import Offset, Order
from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.laws.checks.logs import spell_gaps
from ckpttool.model import Finding, Severity, SourceLog
from ckpttool.scene.batches import Batch, SourceProgress, file_log_position
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import can_be_called, empty_entries, missing_live_entries, unusable_initials
from ckpttool.words import listed

EMPTY_ENTRY = "source-log-entry-empty"


def check_source_count(scene: Scene) -> Iterator[Finding]:
    """The number of lines is the number of sources in the plan; it cannot change, and an empty line counts."""
    planned = [batch for batch in scene.evidence.batches if batch.entry and batch.entry.version == 1]
    for before, batch in pairwise(planned):
        if batch.id - before.id == 1 and len(before.sources) != len(batch.sources):
            yield _source_count(scene, batch, f"{len(before.sources)} in offsets/{before.id}")
    if planned and not planned[-1].sources:
        yield _source_count(scene, planned[-1], "a query has at least one source")


def check_source_names(scene: Scene) -> Iterator[Finding]:
    """Of the newest batch; Spark passes over a line for no source of the query, and the real one begins anew."""
    newest = scene.evidence.newest
    for source in newest.sources if newest else ():
        if newest and not can_be_called(source.name):
            yield Finding(
                id="source-name-impossible",
                severity="error",
                path=layout.offsets(newest.id),
                message=f"a line for `{source.name}`, which no source can be called: a source begins anew",
                expected="`<source>:<offset>`, with letters, digits and `_` in the name, as version 2 has it",
                next_step="restore the file from a backup; a file of version 1 whose first line was changed needs `v1`",
            )


def _source_count(scene: Scene, batch: Batch, compared: str) -> Finding:
    return Finding(
        id="source-count-changed",
        severity=_severity(scene, batch),
        path=layout.offsets(batch.id),
        message=f"{len(batch.sources)} source lines, and {compared}",
        expected="one line per source of the query, the same number in every batch",
        next_step="restore the lines, or restart the query with as many sources as the file has lines",
    )


def _severity(scene: Scene, batch: Batch) -> Severity:
    """Spark opens the two newest files; what is wrong further down is history."""
    return "error" if batch.id >= (scene.checkpoint.last_offset_batch or 0) - 1 else "warning"


def check_offsets(scene: Scene) -> Iterator[Finding]:
    for batch in scene.evidence.batches[-2:]:
        for source in batch.sources:
            for problem in source.offset.problems() if source.offset else ():
                sentinel = isinstance(source.offset, KafkaOffset) and source.offset.sentinels()
                yield Finding(
                    id="sentinels-in-checkpoint" if sentinel else "source-offset-malformed",
                    severity=_severity(scene, batch),
                    path=layout.offsets(batch.id),
                    message=f"{_spell(source)}: {problem}",
                    expected="an offset that the source wrote",
                    next_step="restore the line from a backup, or from the query's progress events",
                )


def check_steps(scene: Scene) -> Iterator[Finding]:
    for before, batch in pairwise(batch for batch in scene.evidence.batches if batch.entry):
        earlier = {(source.index, source.name): source for source in before.sources}
        for source in batch.sources:
            start = earlier.get((source.index, source.name))
            if start is not None and start.offset is not None and source.text is None:
                yield _offset_lost(scene, before, batch, source)
            if start is None or start.offset is None or source.offset is None or source.text == start.text:
                continue
            if type(start.offset) is not type(source.offset):
                yield _kind_changed(batch, source, start.offset, source.offset)
            elif scene.evidence.mode == "microbatch" and not source.offset.problems():
                yield from _backwards(batch, source, start.offset, source.offset)
                yield from _parts_gone(batch, source)


def _offset_lost(scene: Scene, before: Batch, batch: Batch, source: SourceProgress) -> Finding:
    return Finding(
        id="offset-regression",
        severity=_severity(scene, batch),
        path=layout.offsets(batch.id),
        message=f"{_spell(source)} has no offset, and had one in batch {before.id}: it begins anew from here",
        expected="an offset, once there was one",
        next_step=f"restore the line from a backup, or put that of offsets/{before.id} in its place",
    )


def _kind_changed(batch: Batch, source: SourceProgress, start: Offset, end: Offset) -> Finding:
    return Finding(
        id="source-kind-changed",
        severity="warning",
        path=layout.offsets(batch.id),
        message=f"{_spell(source)} was {start.kind} in the batch before and is {end.kind} here",
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
            message=f"{_spell(source)} goes back{where}",
            expected="offsets that never fall from one batch to the next",
            next_step="a reset topic, an offline repartition or a hand edit: compare with the source",
        )


def _parts_gone(batch: Batch, source: SourceProgress) -> Iterator[Finding]:
    gone = source.step.gone if source.step else ()
    if gone:
        yield Finding(
            id="partitions-gone",
            severity="warning",
            path=layout.offsets(batch.id),
            message=f"{_spell(source)} no longer reads {', '.join(gone[:5])}; if back, it starts at the earliest row",
            expected="every part that the batch before had",
            next_step="check the topics and the subscription",
        )


def check_initial_offsets(scene: Scene) -> Iterator[Finding]:
    for name in unusable_initials(scene.checkpoint.source_logs):
        yield Finding(
            id="initial-offset-file-malformed",
            severity="warning",
            path=layout.source_entry(name, 0),
            message="what stands after the version is not an offset",
            expected="the offset at which the source began, as JSON or a number",
            next_step="restore the file; Spark reads it while batch 0 is not committed, the rate source at every start",
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
                next_step="restore the file from a backup; the query cannot start without it",
            )
        last = max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=None)
        if log.kind == "file" and last is not None:
            yield from _offset_beyond_log(scene, log, last)


def check_empty_entries(scene: Scene) -> Iterator[Finding]:
    """Spark writes no entry without files: what this one listed is forgotten, and looks new. Where the batch that read
    it is not done, its rows come with a later batch, and only there unless a sink has that batch already."""
    done = scene.batch(scene.checkpoint.last_commit_batch)
    held = [view.sink.path or view.sink.kind for view in scene.sink_views if view.holds_what_it_skips(scene.next_id)]
    for log in scene.checkpoint.source_logs:
        read = max((reached for reached in _positions(done, log)), default=-1)
        for number in empty_entries(log):
            name = number if number in log.names.ids else f"{number}.compact"
            twice = number > read and f"; {listed(held)} has their rows already, and gets them twice"
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
        if (source.name or str(source.index)) == log.name and reached is not None:
            yield reached


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


def _spell(source: SourceProgress) -> str:
    return f"source {source.name or source.index}"


LAWS = (
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
    Law(
        "initial-offset-file-malformed",
        "where a source began cannot be read",
        look=check_initial_offsets,
        severities=("warning",),
    ),
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
