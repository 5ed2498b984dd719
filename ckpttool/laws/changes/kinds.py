"""Sources of another kind in the place of one: what they make of offsets, and of a log, that are not their own."""

from __future__ import annotations

from collections.abc import Sequence

from ckpttool import connectors
from ckpttool.formats import layout
from ckpttool.laws.changes.base import Altered, Spot
from ckpttool.query.model import DescribedSource
from ckpttool.scene.scene import PHASES, SOCKET, Failure

# What is held, and what is there now.
Pair = tuple[DescribedSource, DescribedSource]

# By what they are called in a job, and in another mode.
_SAME = {
    "socket-continuous": SOCKET,
    "rate-continuous": "rate",
    "cloudfiles": "auto-loader",
    "aws-kinesis": "kinesis",
    "pubsublite": "pubsub-lite",
    "changefeed": "cosmos",
}
_OF_MANY = ("integer", "python", "unknown")


def kind_of(source: DescribedSource) -> str:
    return _SAME.get(source.kind, source.kind)


def kinds_differ(held: DescribedSource, new: DescribedSource) -> bool:
    return kind_of(held) != kind_of(new) and kind_of(held) not in _OF_MANY and not _is_class_of(held, new)


def _is_class_of(held: DescribedSource, new: DescribedSource) -> bool:
    """`org.apache.spark.sql.kafka010.KafkaSourceProvider` is Kafka's."""
    return held.kind.replace("-", "") in (new.provider or "").lower()


def other_kind(held: DescribedSource, new: DescribedSource) -> Altered:
    known = {connector.KIND for connector in connectors.ALL} | {SOCKET, *_SAME}
    where, before, after = Spot(source=new.index), spelled_source(held), spelled_source(new)
    if new.kind not in known:
        why = f"what {new.kind} makes of offsets of {held.kind} is not known"
        return Altered("source-kind-changed", where, before, after, "checkpoint", "unknown", why)
    why = f"the offsets of {held.kind} are none of {new.kind}: it fails where it reads them"
    return Altered("source-kind-changed", where, before, after, "checkpoint", "refused", why, _raised(held, new, why))


def foreign(pairs: Sequence[Pair]) -> Altered:
    why = "no source is of the kind that the checkpoint has in its place: this is another query"
    before, after = (", ".join(spelled_source(pair[side]) for pair in pairs) for side in (0, 1))
    raised = [one for one in (_raised(*pair, why) for pair in pairs) if one]
    first = min(raised, key=lambda one: PHASES.index(one.phase)) if len(raised) == len(pairs) else None
    return Altered("foreign-query", Spot(), before, after, "checkpoint", "refused", why, first)


def _raised(held: DescribedSource, new: DescribedSource, why: str) -> Failure | None:
    """Where it was seen. A rate source looks for its beginning in what the file source wrote of its first batch; the
    other one reads the offset."""
    if kind_of(held) != "file":
        return None
    if kind_of(new) == "rate":
        path = f"{layout.SOURCES}/{held.index}/0"
        return Failure("init", "java.lang.NumberFormatException", None, "For input string", why, path=path)
    if kind_of(new) == "rate-micro-batch":
        message = "Did not find value which can be converted into long"
        return Failure("batch", "org.json4s.MappingException", None, message, why, path=layout.OFFSETS)
    return None


def spelled_source(source: DescribedSource) -> str:
    return " ".join(filter(None, (source.kind, source.format, source.name, source.place)))
