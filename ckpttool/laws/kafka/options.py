"""Options with which a Kafka source does not even start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ckpttool.connectors.kafka import EXPECTED, deserialize
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import REQUIREMENT
from ckpttool.laws.kafka.base import LOAD, MAKE, Raised, Source, law
from ckpttool.laws.state_errors import NO_SUCH_ELEMENT
from ckpttool.releases import since
from ckpttool.scene.scene import SUBSCRIPTIONS, Start, Trouble
from ckpttool.words import listed, quote

_REFUSED = "kafka-option-refused"
_NUMBER_FORMAT = "java.lang.NumberFormatException"
_PATTERN = "java.util.regex.PatternSyntaxException"
_NO_PATTERN = ("unterminated character set", "missing )", "unbalanced parenthesis", "nothing to repeat")
_EXPECTED_TIMES = 'Expected e.g. {"topicA": {"0": 123456789, "1": 123456789}'
_EXPECTED_PARTITIONS = 'Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got'
# Of the client's own settings those that the source sets itself; the word is what Spark's message has.
_CLIENT = ("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes")


def _refused(source: Source) -> Iterator[Trouble]:
    """The first that Spark comes to, in the order of KafkaSourceProvider.validateStreamOptions. What it parses when it
    makes the stream comes after."""
    if source.after:
        return
    for check in (_endings, _strategy, _numbers, _client, _bounds, _headers):
        if raised := check(source.start):
            yield _told(source, LOAD, raised)
            return
    if raised := _made(source.start):
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
    has_records = start.release >= since.KAFKA_RECORDS_PER_PARTITION
    for name in ("minPartitions", *(("maxRecordsPerPartition",) if has_records else ())):
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


def _headers(start: Start) -> Raised | None:
    return _no_boolean(start, "includeHeaders")


def _no_boolean(start: Start, name: str) -> Raised | None:
    given = start.option(name)
    is_one = given is None or given.lower() in ("true", "false")
    return None if is_one else (REQUIREMENT, None, f"For input string: {quote(given or '')}")


def _made(start: Start) -> Raised | None:
    """In the order of KafkaScan.toMicroBatchStream. Where a new query begins is parsed at every start."""
    return (
        _no_strategy(start)
        or _beginning(start)
        or _no_partitions(start)
        or _no_pattern(start)
        or _no_number(start, "fetchOffset.numRetries", "fetchOffset.retryIntervalMs")
        or _no_boolean(start, "failOnDataLoss")
        or _no_number(start, "maxOffsetsPerTrigger", "minOffsetsPerTrigger")
    )


def _no_strategy(start: Start) -> Raised | None:
    given = (start.option("startingOffsetsByTimestampStrategy") or "error").upper()
    return None if given in ("ERROR", "LATEST") else (NO_SUCH_ELEMENT, None, f"No value found for '{given}'")


def _beginning(start: Start) -> Raised | None:
    """A time for all overrules times of each, and either `startingOffsets`: what is overruled is not parsed."""
    if (time := start.option("startingTimestamp")) is not None:
        is_one = parse_long(time.strip()) is not None
        return None if is_one else (REQUIREMENT, None, f"Expected a single long value, got {time.strip()}")
    if (times := start.option("startingOffsetsByTimestamp")) is not None:
        return (REQUIREMENT, None, _EXPECTED_TIMES) if _fails(deserialize, times) else None
    given = start.option("startingOffsets")
    refused = given is not None and given.strip().lower() not in ("earliest", "latest") and _fails(deserialize, given)
    return (REQUIREMENT, None, EXPECTED) if refused else None


def _no_partitions(start: Start) -> Raised | None:
    given = start.option("assign")
    return (REQUIREMENT, None, _EXPECTED_PARTITIONS) if given is not None and _fails(_lists, given) else None


def _lists(text: str) -> None:
    """By JsonUtils.partitions: json4s' `Map[String, Seq[Int]]`."""
    value = parse_json(text)
    numbers = value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(one, list) and all(type(number) is int for number in one) for one in numbers):
        raise MalformedFile("it names no partitions", expected='`{"topic":[0,1]}`')


def _no_pattern(start: Start) -> Raised | None:
    """As far as Python's and Java's patterns are alike: what Java alone has, Python refuses with other words."""
    given = start.option("subscribePattern")
    if given is None or "\\Q" in given:
        return None
    try:
        re.compile(given.strip())
    except re.error as error:
        return (_PATTERN, None, "near index") if str(error).startswith(_NO_PATTERN) else None
    return None


def _no_number(start: Start, *names: str) -> Raised | None:
    told = [start.option(name) for name in names]
    none = next((given for given in told if given is not None and parse_long(given) is None), None)
    return None if none is None else (_NUMBER_FORMAT, None, f"For input string: {quote(none)}")


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
        severities=("error", "warning"),
        errors=(
            "Kafka option '",
            "No topics to subscribe to",
            "not valid in streaming queries",
            "must be positive",
            "Expected a single long value",
            "NumberFormatException: For input string",
            "IllegalArgumentException: For input string",
            'Expected e.g. {"topicA":',
            "PatternSyntaxException",
            "One of the following options must be specified for Kafka source",
            "Only one of the following options can be specified for Kafka source",
            "Option 'kafka.bootstrap.servers' must be specified",
            "startingOffsets",
            "IllegalArgumentException: option",
            "IllegalArgumentException: Unknown value",
            'Expected e.g. {"topicA":["0","1"]',
            "starting offset can't be latest",
            "ClassNotFoundException",
            "includeHeaders",
            "assertion failed",
            "Pattern to subscribe is empty",
            "No topicpartitions to assign",
            "is higher than the maxOffsetsPerTrigger",
            "No value found for '",
        ),
        often=3,
    ),
)
