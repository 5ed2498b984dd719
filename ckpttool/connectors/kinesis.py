"""Amazon Kinesis, in three formats that have nothing to do with each other.

- awslabs spark-sql-kinesis-connector: `{"metadata":{"batchId":"7","streamName":"s"},"<shard>":{"iteratorType":…,
  "iteratorPosition":…,"subSequenceNumber":…,"isLast":…}}`, all strings.
- qubole kinesis-sql and its forks: the same without the last two fields.
- Databricks: an array of `{"shard":{"stream":…,"shardId":…},"firstSeqNum":…,"lastSeqNum":…,…}`; closed source.

In the first two the line of batch N holds the START of batch N: its ends are written by the tasks, under `sources/<n>/`
in `shard-source/<N>/` (awslabs) or `shard-commit/<N>/` (qubole). `batchId` is the connector's own counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order, missing_in, order_of_parts, went_down
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats.envelope import ILLEGAL_STATE, MAPPING, parse_json_object
from ckpttool.formats.names import parse_long
from ckpttool.formats.values import decode_utf8
from ckpttool.model import Json, SparkError
from ckpttool.words import counted, shown

KIND = "kinesis"
OPTIONS = Options(
    each=(
        "kinesis.region kinesis.endpointUrl kinesis.streamName kinesis.consumerType kinesis.consumerName "
        "kinesis.failOnDataLoss kinesis.maxFetchRecordsPerShard kinesis.maxFetchTimePerShardSec "
        "kinesis.describeShardInterval kinesis.minBatchesToRetain kinesis.checkNewRecordThreads "
        "kinesis.metadataCommitterType kinesis.metadataPath kinesis.metadataNumRetries "
        "kinesis.metadataRetryIntervalsMs kinesis.metadataMaxRetryIntervalMs kinesis.clientNumRetries "
        "kinesis.clientRetryIntervalsMs kinesis.clientMaxRetryIntervalMs kinesis.stsRoleArn kinesis.stsSessionName "
        "kinesis.stsEndpointUrl kinesis.awsAccessKeyId kinesis.awsSecretKey kinesis.sessionToken "
        "kinesis.credentialProviderClass kinesis.credentialProviderParam kinesis.kinesisRegion "
        # qubole's, for the source; what begins with `kinesis.` is for its tasks
        "streamName endpointUrl regionName awsAccessKeyId awsSecretKey sessionToken awsSTSRoleARN awsSTSSessionName "
        "awsUseInstanceProfile failOnDataLoss"
    ),
    first="kinesis.startingPosition startingPosition",
    prefixes=(
        "kinesis.executor.",
        "kinesis.client.",
        "kinesis.internal.",
        "kinesis.dynamodb.",
        "kinesis.subscribeToShard.",
        "kinesis.getRecords.",
        "kinesis.sink.",
    ),
)
EXAMPLES: tuple[str, ...] = (
    '{"metadata":{"batchId":"7","streamName":"s"},"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER",'
    '"iteratorPosition":"49605240428222307037115827613554798409561082419642105858","subSequenceNumber":"-1",'
    '"isLast":"true"}}',
    '{"metadata":{"batchId":"8","streamName":"s"},"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER",'
    '"iteratorPosition":"49605240428222307037115827613554798409561082419642105860"}}',
    '{"metadata":{"batchId":"0","streamName":"s"},"shardId-000000000000":{"iteratorType":"TRIM_HORIZON",'
    '"iteratorPosition":""}}',
    '[{"shard":{"stream":"s","shardId":"shardId-000000000000"},"firstSeqNum":"4960","lastSeqNum":"4970",'
    '"closed":false,"msBehindLatest":"0","lastRecordSeqNum":"4970"}]',
)

ITERATORS = ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "SHARD_END")
LONGEST_SEQUENCE_NUMBER = 129  # digits, by the service's own definition
NOT_COUNTED = "the line holds where its batch begins. What was read is under sources/<n>, written by the tasks"
# Below `sources/<n>`, by connector: awslabs, qubole. A directory for each batch, in it a file for each shard.
OF_AWSLABS, OF_QUBOLE = "shard-source", "shard-commit"
SHARD_COMMITS = (OF_AWSLABS, OF_QUBOLE)
WHOLE_RECORD = 2**64  # above every sub-sequence number: the aggregated record is finished


class KinesisOffset(Offset, frozen=True):
    """`shards`: shard → the fields of its position, by name, as written."""

    kind: ClassVar[str] = KIND
    batch_id: str
    stream: str
    shards: Mapping[str, Mapping[str, str]]

    @property
    def number(self) -> int | None:
        """The connector's own count of batches; None before the first."""
        number = parse_long(self.batch_id)
        return None if number is None or number < 0 else number

    @property
    def open_shards(self) -> list[str]:
        """Those that the batch reads."""
        return [shard for shard, fields in self.shards.items() if fields["iteratorType"] != "SHARD_END"]

    def reads(self) -> tuple[str, ...]:
        return (self.stream,)

    def summary(self) -> str:
        return f"{shown(self.stream)} {counted(len(self.shards), 'shard')}, start of its batch {shown(self.batch_id)}"

    def order_to(self, other: Self) -> Order:
        if other.stream != self.stream:
            return Order.UNKNOWN
        if self.shards == other.shards:
            return Order.EQUAL
        one, two = self._ranks(), other._ranks()
        if len(one) < len(self.shards) or len(two) < len(other.shards):
            return Order.UNKNOWN
        return order_of_parts(one, two)

    def first_step(self) -> OffsetStep:
        return OffsetStep(None, self.unit, note=NOT_COUNTED, added=tuple(self.shards))

    def step_since(self, start: Self) -> OffsetStep:
        return OffsetStep(
            None,
            self.unit,
            note=NOT_COUNTED,
            parts=dict.fromkeys(self.shards),
            backwards=went_down(start._ranks(), self._ranks()),
            added=missing_in(start.shards, self.shards),
            gone=missing_in(self.shards, start.shards),
        )

    def details(self) -> list[tuple[str, str]]:
        return [(shown(shard), _position_in_words(fields)) for shard, fields in self.shards.items()]

    def problems(self) -> list[str]:
        return [
            f"{shown(shard)}: {shown(fields['iteratorType'])} without a sequence number"
            for shard, fields in self.shards.items()
            if fields["iteratorType"].endswith("_SEQUENCE_NUMBER") and _rank(fields) is None
        ]

    def _ranks(self) -> dict[str, tuple[int, ...]]:
        """The shards whose position can be compared: a time and "latest" cannot."""
        ranks = {shard: _rank(fields) for shard, fields in self.shards.items()}
        return {shard: rank for shard, rank in ranks.items() if rank is not None}


