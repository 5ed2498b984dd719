"""Which tables of rows an operator keeps. Pure.

A table is what Spark's `statestore` source shows at a time: a store, one of the column families of a join that keeps
all in one store, or a state variable of transformWithState. Where no metadata says what an operator is (before Spark
4.0), its schema does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.types import BINARY, LONG, DataType, Field, parse_type
from ckpttool.model import ColumnFamilySchema, Json, Operator, OperatorMetadata, OperatorStore, StateSchema
from ckpttool.scene.state_chain import Provider

if TYPE_CHECKING:
    from ckpttool.formats.state.layouts import Encoding

Shape = Literal["pairs", "list", "map", "timers", "raw", "joined"]

TRANSFORM = ("transformWithStateExec", "transformWithStateInPandasExec", "transformWithStateInPySparkExec")
JOIN = "symmetricHashJoin"
DEFAULT = "default"
_STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"
_AGGREGATION = "spark.sql.streaming.aggregation.stateFormatVersion"
_STATE = "spark.sql.streaming.stateStore."
_SHAPES: dict[str, Shape] = {"ValueState": "pairs", "ListState": "list", "MapState": "map", "TimerState": "timers"}
_MULTI_VALUED = ("keyWithTsToValues", "tsWithKey")
_PREFIX = "PrefixKeyScanStateEncoderSpec"


class StateConf(Struct, frozen=True):
    """What the offset log pins of how state is written. `is_strictly_distributed`: rows are in partitions by the hash
    of their whole key; queries that began before Spark 3.3 may have them elsewhere."""

    provider: Provider = "hdfs"
    partitions: int | None = None
    row_checksums: bool = False
    delimiter: bytes = b","
    encoding: Encoding = "unsaferow"
    is_strictly_distributed: bool = False
    aggregation_format: int = 1


class Schemas(Struct, frozen=True):
    """The newest schema of a store, and all that its operator's metadata names, the newest last."""

    newest: StateSchema
    every: tuple[StateSchema, ...] = ()


class StateTable(Struct, frozen=True):
    """`store`: the directory its entries are in; `family`: which of the column families there; `is_internal`: kept by
    Spark for itself beside what the user asked for. `is_inferred`: no metadata names the operator. `parts`: the tables
    that a joined view is made of."""

    operator: int
    operator_name: str | None
    name: str
    store: str
    provider: Provider
    shape: Shape = "raw"
    family: str | None = None
    key: DataType = BINARY
    value: DataType = BINARY
    value_schemas: Mapping[int, DataType] = {}
    encoder: Mapping[str, Json] | None = None
    is_internal: bool = False
    is_inferred: bool = False
    is_multi_valued: bool = False
    parts: tuple[StateTable, ...] = ()

    @property
    def columns(self) -> tuple[Field, ...]:
        """As Spark names them; a map's key is split in two."""
        if self.shape == "list":
            return (Field("key", self.key), Field("list_element", self.value))
        if self.shape == "map":
            key, user_key = (one.type for one in self.key.fields)
            return (Field("key", key), Field("user_map_key", user_key), Field("user_map_value", self.value))
        if self.shape == "timers":
            return (Field("key", self.key.fields[0].type), Field("expiration_timestamp_ms", LONG))
        return (Field("key", self.key), Field("value", self.value))


# -- tables ------------------------------------------------------------------------------------------------------------


def tables_of(operator: Operator, conf: StateConf, schemas: Mapping[str, Schemas]) -> Iterator[StateTable]:
    """Of one operator; what Spark keeps for itself comes last."""
    found = list(_own_tables(operator, conf, schemas))
    yield from found
    if operator.name == JOIN:
        yield from _views(found)


