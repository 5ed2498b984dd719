"""Our own reader as a witness of the state: what it tells, and when it has nothing to tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.harness.place import JobPlace
from ckpttool.harness.witness import read_state, say_the_same, stores_of
from tests.samples.place import place_sample

SAMPLES = ["3.5.7-windowed-agg-hdfs-sound", "4.2.0-windowed-agg-rocksdb-sound"]
Sample = Callable[[str], Path]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_state_after_a_batch(sample: Sample, name: str) -> None:
    rows, why = read_state(JobPlace(sample(name)), 4, "default")
    assert why is None
    assert rows
    assert {row.store for row in rows} == {"default"}
    assert all("window" in row.key and row.value["count"] > 0 for row in rows)
    earlier, _ = read_state(JobPlace(sample(name)), 3, "default")
    assert earlier is not None
    assert say_the_same(rows, rows[::-1])
    assert not say_the_same(rows, earlier)


def test_names_of_columns_and_nulls_are_left_aside(sample: Sample) -> None:
    rows, _ = read_state(JobPlace(sample(SAMPLES[0])), 4, "default")
    assert rows
    renamed = [replace(row, key=[row.key, None], value={"n": row.value["count"], "sum": None}) for row in rows]
    assert say_the_same(rows, renamed)


def test_what_is_damaged_is_no_witness(tmp_path: Path) -> None:
    checkpoint = place_sample(SAMPLES[0], tmp_path)
    (checkpoint / "state/0/0/5.delta").write_bytes(b"")
    rows, why = read_state(JobPlace(tmp_path), 4, "default")
    assert rows is None
    assert why is not None
    assert "cannot be read" in why


def test_stores_are_found_by_their_directories() -> None:
    files = ["0/0/1.delta", "0/1/1.delta", "0/_metadata/metadata", "1/0/1.zip"]
    assert [store["options"] for store in stores_of(files)] == [{"operatorId": "0"}, {"operatorId": "1"}]
    assert stores_of(files[:1], "totals")[0]["options"] == {"operatorId": "0", "stateVarName": "totals"}
