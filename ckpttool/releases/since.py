"""What changed in which release of Spark: each name is a change, its value the first release that has it. Data.

What is asked of a release is asked by these names: `release >= since.SIDECARS`. Files and classes are Spark's, those of
state below `sql/core/.../execution/streaming/`; where none is given, recorded restarts or written files showed it.
"""

from __future__ import annotations

from ckpttool.releases import Release

# -- offset log and commit log -----------------------------------------------------------------------------------------

PINNED_CONFS: Release = (2, 2, 0)  # offsets pin configurations; 2.1 pins none
EMPTY_COMMITS: Release = (2, 2, 0)  # commits are logged; they hold nothing yet
CONTINUOUS: Release = (2, 3, 0)  # continuous processing, whose offsets have an empty metadata line
NEXT_WATERMARK: Release = (2, 4, 0)  # a commit holds the watermark of the batch after it
ONE_COMMIT: Release = (3, 1, 0)  # MicroBatchExecution: the commit log's answer is looked at, a second commit refused
CONFLICT_CONDITION: Release = (3, 5, 0)  # a second commit or plan of a batch fails as CONCURRENT_STREAM_LOG_UPDATE
LOG_CONDITIONS: Release = (4, 0, 0)  # errors/QueryExecutionErrors.scala: what is wrong in a log has a condition
COMMITS_2: Release = (4, 0, 0)  # version 2 of commits, with ids of state; a session reads the version it asks for alone
COMMITS_3: Release = (4, 2, 0)  # version 3 of commits; all versions up to it are read
COMMITS_OVERRULE: Release = (4, 3, 0)  # CheckpointVersionManager: the newest commit's version wins over the session's
OFFSETS_2: Release = (4, 2, 0)  # OffsetMap: version 2 of offsets, which names the sources
NAMES_REFUSED: Release = (4, 3, 0)  # names of sources that come to a checkpoint without have a condition of their own

# Conf in the offset log → the first release that pins it.
PINNED: dict[str, Release] = {
    "spark.sql.shuffle.partitions": (2, 2, 0),
    "spark.sql.streaming.stateStore.providerClass": (2, 3, 0),
    "spark.sql.streaming.multipleWatermarkPolicy": (2, 4, 0),
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": (2, 4, 0),
    "spark.sql.streaming.aggregation.stateFormatVersion": (2, 4, 0),
    "spark.sql.streaming.join.stateFormatVersion": (3, 0, 0),
    "spark.sql.streaming.stateStore.compression.codec": (3, 1, 0),
    "spark.sql.streaming.stateStore.rocksdb.formatVersion": (3, 2, 0),
    "spark.sql.streaming.statefulOperator.useStrictDistribution": (3, 2, 2),
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": (3, 5, 5),
    "spark.sql.streaming.stateStore.encodingFormat": (4, 0, 0),
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": (4, 2, 0),
    "spark.sql.streaming.stateStore.rowChecksum.enabled": (4, 2, 0),
    "spark.sql.function.protobufExtensions.enabled": (4, 2, 0),
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": (4, 2, 0),
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": (4, 3, 0),
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": (4, 3, 0),
}
MISNAMED_CONF: Release = (3, 5, 4)  # this release alone pins pruneFilters… under a wrong name

# -- how a query starts ------------------------------------------------------------------------------------------------

ADAPTIVE_STATELESS: Release = (4, 1, 0)  # MicroBatchExecution: adaptive execution stays on for stateless queries
STATE_PARTITIONS: Release = (4, 1, 0)  # OffsetSeq.scala, rebindSQLConfs: the partitions of state alone are pinned
SCALA_2_13: Release = (4, 0, 0)  # collections answer otherwise; before, PyPI has those of Scala 2.12
EMPTY_LOCATION: Release = (4, 1, 0)  # MicroBatchExecution.verifyCheckpointDirectoryEmptyOnStart
REAL_TIME: Release = (4, 1, 0)  # Trigger.RealTime
ASYNC_PROGRESS: Release = (3, 4, 0)  # AsyncProgressTrackingMicroBatchExecution
PATH_NOT_FOUND: Release = (3, 4, 0)  # the condition of a path that does not exist
INVALID_CONF_VALUE: Release = (4, 1, 0)  # the condition of a configuration's impossible value
METADATA_WANTED: Release = (4, 2, 0)  # StreamingQueryCheckpointMetadata: no new id beside logs that hold batches
LOGS_FIRST: Release = (4, 2, 0)  # the newest offsets and commit are read before the sources' own logs, not after them
COMMITS_ALONE: Release = (4, 2, 0)  # CheckpointVersionManager: commits are read even where there are no offsets
JOIN_STATE_3: Release = (4, 1, 0)  # SQLConf.scala: a session takes version 3 of the state of joins
JOIN_STATE_4: Release = (4, 2, 0)  # and version 4
REPARTITION: Release = (4, 2, 0)  # OfflineStateRepartitionUtils: an uncommitted batch is compared with the one before
REPARTITION_OF_UNPINNED: Release = (4, 2, 1)  # and passes if one of them pins no number of partitions

# -- how errors are worded ---------------------------------------------------------------------------------------------

