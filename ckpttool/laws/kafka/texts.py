"""What a Kafka source cannot read of a checkpoint: a line of the offsets, or where it began."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.kafka import EXPECTED, REFUSED
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE
from ckpttool.kafka.base import RefusedText
from ckpttool.laws.kafka.base import ASK, PREFETCH, Raised, Source, law
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Trouble

_OFFSETS, _BEGINNING = "kafka-offsets-refused", "kafka-beginning-refused"


def _offsets_refused(source: Source) -> Iterator[Trouble]:
    """A line is parsed when a batch is planned from it or up to it, before anything is asked of a broker."""
    refused = source.refused
    if refused and refused.path.startswith(f"{layout.OFFSETS}/"):
        why = f"source {refused.index} in {refused.path}: {refused.why}"
        step = "restore the line from a backup, or from the query's progress events"
        yield source.raises(ASK, _raised(refused, source.scene.release), _OFFSETS, why, step, path=refused.path)


def _beginning_refused(source: Source) -> Iterator[Trouble]:
    refused = source.refused
    if refused and not refused.path.startswith(f"{layout.OFFSETS}/"):
        why = f"{refused.path}, where source {refused.index} begins: {refused.why}"
        step = "restore the file, or remove it: the source then begins where its `startingOffsets` say"
        when = PREFETCH if refused.before_batches else ASK
        yield source.raises(when, _raised(refused, source.scene.release), _BEGINNING, why, step, path=refused.path)


def _raised(refused: RefusedText, release: Release) -> Raised:
    spark = refused.spark
    if spark == REFUSED:
        return spark.class_name, None, EXPECTED
    if release < since.LOG_CONDITIONS and spark.class_name == SPARK_ILLEGAL_STATE:
        return ILLEGAL_STATE, None, "Log file was malformed"
    return spark.class_name, spark.condition, "Log file was malformed"


LAWS = (
    law(
        _OFFSETS,
        "a line of a Kafka source is none that the source takes",
        judge=_offsets_refused,
        needs="logs",
        severities=("error",),
        errors=('Expected e.g. {"topicA":',),
    ),
    law(
        _BEGINNING,
        "where a Kafka source began cannot be read, and is asked for",
        judge=_beginning_refused,
        needs="logs",
        severities=("error",),
        errors=(
            'Expected e.g. {"topicA":',
            "Log file was malformed: failed to read correct log version from",
            "failed to detect the log file version line",
            "maximum supported log version is",
            "requirement failed",
        ),
        often=1,
    ),
)
