"""The configuration that the newest offsets pin: forced on the session, and then on the state."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.formats import layout
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import REQUIREMENT, Law
from ckpttool.model import Json, Operator
from ckpttool.releases import OLDEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene

PARTITIONS = "spark.sql.shuffle.partitions"
_STREAMING = "spark.sql.streaming"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
WHOLE_NUMBERS = frozenset(
    {
        PARTITIONS,
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
        "spark.sql.streaming.aggregation.stateFormatVersion",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.stateStore.rocksdb.formatVersion",
        "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
    }
)
SWITCHES = frozenset(
    {
        "spark.sql.streaming.statefulOperator.useStrictDistribution",
        "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
        "spark.sql.streaming.stateStore.rowChecksum.enabled",
        "spark.sql.function.protobufExtensions.enabled",
        "spark.sql.streaming.queryEvolution.enableSourceEvolution",
        "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
        "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
    }
)
_JOIN = f"{_STREAMING}.join.stateFormatVersion"
# What a session takes, whether the query has state or not.
VALID: dict[str, tuple[str, ...]] = {
    f"{_STREAMING}.multipleWatermarkPolicy": ("min", "max"),
    f"{_STREAMING}.flatMapGroupsWithState.stateFormatVersion": ("1", "2"),
    f"{_STREAMING}.aggregation.stateFormatVersion": ("1", "2"),
    _JOIN: ("1", "2", "3", "4"),
}
# Those of them that releases before do not take.
_NEWER: dict[tuple[str, str], Release] = {(_JOIN, "3"): since.JOIN_STATE_3, (_JOIN, "4"): since.JOIN_STATE_4}
_ENCODING = f"{_STREAMING}.stateStore.encodingFormat"


def _pinned_values(scene: Scene) -> Failure | Doubt | None:
    """The newest offsets' configuration is forced on the session: each value must be one that its key takes."""
    planned = scene.planned
    entry = scene.entry(planned)
    for key, value in entry.metadata.conf.items() if entry and entry.metadata else ():
        why = f"offsets/{planned} pins {key} = {value}"
        number = parse_long(value.strip())
        whole = number is not None and -(2**31) <= number < 2**31
        if (key in WHOLE_NUMBERS and not whole) or (key in SWITCHES and value.strip().lower() not in ("true", "false")):
            return _invalid_value(scene, "TYPE_MISMATCH", f"{key} should be", why)
        if key == PARTITIONS and int(value) <= 0:
            return _invalid_value(scene, "REQUIREMENT", "must be positive", why)
        if (known := VALID.get(key)) and not _is_taken(key, value.strip().lower(), known, scene.release):
            return _invalid_value(scene, "REQUIREMENT", "is invalid", why)
        if key == _ENCODING and value not in ("unsaferow", "avro") and scene.is_stateful:
            return Doubt(f"{why}: nobody knows here what that does")
    return None


def _is_taken(key: str, value: str, known: tuple[str, ...], release: Release) -> bool:
    return value in known and release >= _NEWER.get((key, value), OLDEST)


def _invalid_value(scene: Scene, condition: str, message: str, why: str) -> Failure:
    path = layout.offsets(scene.planned or 0)
    if scene.release < since.INVALID_CONF_VALUE:
        return Failure("init", REQUIREMENT, None, message, why, path=path)
    class_name = "org.apache.spark.SparkIllegalArgumentException"
    return Failure("init", class_name, f"INVALID_CONF_VALUE.{condition}", message, why, path=path)


_RESTORE = "restore the value: the offsets before pin the one that the query ran with"
LAWS = (
    Law(
        "pinned-value",
        "The configuration that the newest offsets pin is forced on the session, and must be valid there.",
        "OffsetSeqMetadata.setSessionConf",
        _pinned_values,
        symptom="the newest offsets pin a value that no session takes",
        next_step=_RESTORE,
        errors=(
            "INVALID_CONF_VALUE",
            "in spark.sql.…is invalid",
            "IllegalArgumentException: spark.sql.…should be",
            "No value found for '",
            "IllegalArgumentException: The value of spark.sql.",
        ),
        often=1,
    ),
)
CODECS = ("lz4", "zstd", "snappy", "lzf")
NO_SUCH_CODEC: tuple[tuple[Release, tuple[str, str | None]], ...] = (
    (
        since.CODEC_SUGGESTION,
        ("org.apache.spark.SparkIllegalArgumentException", "CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION"),
    ),
    (since.CODEC_CONDITION, ("org.apache.spark.SparkIllegalArgumentException", "CODEC_NOT_AVAILABLE")),
    (OLDEST, (REQUIREMENT, None)),
)
_PLATFORM = "com.databricks."  # there where it was written, and nowhere else
# The layouts of state that are taken where no version is pinned, and the operators that have them.
_AGGREGATION = "stateStoreSave"
UNPINNED: dict[str, str] = {
    f"{_STREAMING}.aggregation.stateFormatVersion": _AGGREGATION,
    f"{_STREAMING}.join.stateFormatVersion": "symmetricHashJoin",
}
_NOT_OF_BUFFERS = {"__dummy__", "groupState", "timeoutTimestamp", "expiresAtMicros"}


