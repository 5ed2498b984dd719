"""`ckpt kafka diff`: Kafka sources beside their brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from ckpttool.errors import exit_code
from ckpttool.kafka.base import PartitionTimes, PartitionView, SourceView, TopicView, spell
from ckpttool.laws.kafka.judge import KafkaVerdict
from ckpttool.laws.restart import Restart
from ckpttool.releases import Release, spell_release
from ckpttool.report.document import Block, Document, Fields, Findings, Line, Section, Table, Tone, Toned
from ckpttool.report.layout import spell_duration, spell_time
from ckpttool.report.views.findings import failure_fields, findings_fields
from ckpttool.scene.scene import Failure
from ckpttool.words import counted, listed

_ROWS_SHOWN = 40
_HEAD = ("Topic", "Partition", "Next", "Replay to", "Earliest", "Latest", "Lag", "Lost", "Status")
_WHEN_HEAD = ("Behind for", "Retention")
_NOTES_SHOWN = 5
Newest = tuple[int | None, int | None]


class KafkaReport(Struct, frozen=True):
    """What `ckpt kafka diff` shows. `asked_ms`: when the brokers had answered; `tells_when`: times were asked for."""

    checkpoint: str
    release: Release
    next_batch: Restart
    judged: KafkaVerdict
    asked_ms: int | None = None
    tells_when: bool = False

    @property
    def total_lost(self) -> int:
        return sum(source.total_lost for source in self.judged.views)

    @property
    def total_lag(self) -> int:
        return sum(source.total_lag for source in self.judged.views)

    @property
    def exit_code(self) -> int:
        views = self.judged.views
        faults = [*(view.times_fault for view in views), *(fault for view in views for fault in view.faults)]
        reasons = {fault.reason for fault in faults if fault}
        is_silent = any(finding.id == "source-unreachable" for finding in self.judged.findings)
        return exit_code(
            misused="configuration" in reasons,
            refused=bool(reasons & {"missing_extra", "unsupported"}),
            wrong=self.judged.verdict in ("fails", "loss") or self.next_batch.outcome == "error",
            unreachable=bool(reasons) or is_silent,
            unknown=self.judged.verdict == "unknown",
        )


def kafka_document(report: KafkaReport, *, everything: bool = False, newest: Newest = (None, None)) -> Document:
    """`everything`: healthy partitions too; `newest`: the last batch that was planned, and the last with a commit."""
    return Document(
        "kafka-diff",
        report.checkpoint,
        lambda: _fields(report),
        lambda: _blocks(report, everything),
        own={"prometheus": lambda: _metrics(report, newest)},
    )


def _metrics(report: KafkaReport, newest: Newest) -> str:
    from ckpttool.report.prometheus import render_metrics

    return render_metrics(report, *newest)


def _fields(report: KafkaReport) -> Fields:
    return {
        "spark_version": spell_release(report.release),
        "next_batch": {"outcome": report.next_batch.outcome, "batch_id": report.next_batch.batch_id},
        "asked_ms": report.asked_ms,
        "verdict": report.judged.verdict,
        "headline": headline(report),
        "total_lost": report.total_lost,
        "total_lag": report.total_lag,
        "error": failure_fields(report.judged.obstacle) if isinstance(report.judged.obstacle, Failure) else None,
        "sources": [view_fields(source) for source in report.judged.views],
        "assumes": _assumed(report),
        "findings": findings_fields(report.judged.findings),
    }


def _assumed(report: KafkaReport) -> list[str]:
    return list(dict.fromkeys(said for source in report.judged.views for said in source.assumes))


def view_fields(source: SourceView) -> Fields:
    return {
        "index": source.index,
        "cluster_id": source.cluster_id,
        "bootstrap_servers": source.servers,
        "reason": source.fault.message if source.fault else None,
        "topics": [
            {
                "topic": topic.topic,
                "read_as": topic.read_as,
                "topic_id": topic.topic_id,
                "exists": topic.exists if source.fault is None else None,
                "subscribed": topic.is_subscribed,
                "reason": topic.fault.message if topic.fault else None,
                "lost": topic.lost,
                "lag": topic.lag,
                "partitions": [_partition_fields(partition) for partition in topic.partitions],
            }
            for topic in source.topics
        ],
    }


def _partition_fields(part: PartitionView) -> Fields:
    own = asdict(part)
    del own["is_known"], own["times"]
    return own | _times_fields(part.times or PartitionTimes())


def _times_fields(times: PartitionTimes) -> Fields:
    return {
        "next_time_ms": times.next_ms,
        "earliest_time_ms": times.earliest_ms,
        "time_lag_ms": times.lag_ms,
        "retention_reaches_ms": times.retention_ms,
        "retention_by": times.retention_by,
        "when_why": times.why,
    }


# -- for people --------------------------------------------------------------------------------------------------------


def headline(report: KafkaReport) -> str:
    """The answer, in one line."""
    if report.next_batch.outcome == "error" and report.next_batch.error:
        return f"the restart fails, whatever Kafka has: {report.next_batch.error.why}"
    batch = report.next_batch.batch_id
    which = "the next batch" if batch is None else f"batch {batch}"
    worst = next((finding for finding in report.judged.findings if finding.severity == "error"), None)
    if isinstance(report.judged.obstacle, Failure):
        verb = "cannot be replayed" if report.next_batch.outcome == "replay" else "fails"
        return f"{which} {verb}: {report.judged.obstacle.why}"
    if worst is not None:
        return f"{which} runs, and rows are lost: {worst.message}"
    if report.judged.verdict == "loss":
        return f"{which} runs, and passes over {counted(report.total_lost, 'row')}"
    if report.judged.verdict == "unknown":
        return next((finding.message for finding in report.judged.findings), "too little could be asked for a verdict")
    behind = f", {counted(report.total_lag, 'row')} behind" if report.total_lag else ", nothing is waiting"
    return f"ok{behind}"


def _blocks(report: KafkaReport, everything: bool) -> Iterator[Section]:
    yield _answer(report)
    for source in report.judged.views:
        yield view_section(source, everything, report.asked_ms if report.tells_when else None)
    if report.judged.findings:
        yield [Findings(report.judged.findings)]
    if assumed := _assumed(report):
        yield [Toned(f"Assumed: {'; '.join(assumed)}", "faint")]


def _answer(report: KafkaReport) -> Iterator[Line]:
    said = headline(report)
    tones: dict[str, Tone] = {"ok": "good", "unknown": "notice"}
    yield Toned(said[:1].upper() + said[1:], tones.get(report.judged.verdict, "error"))
    if isinstance(report.judged.obstacle, Failure):
        condition = f" {report.judged.obstacle.condition}" if report.judged.obstacle.condition else ""
        yield f"Spark {spell_release(report.release)}: {report.judged.obstacle.class_name}{condition}"
    if report.tells_when:
        yield from _first_reached(report)


def view_section(source: SourceView, everything: bool = False, now_ms: int | None = None) -> Iterator[Block]:
    """`now_ms`: with the partitions' times, seen from then."""
    partitions = sum(len(topic.partitions) for topic in source.topics)
    topics = listed(topic.topic for topic in source.topics)
    yield Toned(f"Source {source.index} · {topics} · {counted(partitions, 'partition')} at {source.servers}", "title")
    if source.fault:
        yield source.fault.message
    ordered = source.worst_first()
    bad = [one for one in ordered if everything or one[1].status != "ok" or (now_ms is not None and one[1].lag)]
    shown = bad if everything else bad[:_ROWS_SHOWN]
    if shown:
        head = _HEAD if now_ms is None else (*_HEAD, *_WHEN_HEAD)
        yield Table(head, [(*_row(topic, part), *_when_cells(part, now_ms)) for topic, part in shown], range(1, 8))
    if len(bad) > len(shown):
        yield f"and {len(bad) - len(shown):,} more, with --all"
    yield from _summaries(source, shown)
    if now_ms is not None:
        yield from _notes(source)


