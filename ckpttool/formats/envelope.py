"""What all of Spark's metadata logs share: UTF-8 lines, the first one `v<number>`, then JSON.

Writer: `HDFSMetadataLog` and its subclasses. Spark splits lines at LF, CR LF or a lone CR, and a terminator at the very
end adds no line; it refuses a byte order mark, an empty file, and a version it does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.limits import check
from ckpttool.model import Json, Position, SparkError
from ckpttool.words import quote

ILLEGAL_STATE = "java.lang.IllegalStateException"
# Its subclass, since Spark 4.0, for the errors that have a condition.
SPARK_ILLEGAL_STATE = "org.apache.spark.SparkIllegalStateException"
MAPPING = "org.json4s.MappingException"
JACKSON_PARSE = "com.fasterxml.jackson.core.JsonParseException"
JACKSON_EOF = "com.fasterxml.jackson.core.io.JsonEOFException"
JACKSON_NOTHING = "com.fasterxml.jackson.databind.exc.MismatchedInputException"
INPUT_COERCION = "com.fasterxml.jackson.core.exc.InputCoercionException"
NULL_POINTER = "java.lang.NullPointerException"

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
INT_MAX = 2**31 - 1
DEEPEST_JSON = 500


def parse_lines(data: bytes) -> list[str]:
    """Decode strictly and split as Java's `BufferedReader.readLine` does (Python's `splitlines` knows more breaks)."""
    if not data:
        raise MalformedFile(
            "the file is empty",
            expected="a first line `v1`",
            position=Position(line=1, byte=0),
            spark=SparkError(ILLEGAL_STATE),
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedFile(
            f"byte 0x{data[error.start]:02x} is not valid UTF-8",
            expected="UTF-8 text",
            position=Position(line=data.count(b"\n", 0, error.start) + 1, byte=error.start),
            spark=SparkError("java.nio.charset.MalformedInputException"),
        ) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def parse_version(line: str, newest: int) -> int:
    """`v<positive int>` exactly; callers that trim do it themselves, as Spark's commit log does."""
    digits = line[1:] if line.startswith("v") else ""
    digits = digits[1:] if digits.startswith("+") else digits
    if not digits.isdecimal() or len(digits) > 10 or not 1 <= int(digits) <= INT_MAX:
        raise MalformedFile(
            f"the first line is {quote(line)}, not a version",
            expected="`v1`" if newest == 1 else f"`v1` to `v{newest}`",
            position=Position(line=1, byte=0),
            spark=SparkError(SPARK_ILLEGAL_STATE, "MALFORMED_LOG_FILE"),
        )
    version = int(digits)
    if version > newest:
        raise UnsupportedVersion(
            f"log version v{version} is newer than any known Spark writes",
            expected=f"at most `v{newest}`",
            position=Position(line=1, byte=0),
            spark=SparkError(SPARK_ILLEGAL_STATE, "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"),
        )
    return version


def parse_json(text: str, line: int | None = None) -> Json:
    """JSON as Jackson takes it: whatever follows the first object or array is not looked at, and NaN is refused.

    So are nesting bombs, and numbers that would take minutes to convert."""
    try:
        check("values", text.count("[") + text.count("{") + text.count(","))
        if _nests_too_deeply(text):  # how deep Python itself goes depends on its version, and on what comes after
            raise RecursionError
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
        return value if isinstance(value, dict | list) or not text[end:].strip() else _DECODER.decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        cut_off = rest in ("", "-") or error.msg.startswith("Unterminated string")
        raise MalformedFile(
            "the JSON ends too early" if cut_off else f"not JSON: {error.msg} at character {error.pos + 1}",
            expected="one complete JSON value",
            position=Position(line=line, byte=len(text[: error.pos].encode("utf-8", "surrogatepass"))),
            spark=SparkError(_jackson_error(text, rest, cut_off)),
        ) from None
    except RecursionError:
        raise MalformedFile(
            "the JSON is nested too deeply", expected="a flat JSON value", position=Position(line=line)
        ) from None
    except ValueError as error:  # a refused constant, or more digits than Python converts
        raise MalformedFile(
            f"not JSON: {error}",
            expected="one complete JSON value",
            position=Position(line=line),
            spark=SparkError(JACKSON_PARSE),
        ) from None


def _nests_too_deeply(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEEPEST_JSON:
        return False
    brackets = re.sub(_NOT_BRACKETS, "", text, flags=re.DOTALL)
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > DEEPEST_JSON


def parse_json_object(text: str, line: int | None = None) -> dict[str, Json]:
    value = parse_json(text, line)
    if not isinstance(value, dict):
        raise MalformedFile(
            f"a JSON {json_type(value)} stands where an object belongs",
            expected="a JSON object `{…}`",
            position=Position(line=line),
            spark=SparkError(NULL_POINTER if value is None else MAPPING),
        )
    return value


def parse_json_fields(text: str, line: int | None = None) -> dict[str, Json]:
    """The fields of a case class whose fields all have defaults: json4s finds none in a value that is no object."""
    value = parse_json(text, line)
    return parse_json_object(text, line) if isinstance(value, dict) or value is None else {}


def long_field(fields: Mapping[str, Json], name: str, default: int = 0, line: int | None = None) -> int:
    """A Java long: absent and null take the default, as Spark's case classes do."""
    value = whole_number(fields.get(name))
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not LONG_MIN <= value <= LONG_MAX:
        raise MalformedFile(
            f"`{name}` is {quote(json.dumps(value))}, not a 64-bit integer",
            expected=f"`{name}`: an integer",
            position=Position(line=line),
            spark=SparkError(MAPPING),
        )
    return int(value)


def whole_number(value: Json) -> Json:
    """json4s drops what stands after the point where a whole number belongs."""
    return int(value) if isinstance(value, float) and abs(value) < LONG_MAX else value


def json_type(value: Json) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")


def _jackson_error(text: str, rest: str, cut_off: bool) -> str:
    """An end is told in three ways: of nothing at all, after a comma, and anywhere else."""
    if cut_off and not text.strip():
        return JACKSON_NOTHING
    after_comma = not rest and text.rstrip().endswith(",")
    return JACKSON_EOF if cut_off and not after_comma else JACKSON_PARSE


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


# A text that does not end takes all that is left: to look for the end of each again would take for ever.
_NOT_BRACKETS = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[^"\[\]{}]++'
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
