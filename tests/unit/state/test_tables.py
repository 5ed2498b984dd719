"""What an operator is, where no metadata says it, and which tables it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.types import parse_type
from ckpttool.model import ColumnFamilySchema, Operator, OperatorMetadata, OperatorStore, StateSchema, StoreMetadata
from ckpttool.state.tables import Schemas, StateConf, infer_operator, state_conf, tables_of
from tests.unsafe_rows import schema

Fields = list[tuple[str, Any]]


@pytest.mark.parametrize(
    ("key", "value", "aggregation_format", "name"),
    [
        ([("a", "long")], [("count", "long")], 2, "stateStoreSave"),
        ([], [("count", "long")], 2, "stateStoreSave"),
        ([("a", "long")], [("a", "long"), ("count", "long")], 1, None),
        ([("a", "long")], [("a", "long"), ("b", "string")], 2, "dedupe"),
        ([("a", "long")], [("__dummy__", "void")], 2, "dedupe"),
        ([("a", "long")], [("expiresAtMicros", "long")], 2, "dedupeWithinWatermark"),
        ([("key", "void")], [("value", "long")], 2, "globalLimit"),
        ([("a", "long"), ("sessionStartTime", "timestamp")], [("session_window", schema()), ("count", "long")], 2,
         "sessionWindowStateStoreSaveExec"),
        ([("a", "long")], [("groupState", schema(("n", "long")))], 2, "flatMapGroupsWithState"),
        ([("a", "long")], [("n", "long"), ("timeoutTimestamp", "integer")], 2, "flatMapGroupsWithState"),
    ],
)  # fmt: skip
def test_schemas_tell_operators(key: Fields, value: Fields, aggregation_format: int, name: str | None) -> None:
    assert infer_operator(parse_type(schema(*key)), parse_type(schema(*value)), aggregation_format) == name


def operator(name: str | None, *families: ColumnFamilySchema, version: int = 3, **metadata: Any) -> Operator:
    stored = StateSchema(version, families)
    known = OperatorMetadata(2, 0, name, (StoreMetadata("default", 2),), **metadata) if name else None
    return Operator(0, name, (OperatorStore("default", 2, "rocksdb", stored),), known)


def family(name: str, key: dict[str, Any], value: dict[str, Any]) -> ColumnFamilySchema:
    return ColumnFamilySchema(name, key, value)


def tables(of: Operator) -> dict[str, Any]:
    found = tables_of(of, StateConf("rocksdb"), {"default": Schemas(of.stores[0].schema, ())})  # type: ignore[arg-type]
    return {table.name: table for table in found}


def test_state_variables_stand_as_stores_and_what_spark_adds_does_not() -> None:
    key, value = schema(("value", "string")), schema(("n", "long"))
    composite = schema(("key", key), ("userKey", schema(("id", "long"))))
    variables = [
        {"stateName": "total", "stateVariableType": "ValueState"},
        {"stateName": "by_id", "stateVariableType": "MapState"},
    ]
    found = tables(
        operator(
            "transformWithStateExec",
            family("$ttl_total", key, value),
            family("by_id", composite, value),
            family("default", key, value),
            family("total", key, value),
            properties={"stateVariables": variables},
        )
    )
    assert [(name, table.is_internal, table.shape) for name, table in found.items()] == [
        ("total", False, "pairs"),
        ("by_id", False, "map"),
        ("$ttl_total", True, "pairs"),
    ]
    assert [column.name for column in found["by_id"].columns] == ["key", "user_map_key", "user_map_value"]


def test_a_join_in_one_store_has_its_four_tables_and_two_views() -> None:
    key, value = schema(("field0", "long")), schema(("id", "long"), ("matched", "boolean"))
    indexed = schema(("field0", "long"), ("index", "long"))
    names = [f"{side}-{kind}" for side in ("left", "right") for kind in ("keyToNumValues", "keyWithIndexToValue")]
    families = [
        family(name, indexed if "Index" in name else key, value if "Index" in name else schema(("value", "long")))
        for name in names
    ]
    found = tables(operator("symmetricHashJoin", *families))
    assert list(found) == [*names, "left", "right"]
    assert [field.name for field in found["left"].key.fields] == ["field0"]
    assert [field.name for field in found["left"].value.fields] == ["id"]


def test_what_is_pinned_tells_how_state_is_written() -> None:
    prefix = "spark.sql.streaming.stateStore."
    conf = state_conf({f"{prefix}rocksdb.mergeOperatorVersion": "2", f"{prefix}rowChecksum.enabled": "true"}, "rocksdb")
    assert (conf.delimiter, conf.row_checksums, conf.encoding) == (b"", True, "unsaferow")
    conf = state_conf({f"{prefix}encodingFormat": "avro", "spark.sql.shuffle.partitions": "7"}, "rocksdb")
    assert (conf.delimiter, conf.row_checksums, conf.encoding, conf.partitions) == (b",", False, "avro", 7)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("MapState", schema(("key", "long"))),
        ("TimerState", schema(("key", "long"))),
        ("TimerState", schema(("key", "long"), ("expiryTimestampMs", schema()))),
        ("ValueState", "long"),
    ],
    ids=str,
)
def test_a_schema_that_the_variable_cannot_have_is_refused(kind: str, key: Any) -> None:
    variables = [{"stateName": "seen", "stateVariableType": kind}]
    of = operator(
        "transformWithStateExec",
        family("seen", key, schema(("n", "long"))),
        properties={"stateVariables": variables},
    )
    with pytest.raises(MalformedFile):
        tables(of)
