"""How a rehearsal is told: the first line answers, and the exit status says the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import ObservedFailure
from ckpttool.rehearsal.copying import CheckpointClone
from ckpttool.rehearsal.model import CodeRun, Rehearsal
from ckpttool.rehearsal.rows import RowComparison, compare
from ckpttool.rehearsal.view import exit_code_of, rehearsal_document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain

OLD = CodeRun("old", "done", spark_version="4.2.0", rows_in=4, rows_out=2, state_rows={0: (2, 3)}, seconds=8.12)
NEW = replace(OLD, which="new")
FAILED = replace(
    NEW,
    outcome="failed",
    error=ObservedFailure(
        class_name="java.lang.AssertionError", condition=None, message="no", phase="init", batch_id=None
    ),
)
FOUND = Rehearsal(
    checkpoint="/data/checkpoints/orders",
    batch_ids=[5],
    range=[],
    clone=CheckpointClone(Path("/work"), 23, 4096, 0.4),
    runs=[OLD, NEW],
    rows=RowComparison(same=2),
    not_rehearsed=["batches after 5"],
    touched=[],
)
CHANGED = compare(['{"k":"a","s":1}', '{"k":"b","s":1}'], ['{"k":"a","s":2}', '{"k":"c","s":1}'], ["k"])


@pytest.mark.parametrize(
    ("found", "verdict", "code", "line"),
    [
        (FOUND, "same", 0, "This deploy loses 0, doubles 0, changes 0 rows."),
        (
            replace(FOUND, rows=CHANGED),
            "rows_differ",
            1,
            "This deploy loses 1, doubles 0, adds 1, changes 1 row.",
        ),
        (
            replace(FOUND, rows=None, runs=[OLD, FAILED]),
            "failed",
            1,
            "This deploy fails: Spark 4.2.0 ends the new code with java.lang.AssertionError.",
        ),
        (
            replace(FOUND, rows=None, runs=[NEW]),
            "unknown",
            3,
            "What this deploy changes is not known: the new code makes 2 rows, and there are none of the old code.",
        ),
        (replace(FOUND, touched=["/data/checkpoints/orders/offsets/6"]), "same", 1, None),
    ],
)
def test_the_first_line_answers(found: Rehearsal, verdict: str, code: int, line: str | None) -> None:
    fields = rehearsal_document(found).fields()
    text = "".join(render(rehearsal_document(found), "text", plain))
    assert (fields["verdict"], exit_code_of(found)) == (verdict, code)
    assert line is None or text.splitlines()[0] == line
    assert fields["production_untouched"] is not found.touched


def test_rows_that_may_belong_together_are_not_told_as_lost_without_a_hint() -> None:
    alone = compare(['{"k":"a","s":1}'], ['{"k":"a","s":2}'])
    texts = ["".join(render(rehearsal_document(replace(FOUND, rows=rows)), "text", plain)) for rows in (alone, CHANGED)]
    assert ["--identity" in text for text in texts] == [True, False]


def test_each_difference_is_shown_with_both_rows() -> None:
    text = "".join(render(rehearsal_document(replace(FOUND, rows=CHANGED)), "text", plain))
    assert [line.split() for line in text.splitlines() if "k=" in line] == [
        ["k=a", "k=a,", "s=1", "k=a,", "s=2"],
        ["k=b", "k=b,", "s=1", "-"],
        ["k=c", "-", "k=c,", "s=1"],
    ]
