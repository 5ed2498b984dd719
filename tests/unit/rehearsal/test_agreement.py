"""What a batch showed beside what was said of the deploy."""

from __future__ import annotations

import pytest

from ckpttool.laws.changes.judge import Verdict
from ckpttool.rehearsal.agreement import judged
from ckpttool.rehearsal.model import CodeRun
from ckpttool.rehearsal.rows import RowComparison

DONE, FAILED = CodeRun("new", "done"), CodeRun("new", "failed")
SAME, DIFFER = RowComparison(same=1), RowComparison(changed=1)


@pytest.mark.parametrize(
    ("verdict", "is_changed", "new", "rows", "agree"),
    [
        ("accepted", False, DONE, SAME, True),
        ("accepted", False, DONE, DIFFER, False),
        ("accepted", True, DONE, DIFFER, True),
        ("accepted", True, FAILED, None, False),
        ("accepted", False, DONE, None, None),
        ("rows_differ", True, DONE, DIFFER, True),
        ("rows_differ", True, DONE, SAME, None),
        ("rows_differ", True, FAILED, None, False),
        ("refused", True, FAILED, None, True),
        ("refused", True, DONE, SAME, False),
        ("unknown", True, DONE, DIFFER, None),
    ],
)
def test_a_batch_agrees_as_far_as_it_shows(
    verdict: Verdict, is_changed: bool, new: CodeRun, rows: RowComparison | None, agree: bool | None
) -> None:
    assert judged(verdict, is_changed, new, rows) is agree
