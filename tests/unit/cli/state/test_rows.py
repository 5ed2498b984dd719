"""`ckpt state list`, `count`, `rows` and `get`, on samples that Spark made."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.conftest import run_ckpt
from tests.unit.cli.state.commands import AGGREGATION, DEDUP, JOIN, OLD, ROCKSDB, Sample, at, counted, fields, lines


def test_list_tells_operators_stores_and_rows(sample: Sample) -> None:
    found = fields("list", at(sample, AGGREGATION))
    assert (found["schema"], found["batch"]) == ("ckpt.state-list/1", 4)
    (store,) = found["stores"]
    assert (store["operator"], store["name"], store["store"]) == (0, "stateStoreSave", "default")
    assert (store["partitions"], store["provider"], store["batch"]) == (2, "hdfs", 4)
    assert store["rows"] == len(lines(at(sample, AGGREGATION)))


@pytest.mark.parametrize("name", [AGGREGATION, ROCKSDB, AGGREGATION.replace("4.2.0", "3.5.7")])
def test_rows_are_those_that_the_input_gives(sample: Sample, name: str) -> None:
    """Files of two rows each, ten seconds apart, in windows of ten seconds: two rows in each window, and the windows
    that the watermark has passed are gone."""
    rows = counted(lines(at(sample, name)))
    assert set(rows.values()) == {2}
    assert "2023-11-14T22:13:50.000Z" in rows


def test_rows_of_an_earlier_batch(sample: Sample) -> None:
    assert counted(lines(at(sample, AGGREGATION), "--batch", "0")) == {"2023-11-14T22:13:20.000Z": 2}


def test_rows_as_csv_and_as_table(sample: Sample) -> None:
    ran = run_ckpt("state", "rows", at(sample, JOIN), "--store", "left-keyToNumValues", "--format", "csv")
    head, *rows = list(csv.reader(io.StringIO(ran.out)))
    assert head == ["partition", "key.field0", "value.value"]
    assert {row[2] for row in rows} == {"1"}
    ran = run_ckpt("state", "rows", at(sample, JOIN), "--store", "left-keyToNumValues", "--limit", "1")
    assert ran.out.splitlines()[0].split() == head
    assert len(ran.out.splitlines()) == 2
    assert "more than 1" in ran.err


@pytest.mark.extras
def test_rows_as_one_object(sample: Sample) -> None:
    found = fields("rows", at(sample, DEDUP))
    assert (found["schema"], found["store"], found["findings"]) == ("ckpt.state-rows/1", "default", [])
    assert found["columns"] == [
        {"name": "key", "type": "struct<name:string,at:timestamp>"},
        {"name": "value", "type": "struct<__dummy__:void>"},
    ]
    assert all(row["value"] == {"__dummy__": None} for row in found["rows"])


def test_rows_of_one_partition_and_a_condition(sample: Sample) -> None:
    path = at(sample, JOIN)
    every = lines(path, "--store", "right-keyWithIndexToValue")
    first = lines(path, "--store", "right-keyWithIndexToValue", "--partition", "0")
    assert first == [row for row in every if row["partition"] == 0] != every
    some = lines(
        path, "--store", "right-keyWithIndexToValue", "--where", "key.field0>=4", "--where", "value.matched=true"
    )
    assert some == [row for row in every if row["key"]["field0"] >= 4 and row["value"]["matched"]]
    named = lines(path, "--store", "right-keyWithIndexToValue", "--where", "value.name=birch")
    assert {row["value"]["name"] for row in named} == {"birch"}


def test_the_side_of_a_join_is_put_together(sample: Sample) -> None:
    indexed = lines(at(sample, JOIN), "--store", "left-keyWithIndexToValue")
    joined = lines(at(sample, JOIN), "--store", "left")
    without = [
        {
            **row,
            "key": {"field0": row["key"]["field0"]},
            "value": {k: v for k, v in row["value"].items() if k != "matched"},
        }
        for row in indexed
    ]
    assert sorted(map(json.dumps, joined)) == sorted(map(json.dumps, without))


def test_a_store_without_a_schema_is_shown_as_bytes(sample: Sample) -> None:
    (store,) = fields("list", at(sample, OLD))["stores"]
    assert (store["shape"], store["name"]) == ("raw", None)
    assert all(isinstance(row["key"], str) for row in lines(at(sample, OLD)))


@pytest.mark.parametrize("name", [pytest.param(DEDUP, marks=pytest.mark.extras), "4.2.0-dedup-hdfs-sound"])
def test_get_finds_every_key_in_its_partition(sample: Sample, name: str) -> None:
    for row in lines(at(sample, name)):
        found = fields("get", at(sample, name), json.dumps(row["key"]))
        assert found["rows"] == [row]


def test_get_takes_a_bare_value(sample: Sample) -> None:
    path = at(sample, JOIN)
    for row in lines(path, "--store", "left-keyToNumValues"):
        ran = run_ckpt(
            "state", "get", path, str(row["key"]["field0"]), "--store", "left-keyToNumValues", "--format", "jsonl"
        )
        assert json.loads(ran.out) == row


def test_count_adds_up(sample: Sample) -> None:
    for store in fields("count", at(sample, JOIN))["stores"]:
        rows = lines(at(sample, JOIN), "--store", store["store"])
        assert store["rows"] == len(rows) == sum(one["rows"] for one in store["rows_by_partition"])


def test_without_the_extra_it_is_said_what_is_missing(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    (store,) = fields("list", at(sample, ROCKSDB))["stores"]
    assert store["rows"] is not None or "rocksdict" in store["rows_unknown_why"]
    ran = run_ckpt("state", "rows", at(sample, "3.5.7-dedup-rocksdb-sound"), "--format", "jsonl")
    assert ran.code in (0, 6)
    assert ran.code == 0 or "pip install 'ckpttool[state]'" in ran.err
