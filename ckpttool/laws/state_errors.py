"""What each release of Spark raises for each thing that can be wrong with state files. Data, and how to look it up.

The names in comments are files of Spark's source, below `sql/core/.../execution/streaming/`, that say so.
"""

from __future__ import annotations

from msgspec import Struct

from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.model import SparkError
from ckpttool.releases import ALWAYS, FOREVER, Release, since
from ckpttool.scene.state_chain import Fault

# -- what is raised ----------------------------------------------------------------------------------------------------

EOF = "java.io.EOFException"
FILE_NOT_FOUND = "java.io.FileNotFoundException"
IO = "java.io.IOException"
NO_SUCH_ELEMENT = "java.util.NoSuchElementException"
NUMBER_FORMAT = "java.lang.NumberFormatException"
SPARK = "org.apache.spark.SparkException"
_PACKAGE = "org.apache.spark."
_LOAD = "CANNOT_LOAD_STATE_STORE."
UNREPAIRED = f"{_LOAD}AUTO_SNAPSHOT_REPAIR_FAILED"


class Raised(Struct, frozen=True):
    """What releases from `since` up to before `until` raise. `class_name` None: what the library below them raises.

    `message`: the part of what the root cause says that is always the same."""

    since: Release
    until: Release
    class_name: str | None
    condition: str | None = None
    message: str = ""


def _changed(first: Release, before: Raised, after: Raised) -> tuple[Raised, ...]:
    return (
        Raised(ALWAYS, first, before.class_name, before.condition, before.message),
        Raised(first, FOREVER, after.class_name, after.condition, after.message),
    )


def _raised(class_name: str | None, condition: str | None = None, message: str = "") -> Raised:
    return Raised(ALWAYS, FOREVER, class_name, condition, message)


def _sizes(condition: str, before: str, message: str) -> tuple[Raised, ...]:
    """A size that no record has; the error got a provisional name first."""
    return (
        Raised(ALWAYS, since.LEGACY_CONDITIONS, IO, None, message),
        Raised(since.LEGACY_CONDITIONS, since.STATE_CONDITIONS, SPARK, before, message),
        Raised(since.STATE_CONDITIONS, FOREVER, SPARK, f"{_LOAD}CANNOT_READ_{condition}", message),
    )


_KEY, _VALUE = "key size cannot be", "value size cannot be"
# Whatever a provider meets while it loads and has no condition of its own for: getLoadedMapForStore in
# state/HDFSBackedStateStoreProvider.scala, getStore in state/RocksDBStateStoreProvider.scala.
UNCATEGORIZED = _changed(since.STATE_CONDITIONS, _raised(None), _raised(None, f"{_LOAD}UNCATEGORIZED"))
_SIZE = _changed(
    since.STATE_CONDITIONS,
    _raised(ILLEGAL_STATE, message="Copied "),
    _raised(SPARK, f"{_LOAD}UNEXPECTED_FILE_SIZE", "Copied "),
)

_PLANNING = (_raised(None),)  # on the driver, where nothing wraps it

