"""Whether the rows of a commit are still in the table, told from the commits after it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ckpttool.formats.delta_log import DeltaCommit
from ckpttool.scene.lineage import Fate, follow_rows


def change(
    operation: str,
    removed: Collection[str] = (),
    added: Collection[str] = (),
    *,
    rewrites: bool = False,
    **metrics: str,
) -> DeltaCommit:
    return DeltaCommit(
        8, operation=operation, removed=frozenset(removed), added=frozenset(added), rewrites=rewrites, metrics=metrics
    )


BATCH = DeltaCommit(7, operation="STREAMING UPDATE", added=frozenset("ab"))
OPTIMIZE = change("OPTIMIZE", "abx", "z", rewrites=True)
THERE = Fate()


@pytest.mark.parametrize(
    "later",
    [
        [],
        [change("WRITE", added="c")],
        [change("DELETE", "x", "y")],
        [OPTIMIZE],
        [change("UPDATE", "a", "c")],
        [change("MERGE", "a", "c", numTargetRowsDeleted="0")],
        [change("RESTORE", "ab"), change("RESTORE", "", "ab")],
        [OPTIMIZE, change("RESTORE", "z", "abx")],
        [change("DELETE", "a", "a", numDeletedRows="1"), change("RESTORE", "a", "a")],
    ],
)
def test_the_rows_are_there(later: list[DeltaCommit]) -> None:
    assert follow_rows(BATCH, later) == THERE


@pytest.mark.parametrize(
    "later",
    [
        [change("RESTORE", "ab")],
        [change("RESTORE", "b")],
        [change("DELETE", "ab")],
        [change("DELETE", "a", "c")],
        [change("DELETE", "a", "a", numDeletedRows="1")],
        [change("WRITE", "ab", "c")],
        [OPTIMIZE, change("RESTORE", "z", "x")],
        [OPTIMIZE, change("WRITE", "z", "n")],
        [change("CREATE OR REPLACE TABLE AS SELECT", "ab", "n"), OPTIMIZE],
    ],
)
def test_the_rows_are_gone(later: list[DeltaCommit]) -> None:
    culprit = next(one for one in reversed(later) if one is not OPTIMIZE)
    assert follow_rows(BATCH, later).lost == f"{culprit.operation} in version 8 took its rows out"


@pytest.mark.parametrize(
    "later",
    [[OPTIMIZE, change("DELETE", "z", "y")], [change("MERGE", "a", "c")], [OPTIMIZE, change("MERGE", "z", "y")]],
)
def test_nobody_can_tell(later: list[DeltaCommit]) -> None:
    fate = follow_rows(BATCH, later)
    assert fate.unsure
    assert not fate.lost


def test_a_later_batch_in_complete_mode_repeats_the_rows() -> None:
    later = DeltaCommit(
        8,
        operation="STREAMING UPDATE",
        parameters={"outputMode": "Complete"},
        removed=frozenset("ab"),
        added=frozenset("c"),
    )
    assert follow_rows(BATCH, [later]) == THERE
    assert follow_rows(BATCH, [later, change("RESTORE", "c")]).lost