def _own_tables(operator: Operator, conf: StateConf, schemas: Mapping[str, Schemas]) -> Iterator[StateTable]:
    for store in operator.stores:
        known = schemas.get(store.name)
        if known is None:
            yield _table(operator, store, conf, shape="raw")
        elif operator.name in TRANSFORM:
            yield from _variables(operator, store, conf, known)
        else:
            families = known.newest.column_families
            for family in families:
                name = family.name if len(families) > 1 else store.name
                yield _pairs(operator, store, conf, known, family, name=name)


def _variables(operator: Operator, store: OperatorStore, conf: StateConf, schemas: Schemas) -> Iterator[StateTable]:
    families = {family.name: family for family in schemas.newest.column_families}
    for name, shape in _declared(operator):
        if name in families:
            yield _pairs(operator, store, conf, schemas, families.pop(name), name=name, shape=shape)
    for name, family in sorted(families.items()):
        if name != DEFAULT:
            yield _pairs(operator, store, conf, schemas, family, name=name, is_internal=True)


def _declared(operator: Operator) -> Iterator[tuple[str, Shape]]:
    for name, kind, _ in variables_of(operator.metadata):
        if kind in _SHAPES:
            yield name, _SHAPES[kind]


def variables_of(metadata: OperatorMetadata | None) -> Iterator[tuple[str, str, bool]]:
    """State variables by name, as the operator's properties have them: of which type, and whether they expire."""
    found = metadata.properties.get("stateVariables") if metadata else None
    for one in found if isinstance(found, list) else ():
        name, kind = (one.get("stateName"), one.get("stateVariableType")) if isinstance(one, dict) else (None, None)
        if isinstance(name, str) and isinstance(kind, str):
            yield name, kind, one.get("ttlEnabled") is True


def _pairs(
    operator: Operator,
    store: OperatorStore,
    conf: StateConf,
    schemas: Schemas,
    family: ColumnFamilySchema,
    *,
    name: str,
    shape: Shape = "pairs",
    is_internal: bool = False,
) -> StateTable:
    key, value = _row_type(family.key), _row_type(family.value)
    _check_key(shape, key)
    has_families = schemas.newest.version >= 3
    by_id = {
        one.value_schema_id: _row_type(one.value)
        for schema in (*schemas.every, schemas.newest)
        for one in schema.column_families
        if one.name == family.name
    }
    return _table(
        operator,
        store,
        conf,
        name=name,
        shape=shape,
        family=family.name if has_families else None,
        key=key,
        value=_true_value(operator, value),
        value_schemas=by_id,
        encoder=family.encoder if has_families else _encoder(operator, store, key),
        is_internal=is_internal,
        is_multi_valued=shape == "list" or (operator.name == JOIN and name.partition("-")[2] in _MULTI_VALUED),
    )


def _row_type(schema: Json) -> DataType:
    """Keys and values are rows, whatever a schema says."""
    found = parse_type(schema)
    if found.kind != "struct":
        raise MalformedFile(f"rows of the type {found.name[:60]}", expected="a struct")
    return found


def _check_key(shape: Shape, key: DataType) -> None:
    """The parts of these keys are columns."""
    kinds = [field.type.kind for field in key.fields]
    if (shape == "map" and len(kinds) != 2) or (shape == "timers" and (len(kinds) != 2 or kinds[1] != "long")):
        found = ", ".join(kinds)[:60] or "nothing"
        raise MalformedFile(f"a key of {found} for {shape}", expected="the grouping key and one thing more")


def _table(operator: Operator, store: OperatorStore, conf: StateConf, **fields: Any) -> StateTable:
    name = operator.name
    if name is None and "key" in fields:
        name = infer_operator(fields["key"], fields["value"], conf.aggregation_format)
    return StateTable(
        operator=operator.id,
        operator_name=name,
        store=store.name,
        provider=conf.provider,
        **{"name": store.name, **fields, "is_inferred": operator.metadata is None},
    )


