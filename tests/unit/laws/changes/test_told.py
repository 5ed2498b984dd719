"""What doctor tells of a query that was described: whether its operators are those that wrote the state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import gather_evidence, open_checkpoint
from ckpttool.api import Restarted
from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.look import check_up
from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import Query
from tests.conftest import run_ckpt
from tests.unit.checkup.checkups import MUCH_LATER_MS

ID = "operator-changed"


def described(root: Path) -> Query:
    return query_of(gather_evidence(open_checkpoint(str(root))))


def checked(root: Path, query: Query | None) -> Checkup:
    return check_up(str(root), Restarted(query=query), now_ms=MUCH_LATER_MS)


@pytest.mark.parametrize("spark", ["4.2.0", "3.5.7"])
def test_an_operator_that_is_another(sample: Callable[[str], Path], spark: str) -> None:
    root, other = (sample(f"{spark}-{kind}-hdfs-sound") / "checkpoint" for kind in ("windowed-agg", "dedup"))
    found = checked(root, described(other))
    told = {one.finding.id: one.finding for one in found.findings}
    assert ID in told
    assert (found.verdict, found.exit_code) == ("unfit", 1)
    assert told[ID].spark
    assert {check.law.id: check.result for check in found.checks}[ID] == "found"


@pytest.mark.parametrize("spark", ["4.2.0", "3.5.7"])
def test_the_same_operators(sample: Callable[[str], Path], spark: str) -> None:
    root = sample(f"{spark}-windowed-agg-hdfs-sound") / "checkpoint"
    same, unasked = checked(root, described(root)), checked(root, None)
    results = [{check.law.id: check for check in one.checks}[ID] for one in (same, unasked)]
    assert [one.result for one in results] == ["passed", "not_looked"]
    assert results[1].look == "--query FILE"


def test_a_description_that_was_saved(sample: Callable[[str], Path], tmp_path: Path) -> None:
    root = sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint"
    other = sample("4.2.0-dedup-hdfs-sound") / "checkpoint"
    saved = tmp_path / "orders.json"
    saved.write_text(run_ckpt("query", "describe", str(other), "--format", "json").out)
    outcome = run_ckpt("doctor", str(root), "--query", str(saved), "--format", "json")
    assert (outcome.code, json.loads(outcome.out)["verdict"]) == (1, "unfit")
    for given, code in ((tmp_path / "nowhere.json", 2), (root / "metadata", 6)):
        refused = run_ckpt("doctor", str(root), "--query", str(given))
        assert (refused.code, "Traceback" in refused.err) == (code, False)
