"""`ckpt query describe` over what needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import run_ckpt

NAME = "4.2.0-windowed-agg-hdfs-sound"


def test_a_checkpoint_is_described(sample: Callable[[str], Path]) -> None:
    outcome = run_ckpt("query", "describe", str(sample(NAME) / "checkpoint"))
    assert outcome.code == 0
    assert outcome.out.startswith("the query of this checkpoint")
    assert "stateStoreSave" in outcome.out
    assert "Not told: " in outcome.out


def test_a_description_describes_itself(sample: Callable[[str], Path], tmp_path: Path) -> None:
    described = run_ckpt("query", "describe", str(sample(NAME) / "checkpoint"), "--format", "json")
    saved = tmp_path / "deployed.json"
    saved.write_text(described.out)
    again = run_ckpt("query", "describe", f"{saved}::1", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out) == json.loads(described.out)
    assert run_ckpt("query", "describe", f"{saved}::orders").code == 4


def test_what_is_no_description_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"schema": "ckpt.plan/1"}')
    outcome = run_ckpt("query", "describe", str(tmp_path / "bad.json"))
    assert outcome.code == 6
    assert outcome.err == (
        "ckpt: this is no description of a query: it has no schema ckpt.query/1\n"
        "      describe the query anew: ckpt query describe JOB.py\n"
    )