class DatabricksKinesisOffset(Offset, frozen=True):
    """`shards`: stream and shard → the fields of its position, by name, as written."""

    kind: ClassVar[str] = KIND
    shards: Mapping[str, Mapping[str, str]]

    def summary(self) -> str:
        return f"{counted(len(self.shards), 'shard')} (Databricks)"

    def order_to(self, other: Self) -> Order:
        return Order.EQUAL if other.shards == self.shards else Order.UNKNOWN

    def step_since(self, start: Self) -> OffsetStep:
        return self.uncountable_step(start, "sequence numbers do not count rows", "lastSeqNum")

    def details(self) -> list[tuple[str, str]]:
        return [
            (shown(shard), ", ".join(f"{shown(name)} {shown(field)}" for name, field in fields.items()))
            for shard, fields in self.shards.items()
        ]


def refused_shard_commit(body: bytes | CkptError) -> SparkError | None:
    """What its connector raises for the file of a shard, by json4s: it has its own fields, and any more."""
    try:
        if isinstance(body, CkptError):
            raise body
        fields = parse_json_object(decode_utf8(body))
    except CkptError as error:
        return (error.spark if isinstance(error, MalformedFile) else None) or SparkError(ILLEGAL_STATE)
    names = ("shardId", "iteratorType", "iteratorPosition")
    return None if all(isinstance(fields.get(name), str) for name in names) else SparkError(MAPPING)


def parse_offset(value: Json, text: str, hint: str | None) -> Offset | None:  # noqa: ARG001
    if isinstance(value, dict):
        return _parse_open_format(value)
    return _parse_databricks_format(value) if isinstance(value, list) else None


def _parse_open_format(value: dict[str, Json]) -> KinesisOffset | None:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or len(value) == 1:
        return None
    batch_id, stream = metadata.get("batchId"), metadata.get("streamName")
    if not isinstance(batch_id, str) or not isinstance(stream, str):
        return None
    shards = {shard: fields for shard, fields in sorted(value.items(), key=_name) if shard != "metadata"}
    return KinesisOffset("certain", batch_id, stream, shards) if all(map(_is_position, shards.values())) else None


def _parse_databricks_format(value: list[Json]) -> DatabricksKinesisOffset | None:
    shards = {}
    for position in value:
        shard = position.get("shard") if isinstance(position, dict) else None
        if not isinstance(shard, dict) or "firstSeqNum" not in position:
            return None
        name = f"{_scalar(shard.get('stream'))} {_scalar(shard.get('shardId'))}"
        shards[name] = {field: _scalar(content) for field, content in position.items() if field != "shard"}
    return DatabricksKinesisOffset("certain", shards) if shards else None


def _name(item: tuple[str, Json]) -> str:
    return item[0]


def _scalar(content: Json) -> str:
    """As text; something nested is only named, its depth is not ours to walk."""
    return type(content).__name__ if isinstance(content, dict | list) else str(content)


def _is_position(fields: Json) -> bool:
    if not isinstance(fields, dict) or not all(isinstance(field, str) for field in fields.values()):
        return False
    return fields.get("iteratorType") in ITERATORS and "iteratorPosition" in fields


def _rank(fields: Mapping[str, str]) -> tuple[int, ...] | None:
    """A shard's position as numbers that sort; sequence numbers are far beyond 64 bits."""
    iterator, position = fields["iteratorType"], fields["iteratorPosition"]
    if iterator == "TRIM_HORIZON":
        return (0,)
    if iterator == "SHARD_END":
        return (2,)
    if not iterator.endswith("_SEQUENCE_NUMBER") or not _is_number(position, LONGEST_SEQUENCE_NUMBER):
        return None
    if iterator == "AT_SEQUENCE_NUMBER":
        return (1, int(position), 0)
    return (1, int(position), 1, _taken_of_record(fields))


def _taken_of_record(fields: Mapping[str, str]) -> int:
    sub_sequence = fields.get("subSequenceNumber", "")
    if fields.get("isLast", "true") == "true" or not _is_number(sub_sequence, 19):
        return WHOLE_RECORD
    return int(sub_sequence)


def _is_number(text: str, longest: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= longest


def _position_in_words(fields: Mapping[str, str]) -> str:
    words = [shown(fields["iteratorType"]), shown(fields["iteratorPosition"], 140)]
    if fields.get("isLast") == "false":
        words.append(f"sub-sequence {shown(fields.get('subSequenceNumber', ''))}")
    return " ".join(word for word in words if word)
