"""The glossary: what a checkpoint is made of, as frozen values. Parsers make them, everything else reads them.

Names are Spark's own: batch, offset log, commit log, operator, partition, state version, watermark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

Json = Any  # what json.loads returns: None, bool, int, float, str, list, dict
Severity = Literal["error", "warning", "info"]
Mode = Literal["microbatch", "async", "continuous", "realtime", "dstreams"]


class Position(Struct, frozen=True):
    """A place in a file: 1-based line, 0-based byte within that line (or within the file where it has no lines)."""

    line: int | None = None
    byte: int | None = None


class SparkError(Struct, frozen=True):
    """What Spark raises when it meets this: the root cause's class, and its error condition where it has one."""

    class_name: str
    condition: str | None = None


class Finding(Struct, frozen=True):
    """Something about the checkpoint that a person should know. `id` is stable and documented in docs/findings.md.
    `subject`: whose it is, where several at one path have the same id."""

    id: str
    severity: Severity
    path: str
    message: str
    expected: str | None = None
    next_step: str | None = None
    position: Position | None = None
    spark: SparkError | None = None
    subject: str = ""


class VersionRange(Struct, frozen=True):
    """Which Spark releases could have written what we see; None where the evidence has no bound."""

    min: str | None
    max: str | None
    evidence: tuple[str, ...] = ()


class QueryMetadata(Struct, frozen=True):
    """The file `metadata`: the identity that sinks use to recognise the query's batches."""

    id: str
    unknown_fields: tuple[str, ...] = ()


# -- the two logs ------------------------------------------------------------------------------------------------------


class SourceOffset(Struct, frozen=True):
    """One source's line in `offsets/<batch>`: text verbatim, None where the source had no offset yet (`-`).

    `name` is the key of an OffsetMap line (log version 2): the position, or the source's name."""

    index: int
    name: str | None
    text: str | None


class OffsetMetadata(Struct, frozen=True):
    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str]
    unknown_fields: Mapping[str, Json] = {}


class OffsetLogEntry(Struct, frozen=True):
    """`offsets/<batch>`: the end offsets of a planned batch. No metadata: written by continuous processing."""

    batch_id: int
    version: int
    metadata: OffsetMetadata | None
    sources: tuple[SourceOffset, ...]


class SinkCommit(Struct, frozen=True):
    """One sink in a version 3 commit."""

    name: str
    commit_offset: str
    provider: str
    api_version: str
    is_active: bool


class CommitLogEntry(Struct, frozen=True):
    """`commits/<batch>`: the batch is finished. `state_unique_ids`: operator → partition → ids of its stores."""

    batch_id: int
    version: int
    next_watermark_ms: int | None
    state_unique_ids: Mapping[int, tuple[tuple[str, ...], ...]] | None = None
    sinks: tuple[SinkCommit, ...] = ()


class LogNames(Struct, frozen=True):
    """The names in one log directory, sorted out by what Spark makes of them.

    `ids` ascends and holds canonical names only; with `compact_ids` the log is a file source's or a file sink's.
    `unlisted_below`: lower names were not listed, and that none is higher than the last was not proved. `without_crc`:
    files that lack the checksum which Hadoop's local file system left beside an earlier one."""

    ids: Sequence[int] = ()
    compact_ids: tuple[int, ...] = ()
    non_canonical: tuple[str, ...] = ()
    temporary: tuple[str, ...] = ()
    orphan_crcs: tuple[str, ...] = ()
    checksums: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    unlisted_below: int | None = None
    without_crc: tuple[str, ...] = ()

    @property
    def last(self) -> int | None:
        return self.ids[-1] if self.ids else None

    @property
    def others(self) -> tuple[str, ...]:
        """What is no batch's file."""
        return (
            *(f"{number}.compact" for number in self.compact_ids),
            *self.non_canonical,
            *self.temporary,
            *self.orphan_crcs,
            *self.checksums,
            *self.foreign,
            *self.directories,
        )

    @property
    def first(self) -> int | None:
        return self.ids[0] if self.ids else None


# -- what sources and sinks keep ---------------------------------------------------------------------------------------


class FileLogEntry(Struct, frozen=True):
    """One input file in `sources/<n>/<id>` (file source): `batch_id` is the log's own id, not the query's batch."""

    path: str
    timestamp_ms: int
    batch_id: int


class SinkFileEntry(Struct, frozen=True):
    """One output file in `_spark_metadata/<batch>` (file sink)."""

    path: str
    size_bytes: int
    modified_ms: int
    is_directory: bool = False
    block_replication: int = 0
    block_size: int = 0
    action: str = "add"


class InitialOffset(Struct, frozen=True):
    """`sources/<n>/0` of Kafka, Event Hubs, rate and others: where the query began."""

    version: int | None
    text: str
    leading_byte: int | None


# -- checksum files ----------------------------------------------------------------------------------------------------


class HadoopCrc(Struct, frozen=True):
    """`.<name>.crc` of Hadoop's local file system: one CRC-32 for each chunk of the file beside it."""

    chunk_bytes: int
    checksums: tuple[int, ...]


class SparkChecksum(Struct, frozen=True):
    """`<name>.crc`, Spark's own sidecar of a state file (4.1+): `value` is signed and covers the whole stored file."""

    algorithm: str
    value: int
    main_file_bytes: int
    timestamp_ms: int
    executor_id: str
    task_info: str


