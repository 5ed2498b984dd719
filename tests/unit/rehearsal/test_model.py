"""What follows from what was seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.rehearsal.copying import CheckpointClone
from ckpttool.rehearsal.model import CodeRun, Outcome, Rehearsal, Verdict
from ckpttool.rehearsal.rows import RowComparison


@pytest.mark.parametrize(
    ("new", "rows", "verdict"),
    [
        ("done", RowComparison(same=3), "same"),
        ("done", RowComparison(only_new=1), "rows_differ"),
        ("done", RowComparison(changed=1), "rows_differ"),
        ("done", None, "unknown"),
        ("not_reached", None, "unknown"),
        ("failed", None, "failed"),
    ],
)
def test_the_verdict_is_of_the_new_code(new: Outcome, rows: RowComparison | None, verdict: Verdict) -> None:
    clone = CheckpointClone(Path("/work"), 1, 1, 0)
    runs = [CodeRun("old", "done"), CodeRun("new", new)]
    assert Rehearsal("/ck", [1], [], clone, runs, rows, (), ()).verdict == verdict
