"""Spark's file source: `{"logOffset":345}`; the oldest form, still readable, is the bare number `345`.

The number is the last id of the source's own log `sources/<n>/` that the batch includes: a batch is `(start, end]`, and
each id lists one or more input files. The ids are not the query's batch ids.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ckpttool.connectors.base import CounterOffset, Options, is_long
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import MAPPING, NULL_POINTER, parse_json, whole_number
from ckpttool.model import Json, SparkError
from ckpttool.words import quote

KIND = "file"
# `maxFileAge`: the source ignores what is older than this, seen from its newest file.
MAX_FILE_AGE_MS = 7 * 86_400_000
OPTIONS = Options(
    each=(
        "path maxFilesPerTrigger maxBytesPerTrigger maxFileAge latestFirst fileNameOnly cleanSource sourceArchiveDir "
        "maxCachedFiles discardCachedInputRatio pathGlobFilter recursiveFileLookup modifiedBefore modifiedAfter "
        "basePath ignoreCorruptFiles ignoreMissingFiles charToEscapeQuoteEscaping charset codec columnPruning comment "
        "compression dateFormat delimiter emptyValue enableDateTimeParsingFallback encoding enforceSchema escape "
        "escapeQuotes extension header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace inferSchema inputBufferSize "
        "lineSep locale maxCharsPerColumn maxColumns mode multiLine nanValue negativeInf nullValue positiveInf "
        "preferDate quote quoteAll samplingRatio sep timeFormat timeZone timestampFormat timestampNTZFormat "
        "unescapedQuoteHandling columnNameOfCorruptRecord singleVariantColumn allowBackslashEscapingAnyCharacter "
        "allowComments allowNonNumericNumbers allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars "
        "allowUnquotedFieldNames dropFieldIfAllNull ignoreNullFields inferTimestamp prefersDecimal pretty "
        "primitivesAsString useUnsafeRow writeNonAsciiCharacterAsCodePoint datetimeRebaseMode int96RebaseMode "
        "mergeSchema wholetext avroSchema avroSchemaUrl enableStableIdentifiersForUnionType ignoreExtension "
        "positionalFieldMatching recordName recordNamespace recursiveFieldMaxDepth stableIdentifierPrefixForUnionType "
        "arrayElementName attributePrefix declaration excludeAttribute ignoreNamespace ignoreSurroundingSpaces indent "
        "rootTag rowTag rowValidationXSDPath useLegacyXMLParser validateName valueTag wildcardColName"
    ),
)
PATTERN = re.compile(r"[{}\[\]*?\\]")  # SparkHadoopUtil.isGlobPath
ALSO_READ_PATHS = frozenset({"delta", "iceberg", "hudi", "paimon", "auto-loader"})  # `path` may be meant for them
EXAMPLES: tuple[str, ...] = ('{"logOffset":345}', '{"logOffset":0}')


def is_pattern(path: str) -> bool:
    return PATTERN.search(path) is not None


def is_whole(path: str) -> bool:
    """Else it begins where Spark runs, which is not known here."""
    return path.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) is not None


class FileOffset(CounterOffset, frozen=True):
    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "logOffset"
    unit: ClassVar[str] = "log entries"
    exact: ClassVar[bool] = True
    first: ClassVar[int | None] = -1

    def summary(self) -> str:
        return f"log entry {self.position:,}"

    def problems(self) -> list[str]:
        return [f"logOffset {self.position} is no id of a log entry"] if self.position < 0 else []


def read_position(text: str) -> int:
    """The position as Spark reads it of a source that is known to be this one."""
    value: Json = parse_json(text)
    position = whole_number(value.get("logOffset") if isinstance(value, dict) else value)
    if not is_long(position):
        raise MalformedFile(
            f"{quote(text)} has no number of a log entry",
            expected=EXAMPLES[0],
            spark=SparkError(NULL_POINTER if value is None else MAPPING),
        )
    return position


def parse_offset(value: Json, text: str, hint: str | None) -> FileOffset | None:  # noqa: ARG001
    if isinstance(value, dict) and len(value) == 1:
        value = value.get("logOffset")
    elif hint != KIND:
        return None
    return FileOffset("certain", value) if is_long(value) else None
