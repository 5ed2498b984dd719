"""What the Delta source raises when it does not go on, release by release. Pure."""

from __future__ import annotations

from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import FILE_NOT_FOUND, REQUIREMENT
from ckpttool.releases import Release, since

Raised = tuple[str, str | None, str]  # the class, the condition if it has one, the fixed part of the message

_DELTA = "org.apache.spark.sql.delta"
_STATE, _FILE = f"{_DELTA}.DeltaIllegalStateException", f"{_DELTA}.DeltaFileNotFoundException"
_RUNTIME = f"{_DELTA}.DeltaRuntimeException"
_UNSUPPORTED = f"{_DELTA}.DeltaUnsupportedOperationException"
_OTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"

NO_TABLE = (f"{_DELTA}.DeltaAnalysisException", "DELTA_SCHEMA_NOT_SET", "Table schema is not set")
OTHER_TABLE = (_STATE, _OTHER_TABLE, "The streaming query was reading from an unexpected Delta table")
LOG_CUT_OFF = (_FILE, "DELTA_TRUNCATED_TRANSACTION_LOG", "Unable to reconstruct state")
LOG_WITH_HOLE = (_STATE, "DELTA_VERSIONS_NOT_CONTIGUOUS", "are not contiguous")
COMMIT_GONE = (ILLEGAL_STATE, None, "Could not find any delta files for version")
NO_CHANGE_FEED = (f"{_DELTA}.DeltaAnalysisException", "DELTA_MISSING_CHANGE_DATA", "change data was not recorded")
SCHEMA_EVOLVED = (_RUNTIME, "DELTA_STREAMING_METADATA_EVOLUTION", "has changed")
NOT_CONTINUED = (_RUNTIME, "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", "non-additive")
LAST_COMMIT_GONE = (REQUIREMENT, None, "Did not get the last delta file version")
NO_SUCH_VERSION = (ILLEGAL_STATE, None, "Trying to load a non-existent version")
FEED_BACKWARDS = (f"{_DELTA}.DeltaIllegalArgumentException", "DELTA_INVALID_CDC_RANGE", "End cannot be before start")
TRACKED_WITH_GAPS = (REQUIREMENT, None, "Using schema from schema tracking log cannot tolerate missing commit files")
TAIL_MISSED = (_STATE, "DELTA_STREAMING_TRAILING_COMMIT_MISSING", "Delta stream detected commits up to version")
ROWS_DELETED = (_UNSUPPORTED, "DELTA_SOURCE_IGNORE_DELETE", "Detected deleted data")
ROWS_CHANGED = (_UNSUPPORTED, "DELTA_SOURCE_TABLE_IGNORE_CHANGES", "Detected a data update")


OF_ITS_RELEASE = ("DELTA_LOG_FILE_NOT_FOUND", "DELTA_EMPTY_DIRECTORY")  # the same, before Delta 4.4 and since


def nothing_to_compare(cause: Raised) -> Raised:
    """Why the table as of the start is not there; the condition is of the comparison, where the cause has none."""
    class_name, condition, message = cause
    return class_name, condition or "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT", message


def expired(release: Release) -> Raised:
    newer = has_delta_4_4(release)
    message = "Delta stream cannot resume from version" if newer else "was expecting process data from version"
    return _STATE, "DELTA_MISSING_FILES_UNEXPECTED_VERSION", message


def snapshot_gone(release: Release) -> Raised:
    if has_delta_4_4(release):
        return _FILE, "DELTA_LOG_FILE_NOT_FOUND", "Unable to retrieve the delta log files"
    return _FILE, "DELTA_EMPTY_DIRECTORY", "No file found in the directory"


def schema_mapped(release: Release) -> Raised:
    """The table's columns have names that their files do not know."""
    kind = "NonAdditive" if release >= since.DELTA_NON_ADDITIVE else "ColumnMapping"
    return (
        f"{_DELTA}.DeltaStreaming{kind}SchemaIncompatibleException",
        "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
        "Streaming read is not supported on tables with read-incompatible schema changes",
    )


def schema_changed(*, started_at_version: bool) -> Raised:
    condition = "DELTA_SCHEMA_CHANGED_WITH_" + ("STARTING_OPTIONS" if started_at_version else "VERSION")
    return _STATE, condition, "Detected schema change in version"


def data_gone(release: Release) -> Raised:
    if release < since.DATA_FILE_CONDITION:
        return "org.apache.spark.SparkFileNotFoundException", "_LEGACY_ERROR_TEMP_2055", "does not exist"
    return FILE_NOT_FOUND, "FAILED_READ_FILE.FILE_NOT_EXIST", "does not exist"


def has_delta_4_4(release: Release) -> bool | None:
    """None: beside older ones. It looks whether the end of a range is there, and words some errors anew."""
    return True if release >= since.DELTA_4_4 else None if release >= since.DELTA_4_4_BESIDE_OLDER else False


# -- what it is recognised by in a log ---------------------------------------------------------------------------------

PRINTED_OF_HOLES = (
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "Could not find any delta files for version",
)
PRINTED_OF_CHANGES = (
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "DELTA_SOURCE_IGNORE_DELETE",
    "DELTA_SCHEMA_CHANGED",
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",
    "Detected schema change in version",
    "Detected a data update",
)
PRINTED_OF_SNAPSHOTS = (
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_EMPTY_DIRECTORY",
    "Trying to load a non-existent version",
    "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT",
)
PRINTED_OF_FEEDS = ("DELTA_MISSING_CHANGE_DATA", "DELTA_INVALID_CDC_RANGE", "Trying to load a non-existent version")
PRINTED_OF_TAILS = ("DELTA_STREAMING_TRAILING_COMMIT_MISSING", "Did not get the last delta file version")
PRINTED_OF_DATA = (
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "SparkFileNotFoundException: File…does not exist",
    "It is possible the underlying files have been updated",
)