# -- DStreams, before Structured Streaming -----------------------------------------------------------------------------


class DStreamCheckpoint(Struct, frozen=True):
    """The `checkpoint-<ms>` files of a StreamingContext: batch times, ascending; `backup_times_ms` have a `.bk`."""

    times_ms: tuple[int, ...]
    backup_times_ms: tuple[int, ...]

    @property
    def interval_ms(self) -> int | None:
        """The batch interval: the smallest step, because a stopped application leaves longer ones."""
        return min((later - earlier for earlier, later in pairwise(self.times_ms)), default=None)

    @property
    def last_ms(self) -> int | None:
        return self.times_ms[-1] if self.times_ms else None


class WalSegment(Struct, frozen=True):
    """`log-<start>-<stop>`: the records a write-ahead log of DStreams took in that span."""

    start_ms: int
    stop_ms: int


class DStreamsDirectory(Struct, frozen=True):
    """A StreamingContext's checkpoint directory, as far as names and first bytes tell."""

    checkpoints: DStreamCheckpoint
    codec: str | None = None
    receiver_streams: tuple[str, ...] = ()
    block_log: tuple[WalSegment, ...] = ()
    rdd_directories: tuple[str, ...] = ()


# -- state, as far as names and headers tell ---------------------------------------------------------------------------


class StoreMetadata(Struct, frozen=True):
    """One store of `state/<operator>/_metadata`."""

    name: str
    partitions: int
    prefix_key_columns: int = 0
    schema_paths: tuple[str, ...] = ()


class OperatorMetadata(Struct, frozen=True):
    """`state/<operator>/_metadata/metadata` (v1) or `_metadata/v2/<batch>` (v2), since Spark 4.0."""

    version: int
    operator_id: int
    name: str
    stores: tuple[StoreMetadata, ...]
    properties: Mapping[str, Json] = {}


class ColumnFamilySchema(Struct, frozen=True):
    """Key and value schema of one column family, as Spark's JSON."""

    name: str
    key: Json
    value: Json
    key_schema_id: int = 0
    value_schema_id: int = 0
    encoder: Json = None
    user_key: Json = None


class StateSchema(Struct, frozen=True):
    """The header of a state schema file: version 1 (3.1), 2 (3.2) or 3 (4.0)."""

    version: int
    column_families: tuple[ColumnFamilySchema, ...]


# -- the checkpoint as a whole -----------------------------------------------------------------------------------------


class ShardCommits(Struct, frozen=True):
    """How far the tasks of a batch came in the shards of a Kinesis stream, by the connector's own count of batches.

    `shards`: by the name of its file what its connector raises for it, if anything; None: the batch has no directory.
    `path`: of that."""

    path: str
    batch: int
    shards: Mapping[str, SparkError | None] | None


class SourceLog(Struct, frozen=True):
    """What a source keeps under `sources/<name>`. `kind`: what the files prove it to be, None if they do not.

    `entries` holds the newest files of a file source's log, by log id; `unread`: how many more Spark reads.
    `shard_commits`: of a Kinesis source, those of its newest batch."""

    name: str
    kind: str | None
    names: LogNames
    initial: InitialOffset | None = None
    entries: Mapping[int, tuple[FileLogEntry, ...]] = {}
    unread: int = 0
    shard_commits: ShardCommits | None = None


class OperatorStore(Struct, frozen=True):
    name: str
    partitions: int | None
    provider: str | None
    schema: StateSchema | None = None


class Operator(Struct, frozen=True):
    """A directory `state/<id>`. `name` None: written before Spark 4.0, and the stores do not give it away.

    `versions`: those that partition 0 of the first store has files of; batch N writes version N+1."""

    id: int
    name: str | None
    stores: tuple[OperatorStore, ...]
    metadata: OperatorMetadata | None = None
    partition_directories: int = 0
    versions: tuple[int, ...] = ()


class SinkLedger(Struct, frozen=True):
    """A sink's own record of batches, found beside the checkpoint. `keyed`: it names this query by its id."""

    kind: str
    path: str
    last_batch: int | None
    keyed: bool
    note: str


class Checkpoint(Struct, frozen=True):
    """Everything read from one checkpoint directory. `faults` are the files that could not be read or understood.

    `offsets` and `commits` hold the newest batches; the `*_names` cover all. `modified_ms` is by path. `unfinished`:
    the plan that `ckpt apply` has begun here and not ended, or its lock."""

    url: str
    metadata: QueryMetadata | None
    root_names: tuple[str, ...] = ()
    offset_names: LogNames = LogNames()
    commit_names: LogNames = LogNames()
    offsets: Mapping[int, OffsetLogEntry] = {}
    commits: Mapping[int, CommitLogEntry] = {}
    source_logs: tuple[SourceLog, ...] = ()
    operators: tuple[Operator, ...] = ()
    has_state_directory: bool = False
    ledgers: tuple[SinkLedger, ...] = ()
    modified_ms: Mapping[str, int] = {}
    raw: Mapping[str, bytes] = {}
    faults: tuple[Finding, ...] = ()
    unreachable: bool = False
    dstreams: DStreamsDirectory | None = None
    unfinished: str | None = None

    @property
    def last_offset_batch(self) -> int | None:
        return self.offset_names.last

    @property
    def last_commit_batch(self) -> int | None:
        return self.commit_names.last
