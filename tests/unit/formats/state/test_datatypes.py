"""Types in a schema file: those that Spark reads, and those that it does not."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.formats.state.datatypes import is_struct_type


def field(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}} | more]}


@pytest.mark.parametrize(
    "kind",
    [
        "long",
        "decimal(10,2)",
        "string collate UNICODE_CI",
        "interval day to second",
        "varchar(7)",
        {"type": "array", "elementType": "date", "containsNull": False},
        {"type": "map", "keyType": "string", "valueType": field("void"), "valueContainsNull": True},
        {"type": "udt", "class": "x", "sqlType": "long"},
    ],
)
def test_types_that_spark_reads(kind: Any) -> None:
    assert is_struct_type(field(kind))


@pytest.mark.parametrize(
    "schema",
    [
        [],
        {},
        {"type": "struct"},
        {"!ype": "struct", "fields": []},
        field("lonf"),
        field("long\n"),
        field({"type": "array", "elementType": "long"}),
        field("long", nullable="true"),
        field("long", another=1),
    ],
)
def test_what_spark_does_not_read(schema: Any) -> None:
    assert not is_struct_type(schema)
