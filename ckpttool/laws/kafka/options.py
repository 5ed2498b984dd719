"""Options with which a Kafka source does not even start."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ckpttool.connectors.kafka import EXPECTED, deserialize
from ckpttool.errors import MalformedFile
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import REQUIREMENT
from ckpttool.laws.kafka.base import LOAD, MAKE, Raised, Source, law
from ckpttool.scene.scene import SUBSCRIPTIONS, Start, Trouble
from ckpttool.words import listed, quote

_REFUSED = "kafka-option-refused"
_NUMBER_FORMAT = "java.lang.NumberFormatException"
# Of the client's own settings those that the source sets itself; the word is what Spark's message has.
_CLIENT = ("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes")


def _refused(source: Source) -> Iterator[Trouble]:
    """The first that Spark comes to, in the order of KafkaSourceProvider.validateStreamOptions. What it parses when it
    makes the stream comes after."""
    if source.after:
        return
    for step, check in ((LOAD, _endings), (LOAD, _strategy), (LOAD, _numbers), (LOAD, _client), (LOAD, _bounds)):
        if raised := check(source.scene.start):
            yield _told(source, step, raised)
            return
    if raised := _made(source.scene.start):
        yield _told(source, MAKE, raised)


def _told(source: Source, step: int, raised: Raised) -> Trouble:
    step_out = "leave the option out, or give it a value that the source takes"
    return source.raises(
        step, raised, _REFUSED, f"the Kafka source refuses its options: {raised[2]}", step_out, path="."
    )


def _endings(start: Start) -> Raised | None:
    told = {"endingOffsets": "ending offset", "endingOffsetsByTimestamp": "ending timestamp"}
    found = next((what for name, what in told.items() if start.option(name) is not None), None)
    return (REQUIREMENT, None, f"{found} not valid in streaming queries") if found else None


def _strategy(start: Start) -> Raised | None:
    given = {name: value for name in SUBSCRIPTIONS if (value := start.option(name)) is not None}
    if len(given) > 1:
        message = "Only one of the following options can be specified for Kafka source"
        return REQUIREMENT, None, f"{message}: {listed(given)}"
    for name, value in given.items():
        empty: dict[str, tuple[bool, str]] = {
            "assign": (not value.strip().startswith("{"), "No topicpartitions to assign"),
            "subscribe": (not value.replace(",", " ").strip(), "No topics to subscribe to"),
            "subscribePattern": (not value.strip(), "Pattern to subscribe is empty"),
        }
        is_empty, message = empty[name]
        if is_empty:
            return REQUIREMENT, None, f"{message} as specified value for option '{name}'"
    return None


def _numbers(start: Start) -> Raised | None:
    for name in ("minPartitions", "maxRecordsPerPartition"):
        given = start.option(name)
        if given is not None and (number := parse_long(given)) is None:
            return _NUMBER_FORMAT, None, f"For input string: {quote(given)}"
        if given is not None and number is not None and number <= 0:
            return REQUIREMENT, None, f"{name} must be positive"
    return None


def _client(start: Start) -> Raised | None:
    found = next((name for name in _CLIENT if start.option(f"kafka.{name}") is not None), None)
    return (REQUIREMENT, None, f"Kafka option '{found}' is not supported") if found else None


def _bounds(start: Start) -> Raised | None:
    least, most = start.option("minOffsetsPerTrigger"), start.option("maxOffsetsPerTrigger")
    if least is None or most is None:
        return None
    low, high = parse_long(least), parse_long(most)
    if low is None or high is None:
        return _NUMBER_FORMAT, None, "For input string"
    if low <= high:
        return None
    return (
        REQUIREMENT,
        None,
        f"The value of minOffsetPerTrigger({low}) is higher than the maxOffsetsPerTrigger({high}).",
    )


def _made(start: Start) -> Raised | None:
    """A time overrules `startingOffsets`, which is not parsed then; both count for a new query only, and are parsed at
    every start."""
    timed = any(start.option(name) is not None for name in ("startingTimestamp", "startingOffsetsByTimestamp"))
    given = start.option("startingOffsets")
    if given is not None and not timed and given.lower() not in ("earliest", "latest") and _fails(deserialize, given):
        return REQUIREMENT, None, EXPECTED
    loss = start.option("failOnDataLoss")
    if loss is not None and loss.lower() not in ("true", "false"):
        return REQUIREMENT, None, f"For input string: {quote(loss)}"
    return None


def _fails(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except MalformedFile:
        return True
    return False


LAWS = (
    law(
        _REFUSED,
        "an option with which a Kafka source does not start",
        judge=_refused,
        needs="logs",
        severities=("error",),
    ),
)
