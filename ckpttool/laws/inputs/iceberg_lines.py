"""What an Iceberg source cannot read of the checkpoint: no table is needed to know that. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ckpttool.connectors.iceberg import KIND, REFUSED, deserialize
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import INT_MAX
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import RESTORE, UNREAD, Law
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.iceberg import Line, reads_iceberg, stands
from ckpttool.scene.scene import Doubt, Failure, Phase, Scene, Start

_BEGINNING = "iceberg-beginning-refused"
_ANEW = "restore the file, or remove it: the source then takes the oldest snapshot of the table for its beginning"


def _beginning_refused(scene: Scene) -> Failure | Doubt | None:
    """Every start reads where the source began, whatever is committed."""
    for stand in stands(scene):
        path = layout.iceberg_beginning(stand.source)
        fault = scene.fault(path)
        if fault and fault.id in UNREAD:
            return Doubt(f"{path} was not read: {fault.message}")
        if stand.beginning and (failure := _refused(stand.beginning, "init")):
            return failure
    return None


def _starts(scene: Scene) -> list[Start]:
    """Under what each source is started; before the checkpoint tells of any, all that is given may be meant for one."""
    each = [scene.start.of(stand.source) for stand in stands(scene)]
    return each or ([scene.start] if reads_iceberg(scene) else [])


def _option_refused(scene: Scene) -> Failure | None:
    """Numbers are parsed when the source is made."""
    for start, option in product(_starts(scene), _NUMBERS):
        given = start.option(option)
        number = None if given is None else parse_long(given)
        is_long = number is not None and (option == _SINCE or abs(number) <= INT_MAX)
        if given is not None and not is_long:
            why = f"{option}={given} is no number that the source takes"
            return Failure("init", "java.lang.NumberFormatException", None, "For input string", why)
    return None


def _time_travel(scene: Scene) -> Failure | None:
    told = product(_starts(scene), _TIME_TRAVEL)
    given = next((option for start, option in told if start.option(option) is not None), None)
    if given is None:
        return None
    why = f"{given} reads a table as of then, which is no stream"
    return Failure("start", REFUSED.class_name, None, "Time travel option", why)


def _told_of_beginnings(scene: Scene) -> Iterator[Finding]:
    for log in scene.checkpoint.source_logs:
        body = scene.checkpoint.raw.get(layout.iceberg_beginning(log.name)) if log.kind == KIND else None
        if body is None:
            continue
        line = Line(layout.iceberg_beginning(log.name), body.decode("utf-8", "replace"))
        if failure := _refused(line, "init"):
            why = failure.why.removeprefix(f"{line.path}: ")
            yield Finding(_BEGINNING, "error", line.path, why, failure.expected, _ANEW, spark=failure.spark)


def _line_refused(scene: Scene) -> Failure | None:
    """Of a new batch only its start is there to be parsed; of one that runs again the start, and then the end."""
    refused = (_refused(line, "batch", scene.next_id) for stand in stands(scene) for line in stand.lines)
    return next(filter(None, refused), None)


def _refused(line: Line, phase: Phase, batch: int | None = None) -> Failure | None:
    try:
        deserialize(line.text)
    except MalformedFile as error:
        spark = error.spark or REFUSED
        why = f"{line.path}: {error.message}"
        return Failure(phase, spark.class_name, None, "", why, batch, path=line.path, expected=error.expected)
    return None


_OPTION = "iceberg-option-refused"
_SINCE = "stream-from-timestamp"
_NUMBERS = (_SINCE, "streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch")
_TIME_TRAVEL = ("snapshot-id", "as-of-timestamp", "tag")
STARTED = (
    Law(
        "iceberg-time-travel",
        "An Iceberg source refuses to be read as of a snapshot or a time.",
        "SparkReadConf and SparkTable of Iceberg",
        _time_travel,
        since=since.ICEBERG_1_11,
        symptom="an option that has an Iceberg table read as of a moment",
        next_step="leave the option out",
        errors=(
            "Cannot set…snapshot-id",
            "IllegalArgumentException…as-of-timestamp",
            "IllegalArgumentException…snapshot-id",
        ),
        often=1,
    ),
)
_NO_OFFSET = (  # what Iceberg says of what it does not parse as one
    "Cannot parse missing int: version",
    "Cannot parse to a…value: …version",
    "Cannot parse to a…value: …snapshot_id",
    "Cannot parse to a…value: …position",
    "Cannot parse to a…value: …scan_all_files",
    "Cannot parse missing",
    "This version of Iceberg source only supports version",
)
MADE = (
    Law(
        _OPTION,
        "An Iceberg source parses its options as numbers when it is made.",
        "SparkReadConf of Iceberg",
        _option_refused,
        symptom="an option of an Iceberg source that is no number",
        next_step="give a number, or leave the option out",
        errors=("NumberFormatException: For input string",),
        often=1,
    ),
    Law(
        _BEGINNING,
        "An Iceberg source reads at every start where it began, and refuses what is no offset of its own.",
        "SparkMicroBatchStream.InitialOffsetStore of Iceberg",
        _beginning_refused,
        symptom="where an Iceberg source began cannot be read",
        look=_told_of_beginnings,
        next_step=_ANEW,
        errors=(
            *_NO_OFFSET,
            "HadoopStreams$HadoopSeekableInputStream",
            "MismatchedInputException: No content to map due to end-of-input",
            "Cannot parse",
            "Cannot create…from",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=1,
    ),
)
LAST_RANGE = (
    Law(
        "iceberg-offset-refused",
        "An Iceberg source parses the offsets that a batch is planned from, and refuses what is none of its own.",
        "StreamingOffset.fromJson of Iceberg",
        _line_refused,
        symptom="a line of an Iceberg source is none that it takes",
        tells=("source-offset-malformed",),
        next_step=RESTORE,
        errors=(
            *_NO_OFFSET,
            "Cannot parse",
            "Cannot create…from",
            "MismatchedInputException: No content to map due to end-of-input",
            "JsonEOFException",
            "JsonParseException",
        ),
    ),
)
