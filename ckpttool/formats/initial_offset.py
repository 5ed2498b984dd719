"""Where a source began: `sources/<n>/0`, and `sources/<n>/offsets/0` of Iceberg. Written once, before the first batch.

| shape                          | writer                                                                           |
| ------------------------------ | -------------------------------------------------------------------------------- |
| 0x00, `v1`, LF, topic map      | `KafkaSourceInitialOffsetWriter` (Spark 2.2 to master), the Event Hubs connector |
| length byte, topic map         | Kafka source of Spark 2.1; the byte is the length of the JSON and means nothing  |
| `v1`, LF, milliseconds         | `RateStreamMicroBatchStream` (2.3 to master)                                     |
| `v1`, LF, text                 | Pulsar, Hudi (JSON), Cosmos (base64)                                             |
| JSON object                    | Iceberg's `InitialOffsetStore`                                                   |
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX, LONG_MIN, parse_json_object, parse_version
from ckpttool.formats.values import decode_utf8
from ckpttool.model import InitialOffset, Position, SparkError
from ckpttool.words import quote

NEWEST_VERSION = 1
_AFTER_OPENING_BRACE = b'"} \t\r\n'
_LONGEST_LONG = len(str(LONG_MIN))


def parse_initial_offset(data: bytes) -> InitialOffset:
    if not data:
        raise MalformedFile("the file is empty", expected="an initial offset", position=Position(byte=0))
    leading_byte = data[0] if _has_leading_byte(data) else None
    text = decode_utf8(data, start=0 if leading_byte is None else 1)
    if not text.startswith("v"):
        parse_json_object(text, line=1)
        return InitialOffset(version=None, text=text, leading_byte=leading_byte)
    version_line, line_feed, rest = text.partition("\n")
    if not line_feed:
        raise MalformedFile(
            "the line after the version is missing",
            expected="`v1`, a line feed, the offset",
            position=Position(line=1, byte=len(data)),
            spark=SparkError(ILLEGAL_STATE),
        )
    version = parse_version(version_line, NEWEST_VERSION)
    _check_offset(rest, is_topic_map=leading_byte is not None)
    return InitialOffset(version=version, text=rest, leading_byte=leading_byte)


def initial_offset_hint(initial: InitialOffset) -> str | None:
    """The source kind that this file proves: `rate`, or None.

    A leading byte and a topic map prove nothing between Kafka and Event Hubs, which write the same bytes. The other
    shapes are those of their offset lines, which tell by themselves."""
    if initial.version is not None and initial.leading_byte is None and _is_long(initial.text.strip()):
        return "rate"
    return None


def _has_leading_byte(data: bytes) -> bool:
    """Kafka's reader drops one byte, whatever it is; where that is `{` or `v` by chance, the next one tells."""
    if data[:1] == b"{":
        return len(data) > 1 and data[1] not in _AFTER_OPENING_BRACE
    if data[:1] == b"v":
        return data[1:2] in (b"v", b"{")
    return True


def _check_offset(text: str, *, is_topic_map: bool) -> None:
    if is_topic_map:
        parse_json_object(text, line=2)
        return
    number = text.strip()
    if not number or (_is_integer(number) and not _is_long(number)):
        raise MalformedFile(
            f"the offset is {quote(text)}",
            expected="a 64-bit integer or the source's own text",
            position=Position(line=2, byte=0),
            spark=SparkError("java.lang.NumberFormatException"),
        )


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdecimal()


def _is_long(text: str) -> bool:
    return _is_integer(text) and len(text) <= _LONGEST_LONG and LONG_MIN <= int(text) <= LONG_MAX
