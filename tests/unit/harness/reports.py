"""Histories in files, and what `ckpt crash-test report` makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ckpttool.harness.history import Case, Histories
from ckpttool.harness.history_json import encode_histories
from tests.conftest import run_ckpt
from tests.history_builders import History

KNOWN_BAD = Path(__file__).parents[2] / "known_bad"


def write(path: Path, history: History, *cases: Case) -> Path:
    path.write_text(encode_histories(Histories(history.run, cases or (history.case,))), encoding="utf-8")
    return path


def report(*paths: Path | str, form: str = "json") -> tuple[int, Any]:
    outcome = run_ckpt("crash-test", "report", *map(str, paths), "--format", form)
    assert "Traceback" not in outcome.err
    return outcome.code, json.loads(outcome.out) if form == "json" and outcome.out else outcome.out