DATATYPE_CONDITION: Release = (3, 3, 0)  # errors/QueryExecutionErrors.scala, dataTypeUnsupportedError
ASSERTIONS_WRAPPED: Release = (3, 3, 0)  # INTERNAL_ERROR is around every assertion that fails
ASSERTIONS_BARE: Release = (3, 4, 0)  # and no longer
WRITES_ABORTED: Release = (3, 3, 0)  # WRITING_JOB_ABORTED is around failed tasks of sinks with writers of version 2
LEGACY_CONDITIONS: Release = (3, 4, 0)  # errors/QueryExecutionErrors.scala: provisional names, _LEGACY_ERROR_TEMP_…
TASK_WRITES_FAILED: Release = (3, 4, 0)  # TASK_WRITE_FAILED is around failed tasks of sinks that write files
TASK_WRITES_BARE: Release = (4, 0, 0)  # and no longer
CODEC_CONDITION: Release = (3, 5, 0)  # CODEC_NOT_AVAILABLE
CODEC_SUGGESTION: Release = (4, 0, 0)  # CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION

# -- state -------------------------------------------------------------------------------------------------------------

SCHEMA_FILES: Release = (3, 1, 0)  # state/StateSchemaCompatibilityChecker.scala
ROCKSDB: Release = (3, 2, 0)  # state/RocksDBStateStoreProvider.scala
CHANGELOGS: Release = (3, 5, 0)  # state/StateStoreChangelog.scala
STATE_CONDITIONS: Release = (4, 0, 0)  # errors of state loading have conditions
UNIQUE_IDS: Release = (4, 0, 0)  # state/RocksDB.scala, loadWithCheckpointId
OPERATOR_METADATA: Release = (4, 0, 0)  # state/OperatorStateMetadata.scala
TRANSFORM_WITH_STATE: Release = (4, 0, 0)  # operators with variables of their own
VALUE_SCHEMA_CONDITION: Release = (4, 0, 0)  # STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE
COMMIT_VALIDATION: Release = (4, 1, 0)  # after each batch Spark asks whether all state was committed
ONE_VERSION: Release = (4, 1, 0)  # state/RocksDBFileManager.scala: of a snapshot's description, whatever the format
SIDECARS: Release = (4, 1, 0)  # checkpointing/ChecksumCheckpointFileManager.scala: of all files
SIDECARS_WITH_IDS: Release = (4, 2, 0)  # state/StateStoreConf.scala: only where files have unique ids
REPAIR: Release = (4, 2, 0)  # state/AutoSnapshotLoader.scala; its configuration claims 4.1, where nothing reads it
STATE_DIRECTORY: Release = (4, 2, 0)  # runtime/IncrementalExecution.scala, checkOperatorValidWithMetadata

# Version of a state schema file → the first release that writes it.
SCHEMA_VERSIONS: dict[int, Release] = {1: (3, 1, 0), 2: (3, 2, 0), 3: (4, 0, 0)}

# -- sources and sinks -------------------------------------------------------------------------------------------------

SOURCE_NOT_FOUND: Release = (3, 4, 0)  # DATA_SOURCE_NOT_FOUND, of a source that nobody has
SINK_LOG_CONDITION: Release = (3, 5, 0)  # BATCH_METADATA_NOT_FOUND, of a compaction of _spark_metadata
MALFORMED_RECORD: Release = (3, 5, 0)  # MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION: JSON that is none
SOURCE_LOG_ENTRY_OPENED: Release = (3, 4, 0)  # an entry of a source's log that only its name promises: file not found
SOURCE_LOG_HOLE_OPENED: Release = (4, 2, 0)  # the same of an entry between others

# -- Kafka -------------------------------------------------------------------------------------------------------------

KAFKA_IDLES: Release = (3, 3, 2)  # SPARK-41375: before, an offset without partitions was logged
KAFKA_ADMIN: Release = (3, 4, 0)  # offsets are asked of an admin client, not of a consumer
# In either line from SPARK-41387 to SPARK-53560: a batch that runs again is held against offsets fetched at the start.
KAFKA_REPLAY_VERIFIED: tuple[tuple[Release, Release], ...] = (((3, 4, 0), (3, 5, 7)), ((4, 0, 0), (4, 0, 2)))
# In either line as long as Trigger.AvailableNow prepares by reading where the source began, at every start.
KAFKA_BEGINNING_READ: tuple[tuple[Release, Release], ...] = (((3, 3, 0), (3, 5, 7)), ((4, 0, 0), (4, 0, 2)))
KAFKA_RECORDS_PER_PARTITION: Release = (4, 0, 0)  # SPARK-49259: before, nobody reads maxRecordsPerPartition
KAFKA_LOSS_CONDITIONS: Release = (4, 0, 0)  # losses of data have conditions, KAFKA_DATA_LOSS

# -- Iceberg, by the Spark that it is built for ------------------------------------------------------------------------

ICEBERG_1_11: Release = (4, 1, 0)  # no older Iceberg is built for it; it prepares Trigger.AvailableNow by itself

# -- Delta, by the Spark that it is built for --------------------------------------------------------------------------

DELTA_NON_ADDITIVE: Release = (4, 0, 0)  # a changed schema of mapped columns is NonAdditive, before ColumnMapping
DATA_FILE_CONDITION: Release = (4, 0, 0)  # a data file that is gone: FAILED_READ_FILE.FILE_NOT_EXIST
DELTA_4_4_BESIDE_OLDER: Release = (4, 0, 1)  # Delta 4.4 is built for it, and older Deltas are as well
DELTA_4_4: Release = (4, 2, 0)  # no older Delta is built for it; it looks whether the end of a range is there
