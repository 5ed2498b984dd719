"""What is recorded of changed queries can be read, and means what is said of it."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ckpttool.query.from_spark import query_of
from tests.differential.sweep.changes.catalogue import SAME, changes
from tests.differential.sweep.changes.load import are_alike, base_of, is_same, read, recorded, unpack, what_became
from tests.differential.sweep.changes.query import Asked, make_input, rows_of
from tests.differential.sweep.changes.record import Turns
from tests.differential.sweep.changes.seen import Disk, truth_of, without_defaults

Json = dict[str, Any]
REFUSED: Json = {"class": "java.lang.AssertionError", "condition": None, "message": "Cannot continue.", "in": []}


def ran(rows: Json, scratch: Json | None, **told: str) -> Json:
    return {"id": "count/other", "truth": {"outcome": "ran", "rows": rows, "scratch": scratch}, **told}


@pytest.mark.parametrize(
    ("case", "became"),
    [
        ({"id": "count/other", "truth": {"outcome": "error"}, "lost": "as well"}, "refused"),
        (ran({"3": ["[1]"], "4": ["[2]"]}, {"3": ["[2]", "[1]"]}), "accepted"),
        (ran({"3": ["[1]"]}, {"3": ["[1]", "[1]"]}), "rows_differ"),
        (ran({"3": ["[1]"]}, {"3": ["[2]"]}, kept="what was counted stays counted"), "accepted"),
        (ran({"3": ["[1]"]}, {"3": ["[1]"]}, lost="open windows"), "rows_differ"),
        (ran({}, None), "accepted"),
    ],
)
def test_what_became_follows_from_the_rows(case: Json, became: str) -> None:
    assert what_became(case) == became


@pytest.mark.parametrize("spark", ["3.3.4", "3.5.7", "4.0.4", "4.2.0"])
def test_each_base_is_also_started_as_it_was(spark: str) -> None:
    every = changes(spark)
    names = [one.id for one in every]
    assert len(names) == len(set(names))
    assert {one.base.name for one in every} == {one.base.name for one in every if one.name == SAME}
    assert [one.id for one in every if one.kept and one.lost] == []


def test_input_that_is_there_stays(tmp_path: Path) -> None:
    make_input(tmp_path, 2)
    first = (tmp_path / "in" / "001.json").stat()
    make_input(tmp_path, 3)
    assert (tmp_path / "in" / "001.json").stat() == first
    assert sorted(path.name for path in (tmp_path / "in3").iterdir()) == ["000.json", "001.json", "002.json"]


def test_rows_come_again_and_too_late() -> None:
    numbers = [row["id"] for row in rows_of(2, 0)]
    assert numbers == [8, 9, 10, 11, 7, 52]
    assert rows_of(2, 0)[4] == rows_of(1, 0)[3]


def answered(**said: Any) -> Json:
    return {"start": None, "error": None, "said": None, "log": ["Resuming at batch 3 with"]} | said


def commit(root: Path, batch: int, *values: int) -> None:
    for log in ("commits", "offsets"):
        (root / "checkpoint" / log).mkdir(parents=True, exist_ok=True)
        (root / "checkpoint" / log / str(batch)).write_text('v1\n{"conf":{"a":"1","b":"2"}}\n{}')
    (root / "output").mkdir(exist_ok=True)
    with (root / "output" / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps({"batch": batch, "rows": [{"n": value} for value in values]}) + "\n")


def test_the_rows_of_a_start_are_those_that_it_wrote(tmp_path: Path) -> None:
    commit(tmp_path, 2, 1)
    before = Disk(tmp_path)
    commit(tmp_path, 3, 5, 6)
    truth = truth_of(answered(), before, Disk(tmp_path), {"b": "3"})
    assert (truth["outcome"], truth["batch_id"], truth["ran"]) == ("ran", 3, [3])
    assert truth["rows"] == {"3": ["[5]", "[6]"]}
    assert truth["conf"] == {"b": "2"}


@pytest.mark.parametrize(
    ("said", "phase", "batch"),
    [
        ({"start": [REFUSED]}, "start", None),
        ({"error": [REFUSED], "log": []}, "init", None),
        ({"error": [REFUSED]}, "batch", 3),
    ],
)
def test_a_refusal_has_its_phase_and_leaves_something(
    said: Json, phase: str, batch: int | None, tmp_path: Path
) -> None:
    commit(tmp_path, 2)
    before = Disk(tmp_path)
    (tmp_path / "checkpoint" / "state").mkdir()
    (tmp_path / "checkpoint" / "state" / "left").touch()
    truth = truth_of(answered(**said), before, Disk(tmp_path), {})
    assert (truth["outcome"], truth["phase"], truth["batch_id"]) == ("error", phase, batch)
    assert truth["error"]["class"] == "java.lang.AssertionError"
    assert truth["left"] == ["state/left"]


def test_rows_of_a_file_sink_are_those_of_its_log(tmp_path: Path) -> None:
    ledger = tmp_path / "output" / "_spark_metadata"
    ledger.mkdir(parents=True)
    before = Disk(tmp_path)
    (tmp_path / "output" / "part-0.json").write_text('{"n":1}\n{"n":2}\n')
    (tmp_path / "output" / "part-1.json").write_text('{"n":3}\n')
    (ledger / "0").write_text('v1\n{"path":"file:///somewhere/part-0.json"}')
    assert Disk(tmp_path).rows_since(before) == {"0": ["[1]", "[2]"]}


def test_a_query_is_kept_by_what_is_unlike_the_plainest() -> None:
    assert without_defaults({"mode": "update", "limit": None}, {"mode": "append", "limit": None}) == {"mode": "update"}
    assert Asked().reading(folder="in2").sources[0].folder == "in2"


def test_no_two_run_below_the_place_of_one_base() -> None:
    chosen = changes("4.2.0")[:60]
    turns = Turns(chosen, float("inf"))
    one, other = iter(turns), iter(turns)
    under_way = [next(one), next(other)]
    assert under_way[0].base.name != under_way[1].base.name
    done = [*under_way, *one, *other]
    assert sorted(change.id for change in done) == sorted(change.id for change in chosen)
    assert list(Turns(chosen, 0)) == []


def test_releases_make_the_same_rows_from_the_beginning() -> None:
    """So that what one has made need not be made again by another, where nothing speaks against it."""
    for one, other in combinations(recorded(), 2):
        for key in read(one).keys() & read(other).keys():
            made = [read(spark)[key]["truth"].get("scratch") for spark in (one, other)]
            if all(made) and not is_same(read(one)[key]):
                assert are_alike(*made), key


@pytest.mark.parametrize("spark", recorded())
def test_every_record_loads(spark: str, tmp_path: Path) -> None:
    cases = read(spark)
    unpack(spark, tmp_path)
    known = {one.id for one in changes(spark)}
    for key, case in cases.items():
        assert key in known
        assert (tmp_path / base_of(case) / "checkpoint" / "metadata").is_file()
        assert what_became(case)
        if case["described"] is None:
            assert case["truth"]["phase"] == "start", key
        else:
            assert query_of(case["described"]).checkpoint
    assert {base_of(case) for case in cases.values()} == {base_of(case) for case in cases.values() if is_same(case)}
