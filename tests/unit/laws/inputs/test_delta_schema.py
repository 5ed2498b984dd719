"""Which schemas read on what was written with others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.formats.delta_log import DeltaMetadata
from ckpttool.laws.inputs.delta_schema import has_changed, reads_on, renamed_or_dropped


def column(kind: Any, *, nullable: bool = True, **metadata: str) -> dict[str, Any]:
    return {"type": kind, "nullable": nullable, "metadata": metadata}


def table(columns: dict[str, Any], partitions: tuple[str, ...] = (), **configuration: str) -> DeltaMetadata:
    fields = [{"name": name, **told} for name, told in columns.items()]
    return DeltaMetadata("t", json.dumps({"type": "struct", "fields": fields}), partitions, configuration)


def array(kind: Any, *, nulls: bool = True) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": nulls}


def mapped(kind: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": True}


def struct(**columns: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, **told} for name, told in columns.items()]}


LONG, TEXT = column("long"), column("string")


@pytest.mark.parametrize(
    ("old", "new", "readable"),
    [
        ({"a": LONG}, {"a": LONG}, True),
        ({"a": LONG}, {"a": LONG, "b": TEXT}, True),
        ({"a": LONG, "b": TEXT}, {"a": LONG}, False),
        ({"a": LONG}, {"a": TEXT}, False),
        ({"a": LONG}, {"A": LONG}, False),
        ({"a": LONG}, {"a": column("long", nullable=False)}, False),
        ({"a": column("long", nullable=False)}, {"a": LONG}, True),
        ({"a": column(array("long"))}, {"a": column(array("string"))}, False),
        ({"a": column(array("long"))}, {"a": column(array("long", nulls=False))}, False),
        ({"a": column(array("long", nulls=False))}, {"a": column(array("long"))}, True),
        ({"a": column(mapped("long"))}, {"a": column(mapped("string"))}, False),
        ({"a": column(mapped(struct(x=LONG)))}, {"a": column(mapped(struct(x=LONG, y=TEXT)))}, True),
        ({"a": column(struct(x=LONG, y=TEXT))}, {"a": column(struct(x=LONG))}, False),
        ({"a": column("long")}, {"a": column(array("long"))}, False),
        ({"a": column({"type": "udt", "class": "x"})}, {"a": column({"type": "udt", "class": "y"})}, False),
    ],
)
def test_columns_may_come_and_none_may_go(old: dict[str, Any], new: dict[str, Any], readable: bool) -> None:
    assert reads_on(table(old), table(new)) is readable


def test_partition_columns_stay() -> None:
    assert reads_on(table({"a": LONG}), table({"a": LONG}, ("a",))) is False


def test_a_name_may_belong_to_another_column() -> None:
    mode: dict[str, Any] = {"delta.columnMapping.mode": "name"}
    before, after = ({"a": LONG | {"metadata": {"delta.columnMapping.physicalName": name}}} for name in "12")
    assert reads_on(table(before, **mode), table(after, **mode)) is False
    assert reads_on(table(before), table(after)) is True, "without the mode the names are what they say"


def test_where_types_may_widen_it_is_not_known() -> None:
    widening: dict[str, Any] = {"delta.enableTypeWidening": "true"}
    assert reads_on(table({"a": LONG}), table({"a": TEXT}, **widening)) is None


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_schema_that_is_none_is_not_understood(text: str | None) -> None:
    assert not reads_on(DeltaMetadata("t", text), table({"a": LONG}))


def test_a_stream_that_tracks_schemas_minds_properties_of_delta_too() -> None:
    plain = table({"a": LONG})
    assert not has_changed(plain, table({"a": LONG}, other="1"))
    assert has_changed(plain, table({"a": LONG}, (), **{"delta.enableChangeDataFeed": "true"}))
    assert has_changed(plain, table({"a": LONG, "b": TEXT}))
    assert has_changed(plain, table({"a": LONG}, ("a",)))


def mapped_columns(**columns: str) -> str:
    physical = "delta.columnMapping.physicalName"
    told = {name: column("long", nullable=True, **{physical: one}) for name, one in columns.items()}
    return table(told).schema or ""


@pytest.mark.parametrize(
    ("now", "changes"),
    [
        (mapped_columns(a="p1", b="p2"), ()),
        (mapped_columns(a="p1", b="p2", c="p3"), ()),
        (mapped_columns(a="p1", c="p2"), ("Rename",)),
        (mapped_columns(a="p1"), ("Drop",)),
        (mapped_columns(b="p1"), ("Rename", "Drop")),
        ("{", ()),
    ],
)
def test_what_was_done_to_mapped_columns(now: str, changes: tuple[str, ...]) -> None:
    assert renamed_or_dropped(mapped_columns(a="p1", b="p2"), now) == changes
