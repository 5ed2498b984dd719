"""Which stores there are and how many rows they have, and how it is said where that is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.report.views.state_stores import (
    Counts,
    columns_fields,
    counts_document,
    spell_versions,
    stores_document,
    versions_fields,
)
from ckpttool.state.reader import StateReader
from ckpttool.state.survey import Survey
from ckpttool.state.tables import StateTable
from tests.documents import shown
from tests.unit.state.made import hdfs_file, placed, read, schema_file
from tests.unsafe_rows import schema


def opened(root: Path) -> tuple[StateReader, StateTable]:
    reader = read(placed(root, {"3.snapshot": hdfs_file({"a": 1})}))
    (table,) = reader.tables
    return reader, table


def test_the_first_line_says_of_when_and_numbers_are_aligned(tmp_path: Path) -> None:
    reader, table = opened(tmp_path)
    some = [Survey(table, 200, frozenset((1, 2, 3)), 1_234_567, 42)]
    some.append(Survey(replace(table, name="other"), 1, frozenset(), 5, 1_000_000))
    first, blank, head, one, other, *_ = shown(stores_document(reader, some)).splitlines()
    assert (first, blank) == ("State after batch 2: version 3", "")
    assert len(head) == len(one) == len(other)
    assert one.split()[-5:] == ["200", "hdfs", "1–3", "42", "1,234,567"]
    assert other.split()[-5:] == ["1", "hdfs", "none", "1,000,000", "5"]


def test_rows_that_are_not_known_are_a_question_mark_and_the_reason_is_given_once(tmp_path: Path) -> None:
    reader, table = opened(tmp_path)
    unknown = Survey(table, 1, frozenset((1, 2, 3)), 5, None, "too much to read")
    document = stores_document(reader, [unknown, unknown])
    assert shown(document).count("Rows of some are not known: too much to read") == 1
    assert shown(document).splitlines()[3].split()[-2:] == ["?", "5"]
    [told, _] = json.loads(shown(document, "json"))["stores"]
    assert (told["rows"], told["rows_unknown_why"]) == (None, "too much to read")


@pytest.mark.parametrize(
    ("name", "inferred", "expected"),
    [(None, False, "unknown"), ("dedupe", True, "dedupe (inferred)"), ("dedupe", False, "dedupe")],
)
def test_an_operator_that_no_metadata_names(tmp_path: Path, name: str | None, inferred: bool, expected: str) -> None:
    reader, table = opened(tmp_path)
    named = replace(table, operator_name=name, is_inferred=inferred)
    row = shown(stores_document(reader, [Survey(named, 1, None, 0, 0)])).splitlines()[3]
    assert row.startswith(f"0           {expected}  ")


def test_the_command_that_shows_rows_can_be_typed(tmp_path: Path) -> None:
    reader, table = opened(tmp_path / "my orders")
    text = shown(stores_document(reader, [Survey(replace(table, name="a b"), 1, None, 0, 0)]))
    assert f"  See rows: ckpt state rows '{tmp_path}/my orders' --operator 0 --store 'a b'\n" in text
    assert "See rows" not in shown(stores_document(reader, []))


def test_types_are_spelled_as_spark_does(tmp_path: Path) -> None:
    inner = {"type": "array", "elementType": "integer", "containsNull": True}
    both = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    kinds = schema(("l", "long"), ("s", "short"), ("b", "byte"), ("m", both), ("d", "decimal(10,2)"))
    reader = read(placed(tmp_path, {"_metadata/schema": schema_file(value=kinds)}))
    [key, value] = columns_fields(reader.tables[0])
    assert key == {"name": "key", "type": "struct<k:string>"}
    assert value["type"] == "struct<l:bigint,s:smallint,b:tinyint,m:map<string,array<int>>,d:decimal(10,2)>"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({0: 1}, "1 row in store default of operator 0, dedupe; at most 1 in a partition"),
        (
            {0: 1_000_000, 1: 5},
            "1,000,005 rows in store default of operator 0, dedupe; at most 1,000,000 in a partition",
        ),
        ({}, "0 rows in store default of operator 0, dedupe; at most 0 in a partition"),
        (
            {0: 1, 1: None, 2: None},
            "? rows in store default of operator 0, dedupe; 2 of 3 partitions cannot be read",
        ),
        ({0: None}, "? rows in store default of operator 0, dedupe; 1 of 1 partition cannot be read"),
    ],
)
def test_one_store_is_counted_in_a_sentence(tmp_path: Path, found: dict[int, int | None], expected: str) -> None:
    reader, table = opened(tmp_path)
    named = replace(table, operator_name="dedupe", is_inferred=False)
    assert shown(counts_document(reader, [(named, found)])).splitlines()[2] == expected


def test_several_stores_are_counted_in_a_table(tmp_path: Path) -> None:
    reader, table = opened(tmp_path)
    lost: dict[int, int | None] = {0: 7, 1: None}
    counts: Counts = [
        (table, {0: 1_000, 1: 5}),
        (replace(table, name="other"), {}),
        (replace(table, name="lost"), lost),
    ]
    *_, head, one, other, unknown = shown(counts_document(reader, counts)).splitlines()
    assert [line.split()[-2:] for line in (one, other, unknown)] == [["1,005", "1,000"], ["0", "0"], ["?", "?"]]
    assert len(head) == len(one) == len(other)
    [told, _, not_known] = json.loads(shown(counts_document(reader, counts), "json"))["stores"]
    assert told["rows_by_partition"] == [{"partition": 0, "rows": 1000}, {"partition": 1, "rows": 5}]
    assert (told["rows"], not_known["rows"]) == (1_005, None)
    assert not_known["rows_by_partition"] == [{"partition": 0, "rows": 7}, {"partition": 1, "rows": None}]


def test_findings_stand_below_and_nothing_does_without_them(tmp_path: Path) -> None:
    reader, table = opened(tmp_path)
    assert "findings" not in shown(counts_document(reader, [(table, {0: 1})])).lower()
    damaged = read(placed(tmp_path / "damaged", {"3.delta": hdfs_file({"a": 2})}))
    list(damaged.rows(damaged.tables[0]))
    last = shown(counts_document(damaged, [(damaged.tables[0], {})])).split("\n\n")[-1]
    assert last.startswith("error    state-file-missing  state/0/0\n")


@pytest.mark.parametrize(
    ("versions", "said", "told"),
    [
        (frozenset((1, 2, 3, 5, 7, 8)), "1–3, 5–5, 7–8", [(1, 3), (5, 5), (7, 8)]),
        (frozenset(), "none", []),
        (None, "?", None),
    ],
)
def test_versions_are_told_in_runs(versions: frozenset[int] | None, said: str, told: Any) -> None:
    assert spell_versions(versions) == said
    fields = versions_fields(versions)
    assert fields == (None if told is None else [{"first": first, "last": last} for first, last in told])
