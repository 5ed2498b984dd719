"""`ckpt scan`: its options, its exit status, and what it says of a fleet as a whole."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

DAY_MS = 86_400_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Their batches are of 2023."""
    build(tmp_path / "orders", "k0-10 c")
    (tmp_path / "docs" / "readme").mkdir(parents=True)
    return tmp_path


def test_a_checkpoint_itself_is_found(place: Path) -> None:
    outcome = run_ckpt("scan", f"{place}/orders", "--depth", "0")
    assert outcome.code == 0
    assert "1 checkpoint: 1 sound." in outcome.out


def test_nothing_found_and_nothing_there_are_not_found(place: Path) -> None:
    assert run_ckpt("scan", f"{place}/docs").code == 4
    assert run_ckpt("scan", f"{place}/nowhere").code == 4


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_without_pyspark_the_spark_engine_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    for name in [name for name in sys.modules if name.startswith("pyspark.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "ckpttool.spark.scan", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    outcome = run_ckpt("scan", str(place), "--engine", "spark", "--format", form)
    assert outcome.code == 6
    assert "--engine spark needs pyspark" in outcome.err
    assert "pip install pyspark" in outcome.err
    assert form != "json" or json.loads(outcome.out)["error"]["exit_code"] == 6


@pytest.mark.parametrize("given", ["30", "d", "30 days", "-1d", "1.5h", "3m", "2w", "10000000000s"])
def test_a_duration_has_a_number_and_a_unit(place: Path, given: str) -> None:
    outcome = run_ckpt("scan", str(place), "--stale-after", given)
    assert outcome.code == 2
    assert "expected a number and one of s, min, h and d, like 30d" in outcome.err


@pytest.mark.parametrize(
    ("given", "deserted"),
    [("1s", True), ("90min", True), ("24h", True), ("1d", True), ("365d", True), ("36500d", False)],
)
def test_what_had_no_batch_for_so_long_is_deserted(place: Path, given: str, deserted: bool) -> None:
    make_old(place / "orders")
    told = json.loads(run_ckpt("scan", str(place), "--stale-after", given, "--format", "json").out)
    assert [one["deserted"] for one in told["checkpoints"]] == [deserted]
    said = run_ckpt("scan", str(place), "--stale-after", given)
    assert said.code == 0, "that is no fault of the checkpoint"
    assert f"\n{int(deserted)} deserted: no batch for more than " in said.out
    assert (", deserted" in said.out) == deserted


def make_old(checkpoint: Path) -> None:
    """As it was when its batch ran: a commit is dated by its file."""
    for path in checkpoint.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def test_without_the_option_nothing_is_called_deserted(place: Path) -> None:
    told = json.loads(run_ckpt("scan", str(place), "--format", "json").out)
    assert [one["deserted"] for one in told["checkpoints"]] == [None]
    assert "deserted" not in run_ckpt("scan", str(place)).out


def test_copies_are_told(place: Path) -> None:
    """Both were built with the same query id, and read the same topic."""
    build(place / "copies" / "orders", "k10-20 c")
    outcome = run_ckpt("scan", str(place))
    assert "\nShared\n  query id " in outcome.out
    assert ": copies/orders, orders\n  source kafka t: copies/orders, orders\n" in outcome.out
    told = json.loads(run_ckpt("scan", str(place), "--format", "json").out)["shared"]
    assert [(one["what"], one["kind"]) for one in told] == [("query id", None), ("source", "kafka")]
    assert {tuple(one["checkpoints"]) for one in told} == {(f"{place}/copies/orders", f"{place}/orders")}


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_where_nobody_looked_is_said_beside_lines_too(place: Path, form: str) -> None:
    outcome = run_ckpt("scan", str(place), "--depth", "1", "--format", form)
    said = outcome.out if form == "text" else outcome.err
    assert "Not looked into, since --depth is 1: docs/readme." in said
    if form == "jsonl":
        assert [json.loads(line)["checkpoint"] for line in outcome.out.splitlines()] == [f"{place}/orders"]
