"""Partitions that come and go between a checkpoint and its brokers, as a Kafka source meets them when it plans."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.kafka import deserialize
from ckpttool.errors import MalformedFile
from ckpttool.kafka.base import spell
from ckpttool.laws.kafka.base import PLAN, Part, Source, is_lacking, law, loss, names_are, only_stops, where
from ckpttool.releases import since
from ckpttool.scene.scene import Trouble
from ckpttool.words import counted

_PUT_BACK = "put the partitions back into the newest offsets, with their positions of the batch before"


def _added(source: Source) -> list[Part]:
    """Partitions whose beginnings are asked for, which a batch that runs again does whenever it is planned."""
    in_vain = source.view.is_replay and (source.view.faults or source.unknown_topics)
    return [] if in_vain else source.added


def _whole(source: Source) -> tuple[list[Part], list[Part]]:
    """Those that are there: and of them those that have lost their beginning."""
    added = [one for one in _added(source) if not is_lacking(*one)]
    return added, where(added, lambda part: bool(part.earliest))


def _beginning_not_found(source: Source) -> Iterator[Trouble]:
    """Asked for are the beginnings of what the source subscribes to; to see that one is not, no broker is needed."""
    asked = _added(source) if source.is_asked else source.added
    if source.view.is_replay and (gone := [one for one in asked if is_lacking(*one)]):
        named, plain = "Cannot find initial offsets for partitions", "Cannot find earliest offsets of"
        raised = loss(source.scene.release, "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", named, plain)
        unwanted = not any(topic.is_subscribed for topic, _ in gone)
        nowhere = "at the broker" if source.is_asked else "in any topic"
        lacking = "in what the source subscribes to" if unwanted else nowhere
        why = f"{names_are(gone)} new in the batch that runs again, and not {lacking}"
        step = "take the partition out of the uncommitted offsets file, or delete that file if no sink has the batch"
        yield source.raises(PLAN, raised, "partitions-gone", why, step, fails=source.fails_on_loss)


def _not_at_zero(source: Source) -> Iterator[Trouble]:
    _, late = _whole(source)
    if late:
        topic, part = late[0]
        where_from = f"{spell(topic.topic, part.partition)} begins at {part.earliest:,}"
        why = f"{names_are(late)} not in the checkpoint, and not whole any more: {where_from}"
        raised = loss(source.scene.release, "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO", "Added partition")
        step = "put the partition into the newest committed offsets file with the offset to begin at"
        about = "new-partition-or-topic-not-at-zero"
        yield source.raises(PLAN, raised, about, why, step, fails=source.fails_on_loss)


def _read_from_the_beginning(source: Source) -> Iterator[Trouble]:
    added, late = _whole(source)
    read = _named_before(source)
    if again := [one for one in added if (one[0].topic, one[1].partition) in read]:
        rows = counted(sum((part.latest or 0) - (part.earliest or 0) for _, part in again), "row")
        why = f"{names_are(again)} not in the newest offsets, and in older ones: read from the beginning again, {rows}"
        yield source.tells("partitions-added", "error", why, _PUT_BACK)
    added = [one for one in added if one not in again]
    if added and not late:
        rows = counted(sum((part.latest or 0) - (part.earliest or 0) for _, part in added), "row")
        yield source.tells("partitions-added", "info", f"{names_are(added)} new: read from the beginning, {rows}")


def _named_before(source: Source) -> set[tuple[str, int]]:
    """The partitions that older offsets name, as far as they were read."""
    older = [batch for batch in source.scene.evidence.batches if batch.id < (source.scene.planned or 0)]
    lines = [line for batch in older for line in batch.sources if line.index == source.view.index]
    read: set[tuple[str, int]] = set()
    for line in lines:
        try:
            read.update((topic, one) for topic, parts in deserialize(line.text or "{}").items() for one in parts)
        except MalformedFile:
            continue
    return read


def _deleted(source: Source) -> Iterator[Trouble]:
    known = where(source.parts, lambda part: part.is_known)
    idles = False
    if source.view.is_replay:
        lacking = where(known, lambda part: part.replay_end is None)
        why = f"{names_are(lacking)} not in the batch that runs again, and in the one before it"
    else:
        lacking = [] if source.unknown_topics else [one for one in known if is_lacking(*one)]
        unwanted = lacking and not any(topic.is_subscribed for topic, _ in lacking)
        nowhere = "at the broker" if source.is_asked else "in any topic"
        where_not = "in what the source subscribes to" if unwanted else nowhere
        why = f"{names_are(lacking)} in the checkpoint, and not {where_not}"
        reads_nothing = not source.there and (source.is_asked or source.view.subscription.is_empty)
        idles = reads_nothing and source.scene.release >= since.KAFKA_IDLES
    if idles:
        why += ": nothing is left to read, and the query waits"
    elif not source.fails_on_loss:
        why += ". They are passed over, and read from their earliest record if they come back"
    if lacking:
        # Real-time mode has its own check, which does not look at the group.
        grouped = source.start.option("kafka.group.id") is not None and not source.scene.is_realtime
        condition = "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT" if grouped else "PARTITIONS_DELETED"
        raised = loss(source.scene.release, condition, "have been deleted.", "are gone.")
        step = "if that was meant, ckpt plan offsets --drop-topic takes a topic out of them. Otherwise bring them back"
        yield source.raises(PLAN, raised, "partitions-gone", why, step, fails=source.fails_on_loss and not idles)


LAWS = (
    only_stops(
        "initial-offset-not-found",
        "a partition that the batch adds is gone before that ran",
        judge=_beginning_not_found,
        tells=("partitions-gone",),
        errors=("Cannot find earliest offsets of", "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"),
    ),
    law(
        "new-partition-or-topic-not-at-zero",
        "a partition that the checkpoint does not have lost its beginning",
        judge=_not_at_zero,
        errors=(
            "Added partition…starts from…instead of",
            "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
        ),
    ),
    law(
        "partitions-added",
        "partitions that the checkpoint does not have",
        judge=_read_from_the_beginning,
        severities=("error", "info"),
    ),
    only_stops(
        "partitions-deleted",
        "partitions that were read are gone",
        judge=_deleted,
        tells=("partitions-gone",),
        errors=("Set(…are gone. Some data may have been missed", "KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
        often=3,
    ),
)
