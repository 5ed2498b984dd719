"""A history as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.conftest import run_ckpt
from tests.history_builders import History
from tests.unit.harness.reports import write


def test_deep_values_are_refused(tmp_path: Path, sound: History) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    history = replace(sound, run=replace(sound.run, records=(replace(sound.run.records[0], fields={"id": deep}),)))
    outcome = run_ckpt("crash-test", "report", str(write(tmp_path / "a.jsonl", history)))
    assert outcome.code == 4
    assert "nested" in outcome.err
