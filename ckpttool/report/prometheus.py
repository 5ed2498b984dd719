"""The text that Prometheus reads: of `ckpt kafka diff --export-metrics`, and of checkups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ckpttool.kafka.base import SourceView
from ckpttool.report.document import Document
from ckpttool.report.layout import printable
from ckpttool.report.style import Style

if TYPE_CHECKING:
    from ckpttool.report.views.kafka import KafkaReport

_VERDICTS = ("fit", "attention", "unknown", "unfit")
_SEVERITIES = ("error", "warning", "info")
Labels = Mapping[str, str]
Value = tuple[Labels, float]


def render(document: Document, _style: Style) -> Iterator[str]:
    """A refusal has no figures."""
    if "prometheus" in document.own:
        yield document.own["prometheus"]()


class HealthOf(Struct, frozen=True):
    """A checkpoint's verdict, None where no checkup was made, and its findings by severity."""

    checkpoint: str
    verdict: str | None
    counts: Mapping[str, int]


def render_health(checkpoints: Iterable[HealthOf]) -> str:
    """The verdict that a checkpoint has is 1, the others are 0."""
    several = list(checkpoints)
    verdicts = (
        ({"checkpoint": one.checkpoint, "verdict": verdict}, float(one.verdict == verdict))
        for one in several
        if one.verdict is not None
        for verdict in _VERDICTS
    )
    findings = (
        ({"checkpoint": one.checkpoint, "severity": severity}, float(one.counts.get(severity, 0)))
        for one in several
        for severity in _SEVERITIES
    )
    lines = [
        *_family("ckpt_verdict", "Whether the checkup of the checkpoint came to this verdict.", verdicts),
        *_family("ckpt_findings", "Findings that count, by severity.", findings),
    ]
    return "".join(f"{line}\n" for line in lines)


def render_metrics(report: KafkaReport, last_batch: int | None, last_commit: int | None) -> str:
    """All are gauges. What is not known has no line."""
    whole = {"checkpoint": report.checkpoint}
    lines = [
        *_family("ckpt_kafka_last_batch", "The newest batch that was planned.", _known(whole, last_batch)),
        *_family("ckpt_kafka_last_committed_batch", "The newest batch that has a commit.", _known(whole, last_commit)),
        *_family("ckpt_kafka_up", "Whether the brokers of the source answered.", _up(report, whole)),
    ]
    for name, meaning, values in _partitions(report, whole):
        lines += _family(f"ckpt_kafka_{name}", meaning, values)
    return "".join(f"{line}\n" for line in lines)


def _family(name: str, meaning: str, values: Iterator[Value]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} gauge"
    for labels, value in values:
        spelled = ",".join(f'{key}="{escape_label(text)}"' for key, text in labels.items())
        yield f"{name}{{{spelled}}} {value}"


def escape_label(text: str) -> str:
    """The format knows three escapes. Other control characters are spelled out, for terminals."""
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return "\\n".join(lines)


def _known(labels: Labels, value: float | None) -> Iterator[Value]:
    if value is not None:
        yield labels, value


def _up(report: KafkaReport, whole: Labels) -> Iterator[Value]:
    for source in report.judged.views:
        yield {**whole, "source": str(source.index)}, 0 if source.faults else 1


def _partitions(report: KafkaReport, whole: Labels) -> Iterator[tuple[str, str, Iterator[Value]]]:
    columns = {
        "next_offset": "Where the next batch begins.",
        "earliest": "The earliest offset that there is.",
        "latest": "The offset behind the last record.",
        "lag": "Offsets that are waiting.",
        "lost": "Offsets that the query will never read if it goes on from here.",
    }
    rows = [(_labels(whole, source, topic.topic, part.partition), part) for source in report.judged.views
            for topic, part in source.partitions()]  # fmt: skip
    for name, meaning in columns.items():
        yield name, meaning, (one for labels, part in rows for one in _known(labels, getattr(part, name)))
    if not report.tells_when:
        return
    seen = [(labels, part.times) for labels, part in rows if part.times]
    lags = ((labels, times.lag_ms / 1000) for labels, times in seen if times.lag_ms is not None)
    yield "time_lag_seconds", "How old the next record is.", lags
    reached = ((labels, times.retention_ms / 1000) for labels, times in seen if times.retention_ms is not None)
    yield "retention_reaches_timestamp_seconds", "When retention reaches the next offset.", reached


def _labels(whole: Labels, source: SourceView, topic: str, partition: int) -> Labels:
    return {**whole, "source": str(source.index), "topic": topic, "partition": str(partition)}