def _first_reached(report: KafkaReport) -> Iterator[str]:
    """Where retention comes first, of all sources."""
    at = [
        (part.times.retention_ms, spell(topic.topic, part.partition))
        for source in report.judged.views
        for topic, part in source.partitions()
        if part.times and part.times.retention_ms is not None
    ]
    if at and report.asked_ms is not None:
        soonest, name = min(at)
        yield f"Retention reaches {name} first: {_spell_reached(soonest, report.asked_ms)}, {spell_time(soonest)}"


def _when_cells(part: PartitionView, now_ms: int | None) -> tuple[str, ...]:
    if now_ms is None:
        return ()
    times = part.times or PartitionTimes()
    behind = "–" if times.lag_ms is None else spell_duration(times.lag_ms)
    if times.retention_ms is not None:
        return behind, _spell_reached(times.retention_ms, now_ms)
    return behind, "never by age" if times.retention_by == "never" else "–"


def _spell_reached(reached_ms: int, now_ms: int) -> str:
    return f"in {spell_duration(reached_ms - now_ms)}" if reached_ms > now_ms else "at any moment"


def _notes(source: SourceView) -> Iterator[str]:
    """What there is to know of the times, each thing once for a topic."""
    for topic in source.topics:
        said = Counter(part.times.why for part in topic.partitions if part.times and part.times.why)
        for why, number in said.most_common(_NOTES_SHOWN):
            yield f"{topic.topic}: {why} ({counted(number, 'partition')})"


def _row(topic: TopicView, part: PartitionView) -> tuple[str, ...]:
    numbers = (part.next_offset, part.replay_end, part.earliest, part.latest, part.lag, part.lost)
    name = topic.topic if topic.read_as == topic.topic else f"{topic.topic} → {topic.read_as}"
    return name, str(part.partition), *("–" if one is None else f"{one:,}" for one in numbers), part.status


def _summaries(source: SourceView, shown: Sequence[tuple[TopicView, PartitionView]]) -> Iterator[str]:
    """What the rows leave out, topic by topic."""
    rows = {spell(topic.topic, part.partition) for topic, part in shown}
    for topic in source.topics:
        rest = [part for part in topic.partitions if spell(topic.topic, part.partition) not in rows]
        if rest:
            counts = Counter(part.status for part in rest)
            kinds = ", ".join(f"{number:,} {status}" for status, number in counts.most_common())
            lag = sum(part.lag or 0 for part in rest)
            yield f"{topic.topic}: {kinds}, {counted(lag, 'row')} behind"
