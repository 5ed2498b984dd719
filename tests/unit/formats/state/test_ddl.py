"""Schemas that users give; Spark itself is asked about them in tests/differential/test_state_source_vs_spark.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.ddl import parse_ddl, parse_given_schema
from tests.state_builders import utf

ROW = "key STRUCT<user: STRING>, value STRUCT<count: BIGINT>"


def field(name: str, kind: Any, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}


DDL: list[tuple[str, Any]] = [
    ("BIGINT", "long"),
    ("int", "integer"),
    ("SMALLINT", "short"),
    ("tinyint", "byte"),
    ("real", "float"),
    ("decimal(20, 2)", "decimal(20,2)"),
    ("NUMERIC(5,1)", "decimal(5,1)"),
    ("timestamp_ntz", "timestamp_ntz"),
    ("varchar(10)", "varchar(10)"),
    ("interval day to second", "interval day to second"),
    ("interval year", "interval year"),
    ("array<int>", {"type": "array", "elementType": "integer", "containsNull": True}),
    (
        "map<string, array<date>>",
        {
            "type": "map",
            "keyType": "string",
            "valueType": {"type": "array", "elementType": "date", "containsNull": True},
            "valueContainsNull": True,
        },
    ),
    ("struct<a: int, `b c` string>", {"type": "struct", "fields": [field("a", "integer"), field("b c", "string")]}),
    ("struct<a: int not null>", {"type": "struct", "fields": [field("a", "integer", nullable=False)]}),
]


@pytest.mark.parametrize(("written", "kind"), DDL)
def test_columns_are_those_that_spark_makes_of_them(written: str, kind: Any) -> None:
    assert parse_ddl(f"x {written}, `y``z` boolean") == {
        "type": "struct",
        "fields": [field("x", kind), field("y`z", "boolean")],
    }


@pytest.mark.parametrize(
    "text",
    ["", "x", "x int,", "x int y int", "x strct", "x struct<a int", "x map<int>", "x decimal(", "x <", "x int;",
     "1 2 3", "x " + "array<" * 500 + "int" + ">" * 500],
)  # fmt: skip
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_ddl(text)
    assert caught.value.expected


def test_a_schema_is_given_as_ddl_as_json_or_as_a_file_of_spark() -> None:
    key, value = ({"type": "struct", "fields": [one]} for one in (field("user", "string"), field("count", "long")))
    as_json = json.dumps({"type": "struct", "fields": [field("value", value), field("key", key)]})
    file = utf("v1") + utf(json.dumps(key)) + utf(json.dumps(value))
    for content in (ROW.encode(), as_json.encode(), file):
        (family,) = parse_given_schema(content).column_families
        assert (family.key, family.value) == (key, value)
    for other in ("key INT, value STRUCT<a: INT>", "key STRUCT<a: INT>", "{}", "{", '{"type":"struct","fields":[]}'):
        with pytest.raises(MalformedFile):
            parse_given_schema(other.encode())


@pytest.mark.parametrize("text", ["x " * 3000, "9" * 3000, f"{'x' * 3000} int"])
def test_a_refusal_does_not_repeat_all_of_a_schema(text: str) -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_given_schema(text.encode())
    assert len(caught.value.message) < 200