# What is met × which kind of file ("": any).
RAISED: dict[tuple[str, str], tuple[Raised, ...]] = {
    # state/HDFSBackedStateStoreProvider.scala: updateFromDeltaFile, readSnapshotFile
    ("missing", ".delta"): _changed(
        since.STATE_CONDITIONS,
        _raised(FILE_NOT_FOUND),
        _raised(FILE_NOT_FOUND, f"{_LOAD}CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
    ),
    ("key-size", ".delta"): _sizes("DELTA_FILE_KEY_SIZE", "_LEGACY_ERROR_TEMP_2258", _KEY),
    ("key-size", ".snapshot"): _sizes("SNAPSHOT_FILE_KEY_SIZE", "_LEGACY_ERROR_TEMP_2259", _KEY),
    ("value-size", ".snapshot"): _sizes("SNAPSHOT_FILE_VALUE_SIZE", "_LEGACY_ERROR_TEMP_2259", _VALUE),
    ("not-a-file", ".snapshot"): (_raised(NO_SUCH_ELEMENT, f"{_LOAD}UNCATEGORIZED"),),  # since it repairs
    # state/StateStoreChangelog.scala
    ("missing", ".changelog"): _changed(
        since.STATE_CONDITIONS,
        _raised(FILE_NOT_FOUND),
        _raised(FILE_NOT_FOUND, f"{_LOAD}CANNOT_READ_STREAMING_STATE_FILE"),
    ),
    ("key-size", ".changelog"): _changed(
        since.STATE_CONDITIONS, _raised(IO, message=_KEY), _raised(IO, f"{_LOAD}UNCATEGORIZED", _KEY)
    ),
    # state/RocksDBFileManager.scala: loadImmutableFilesFromDfs; a directory is copied too, and has a size
    ("size", ".sst"): _SIZE,
    ("not-a-file", ".sst"): _SIZE,
    # RocksDB's exception did not survive the way from the task to the driver at first
    ("stream", ".sst"): _changed(
        since.STATE_CONDITIONS,
        _raised(SPARK, message="Job aborted due to stage failure"),
        _raised(None, f"{_LOAD}UNCATEGORIZED"),
    ),
    # state/RocksDBFileManager.scala: RocksDBCheckpointMetadata.readFromFile
    ("metadata-version", ".zip"): _changed(
        since.STATE_CONDITIONS,
        _raised(ILLEGAL_STATE, message="Cannot read RocksDB checkpoint metadata of version"),
        _raised(SPARK, f"{_LOAD}CANNOT_READ_CHECKPOINT", "Cannot read RocksDB checkpoint metadata. Expected v"),
    ),
    # CheckpointFileManager renames a temporary file to what the batch leaves
    ("blocked", ""): _changed(
        since.STATE_CONDITIONS,
        _raised(IO, message="must both be directories"),
        _raised(IO, "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT", "must both be directories"),
    ),
    # state/RocksDB.scala: loadWithCheckpointId, loadSnapshotWithCheckpointId
    ("no-base", ""): _changed(
        since.REPAIR,
        _raised(SPARK, f"{_LOAD}CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT"),
        _raised(ILLEGAL_STATE, f"{_LOAD}UNCATEGORIZED", "Cannot replay changelogs from snapshot"),
    ),
    # state/StateStoreChangelog.scala: what has no version is taken for version 1, and that for one without a lineage
    ("no-lineage", ""): (
        *(one for one in UNCATEGORIZED if one.until <= since.UNIQUE_IDS),
        Raised(since.UNIQUE_IDS, since.SIDECARS, "java.lang.AssertionError", f"{_LOAD}UNCATEGORIZED", "readLineage"),
        Raised(since.SIDECARS, FOREVER, None, f"{_LOAD}UNCATEGORIZED"),
    ),
    # checkpointing/ChecksumCheckpointFileManager.scala
    ("sidecar", ""): (_raised(SPARK, "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED", "Checksum verification failed"),),
    # state/SchemaHelper.scala, checkpointing/MetadataVersionUtil.scala: the version of a schema file
    ("schema-version", ""): _changed(
        since.STATE_CONDITIONS,
        _raised(ILLEGAL_STATE),
        _raised(f"{_PACKAGE}SparkIllegalStateException", "MALFORMED_LOG_FILE"),
    ),
    # sql/api: DataType.fromJson with LegacyTypeStringParser, which says the same of all that it cannot read
    ("framing", ""): _PLANNING,
    ("metadata", ""): _PLANNING,
    ("not-a-file", "schema"): _PLANNING,
    ("schema", ""): _changed(
        since.DATATYPE_CONDITION,
        _raised("java.lang.IllegalArgumentException", message="Unsupported dataType"),
        _raised(f"{_PACKAGE}SparkIllegalArgumentException", "UNSUPPORTED_DATATYPE", "Unsupported data type"),
    ),
    # datasources/v2/state/StateDataSource.scala, for operators whose metadata has version 2
    ("metadata-missing", ""): (
        _raised(
            f"{_PACKAGE}sql.execution.datasources.v2.state.StateDataSourceReadOperatorMetadataFailure",
            "STDS_FAILED_TO_READ_OPERATOR_METADATA",
            "Failed to read the operator metadata",
        ),
    ),
    # runtime/IncrementalExecution.scala
    ("no-state-directory", ""): (
        _raised(
            f"{_PACKAGE}SparkRuntimeException",
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
            "Cannot restart streaming query with stateful operators",
        ),
    ),
    # Hadoop's ChecksumFs, when Spark writes a file anew whose checksum is still there
    ("orphan-crc", ""): (_raised("org.apache.hadoop.fs.FileAlreadyExistsException", message="Rename destination"),),
}
SAID = {NUMBER_FORMAT: "For input string:", NO_SUCH_ELEMENT: "None.get"}


def what_is_raised(fault: Fault, path: str, release: Release, met: str | None = None) -> tuple[SparkError, str]:
    """The root cause's class and the condition nearest to it, and the fixed part of its message.

    `met`: what Spark meets, where the kind of fault alone does not say it."""
    name = path.rpartition("/")[2]
    suffix = name[name.rfind(".") :] if "." in name else name
    kinds = (met or fault.kind, "missing" if fault.kind == "not-a-file" else "")  # Spark is told that it is not there
    keys = [(kind, ending) for kind in kinds for ending in (suffix, "")]
    table = next((RAISED[key] for key in keys if key in RAISED), UNCATEGORIZED)
    raised = next(one for one in table if one.since <= release < one.until)
    class_name = raised.class_name or (fault.spark.class_name if fault.spark else IO)
    own = fault.spark.condition if fault.spark and raised.class_name is None else None
    condition = raised.condition or (own if release >= since.STATE_CONDITIONS else None)
    return SparkError(class_name, condition), raised.message or SAID.get(class_name, "")


# -- what it is recognised by in a log ---------------------------------------------------------------------------------

PRINTED_OF_ROWS = ("STREAM_STREAM_JOIN_INCONSISTENT_STATE", "block checksum mismatch", "Bad table magic number")
PRINTED_OF_MISSING = (
    "Error reading delta file…does not exist",
    "/state/…does not exist",
    "/state/…(No such file",
    "Error reading delta file",
    "Error reading streaming state file",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
    "NoSuchFileException",
    "CANNOT_LOAD_STATE_STORE",
    "STDS_FAILED_TO_READ_OPERATOR_METADATA",
    "CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT",
    "/state/…(Is a directory)",
)
PRINTED_OF_CORRUPT = (
    "java.io.EOFException…StateStoreProvider",
    "java.io.EOFException…RocksDB",
    "java.io.EOFException",
    "Stream is corrupted",
    "Stream ended prematurely",
    "CANNOT_LOAD_STATE_STORE",
    "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
    "NoSuchFileException…StateStoreId(",
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE",
    "Unexpected end of ZLIB input stream",
    "UNSUPPORTED_DATATYPE",
    "Unsupported dataType",
    "UTFDataFormatException",
    "ChecksumException",
    "org.rocksdb.RocksDBException",
    "zstd.ZstdIOException",
    "key size cannot be",
    "value size cannot be",
    "IllegalStateException: Copied",
    "Log file was malformed: failed to read correct log version from",
    "Log file was malformed",
    "/state/…(Is a directory)",
    "readLineage",
    "MalformedInputException",
    "maximum supported log version is",
    "INVALID_LOG_VERSION",
    "STDS_FAILED_TO_READ_OPERATOR_METADATA",
    "Cannot read RocksDB checkpoint metadata",
    "MappingException",
    "Cannot replay changelogs from snapshot",
    "BufferUnderflowException",
    "snappy.SnappyError",
    "MismatchedInputException",
    "JsonEOFException",
    "JsonParseException",
)
PRINTED_OF_MISNAMED = (
    "/state/…does not exist",
    "NumberFormatException: For input string",
    "NoSuchElementException: None.get",
)
PRINTED_OF_BLOCKED = (
    "must both be directories",
    "CANNOT_WRITE_STATE_STORE",
    "Rename destination…/state/…already exists",
)