def _operator_names(scene: Scene) -> set[str | None]:
    """Before 4.0 none is kept. A schema tells an aggregation: its rows are buffers, without the columns of the key."""
    aggregates = any(_is_aggregation(operator) for operator in scene.checkpoint.operators)
    return scene.operator_names | ({_AGGREGATION} if aggregates else set())


def _is_aggregation(operator: Operator) -> bool:
    schemas = [store.schema for store in operator.stores if store.schema] if operator.name is None else []
    if len(schemas) != 1 or len(schemas[0].column_families) != 1:
        return False
    keys, values = (_names_in(one) for one in (schemas[0].column_families[0].key, schemas[0].column_families[0].value))
    apart = not values & (keys | _NOT_OF_BUFFERS) and "sessionStartTime" not in keys
    return bool(keys and values) and apart


def _names_in(schema: Mapping[str, Json]) -> set[str]:
    fields = schema.get("fields")
    named = [one.get("name") for one in fields if isinstance(one, dict)] if isinstance(fields, list) else []
    return {name for name in named if isinstance(name, str)}


def _state_settings(scene: Scene) -> Failure | Doubt | None:
    """What only a query with state looks at, when a task opens its store."""
    entry = scene.entry(scene.planned)
    pinned = entry.metadata.conf if entry and entry.metadata else {}
    path = layout.offsets(scene.planned or 0)
    provider = pinned.get(f"{_STREAMING}.stateStore.providerClass", PROVIDERS)
    at_home = scene.is_on_databricks and provider.startswith(_PLATFORM)
    if scene.is_stateful and not provider.startswith(PROVIDERS) and not at_home:
        why = f"offsets/{scene.planned} pins the provider {provider}, which Spark does not have"
        return Failure("batch", "java.lang.ClassNotFoundException", None, provider, why, scene.next_id, path=path)
    codec = pinned.get(f"{_STREAMING}.stateStore.compression.codec", "lz4")
    for key, operator in UNPINNED.items():
        before = scene.batch(scene.previous)
        earlier = before.entry.metadata.conf if before and before.entry and before.entry.metadata else {}
        if entry and key not in pinned and earlier.get(key, "1") != "1" and operator in _operator_names(scene):
            return _other_layout(scene, key)
    if scene.is_stateful and "." not in codec and codec.lower() not in CODECS:
        why = f"offsets/{scene.planned} pins the codec {codec} for the state"
        class_name, condition = next(said for first, said in NO_SUCH_CODEC if scene.release >= first)
        return Failure("batch", class_name, condition, "is not available", why, scene.next_id, path=path)
    return None


def _other_layout(scene: Scene, key: str) -> Failure:
    """Where offsets pin no version of a layout, Spark takes the first one, and the state on the disk has another."""
    why = f"offsets/{scene.planned} does not pin {key}, so the state is taken for version 1"
    path = layout.offsets(scene.planned or 0)
    class_name, condition = f"{PROVIDERS}.StateSchemaNotCompatible", None  # of partition 0; others may come first
    if scene.release >= since.VALUE_SCHEMA_CONDITION:
        class_name = f"{PROVIDERS}.StateStoreValueSchemaNotCompatible"
        condition = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    return Failure(
        "batch", class_name, condition, "Provided value schema does not match", why, scene.next_id, path=path
    )


FOR_STATE = (
    Law(
        "pinned-for-state",
        "The provider, the codec and the layouts that the newest offsets pin are those that the state is opened with.",
        "StateStoreProvider.create, CompressionCodec, StateSchemaCompatibilityChecker",
        _state_settings,
        symptom="the newest offsets pin what no state is opened with, or do not pin what the state was written with",
        next_step=_RESTORE,
        errors=(
            "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
            "CODEC_NOT_AVAILABLE",
            "ClassNotFoundException",
            "UNSUPPORTED_DATATYPE",
        ),
    ),
)