def _true_value(operator: Operator, value: DataType) -> DataType:
    """flatMapGroupsWithState wrote in its first format that the time-out is an int, and then a long."""
    if operator.name not in (None, "flatMapGroupsWithState") or not value.fields:
        return value
    last = value.fields[-1]
    if last.name != "timeoutTimestamp" or last.type.kind != "integer":
        return value
    return DataType("struct", "struct", fields=(*value.fields[:-1], Field(last.name, LONG)))


def _encoder(operator: Operator, store: OperatorStore, key: DataType) -> Mapping[str, Json] | None:
    """Session windows are searched by all of the key but the start of the session."""
    columns = 0
    for one in operator.metadata.stores if operator.metadata else ():
        if one.name == store.name:
            columns = one.prefix_key_columns
    if operator.metadata is None and key.fields and key.fields[-1].name == "sessionStartTime":
        columns = len(key.fields) - 1
    return {"keyStateEncoderType": _PREFIX, "numColsPrefixKey": columns} if columns else None


def infer_operator(key: DataType, value: DataType, aggregation_format: int = 2) -> str | None:
    """The operator that keeps such rows: for checkpoints without metadata. Aggregations have no mark of their own, but
    in their second format they do not keep the key with the value: deduplication of Spark 3.1 to 3.4 says that it does.
    """
    keys, values = ([one.name for one in kind.fields] for kind in (key, value))
    if "sessionStartTime" in keys[-1:] and "session_window" in values:
        return "sessionWindowStateStoreSaveExec"
    if values == ["__dummy__"]:
        return "dedupe"
    if values == ["expiresAtMicros"]:
        return "dedupeWithinWatermark"
    if keys == ["key"] and key.fields[0].type.kind == "void":
        return "globalLimit"
    if values[:1] == ["groupState"] or values[-1:] == ["timeoutTimestamp"]:
        return "flatMapGroupsWithState"
    if keys and set(keys) <= set(values):
        return "dedupe" if aggregation_format == 2 else None
    return "stateStoreSave"


# -- a join's sides ----------------------------------------------------------------------------------------------------


def _views(tables: Sequence[StateTable]) -> Iterator[StateTable]:
    """The rows that each side keeps, under its name: what Spark's option `joinSide` shows."""
    by_name = {table.name: table for table in tables}
    for side in ("left", "right"):
        names: tuple[str, ...] = (f"{side}-keyWithTsToValues",)
        if names[0] not in by_name:
            names = (f"{side}-keyWithIndexToValue", f"{side}-keyToNumValues")
        parts = tuple(by_name[name] for name in names if name in by_name)
        if len(parts) == len(names) and parts[0].shape == "pairs":
            of = parts[0]
            key, value = without_fields(of.key, "index"), without_fields(of.value, "matched")
            yield replace(of, name=side, shape="joined", key=key, value=value, is_internal=True, parts=parts)


def without_fields(kind: DataType, *names: str) -> DataType:
    """Without the last field, if it is called so."""
    last = kind.fields[-1:]
    return replace(kind, fields=kind.fields[:-1]) if last and last[0].name in names else kind


# -- configuration -----------------------------------------------------------------------------------------------------


def state_conf(pinned: Mapping[str, str], provider: Provider) -> StateConf:
    partitions = pinned.get("spark.sql.shuffle.partitions", "")
    avro = pinned.get(f"{_STATE}encodingFormat", "unsaferow").lower() == "avro"
    return StateConf(
        provider=provider,
        partitions=int(partitions) if partitions.isdecimal() and len(partitions) < 10 else None,
        row_checksums=pinned.get(f"{_STATE}rowChecksum.enabled", "false").lower() == "true",
        delimiter=b"" if pinned.get(f"{_STATE}rocksdb.mergeOperatorVersion", "1") == "2" else b",",
        encoding="avro" if avro else "unsaferow",
        aggregation_format=2 if pinned.get(_AGGREGATION) == "2" else 1,
        is_strictly_distributed=pinned.get(_STRICT, "false").lower() == "true",
    )
