"""What the Delta source says when it does not go on, release by release, and what to do then. Pure."""

from __future__ import annotations

from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import FILE_NOT_FOUND, Complaint
from ckpttool.releases import Release, since

_DELTA = "org.apache.spark.sql.delta"
_STATE, _FILE = f"{_DELTA}.DeltaIllegalStateException", f"{_DELTA}.DeltaFileNotFoundException"
_UNSUPPORTED = f"{_DELTA}.DeltaUnsupportedOperationException"
_ANEW = "start with a new checkpoint, and see to it that what was read already is not read again"
_RESTORE_LOG = "restore the missing files of _delta_log; nobody can read the table without them"
_HOLE, _CHANGED = "delta-log-hole", "delta-source-schema-or-updates"


NO_TABLE = Complaint(
    f"{_DELTA}.DeltaAnalysisException",
    "DELTA_SCHEMA_NOT_SET",
    "Table schema is not set",
    "delta-source-table-gone",
    "restore the table, or start with a new checkpoint once there is one",
)
OTHER_TABLE = Complaint(
    _STATE,
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
    "The streaming query was reading from an unexpected Delta table",
    "delta-source-table-id-changed",
    _ANEW,
)
LOG_CUT_OFF = Complaint(_FILE, "DELTA_TRUNCATED_TRANSACTION_LOG", "Unable to reconstruct state", _HOLE, _RESTORE_LOG)
LOG_WITH_HOLE = Complaint(_STATE, "DELTA_VERSIONS_NOT_CONTIGUOUS", "are not contiguous", _HOLE, _RESTORE_LOG)
COMMIT_GONE = Complaint(ILLEGAL_STATE, None, "Could not find any delta files for version", _HOLE, _RESTORE_LOG)
TAIL_MISSED = Complaint(
    _STATE,
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
    "Delta stream detected commits up to version",
    "delta-trailing-commit-missed",
    f"bring the newer log back, or {_ANEW}",
)
ROWS_DELETED = Complaint(
    _UNSUPPORTED,
    "DELTA_SOURCE_IGNORE_DELETE",
    "Detected deleted data",
    _CHANGED,
    "set ignoreDeletes=true if the stream may go on without passing that on",
)
ROWS_CHANGED = Complaint(
    _UNSUPPORTED,
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "Detected a data update",
    _CHANGED,
    "set skipChangeCommits=true if the stream may leave such commits out",
)


def expired(release: Release) -> Complaint:
    newer = has_delta_4_4(release)
    return Complaint(
        _STATE,
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        "Delta stream cannot resume from version" if newer else "was expecting process data from version",
        "delta-log-expired",
        "start with a new checkpoint, or go on without those rows by failOnDataLoss=false",
    )


def snapshot_gone(release: Release) -> Complaint:
    condition = "DELTA_LOG_FILE_NOT_FOUND" if has_delta_4_4(release) else "DELTA_EMPTY_DIRECTORY"
    message = "Unable to retrieve the delta log files" if has_delta_4_4(release) else "No file found in the directory"
    return Complaint(_FILE, condition, message, "delta-initial-snapshot-gone", _ANEW)


def schema_changed(release: Release, *, mapped: bool, started_at_version: bool) -> Complaint:
    """`mapped`: the table's columns have names that their files do not know."""
    if mapped:
        kind = "NonAdditive" if release >= since.DELTA_NON_ADDITIVE else "ColumnMapping"
        return Complaint(
            f"{_DELTA}.DeltaStreaming{kind}SchemaIncompatibleException",
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
            "Streaming read is not supported on tables with read-incompatible schema changes",
            _CHANGED,
            "give the source a schemaTrackingLocation below the checkpoint",
        )
    condition = "DELTA_SCHEMA_CHANGED_WITH_" + ("STARTING_OPTIONS" if started_at_version else "VERSION")
    return Complaint(_STATE, condition, "Detected schema change in version", _CHANGED, _ANEW)


def data_gone(release: Release) -> Complaint:
    legacy = release < since.DATA_FILE_CONDITION
    return Complaint(
        "org.apache.spark.SparkFileNotFoundException" if legacy else FILE_NOT_FOUND,
        "_LEGACY_ERROR_TEMP_2055" if legacy else "FAILED_READ_FILE.FILE_NOT_EXIST",
        "does not exist",
        "delta-source-data-gone",
        "restore the files, or go on without their rows by spark.sql.files.ignoreMissingFiles=true",
    )


def has_delta_4_4(release: Release) -> bool | None:
    """None: beside older ones. It looks whether the end of a range is there, and words some errors anew."""
    return True if release >= since.DELTA_4_4 else None if release >= since.DELTA_4_4_BESIDE_OLDER else False
