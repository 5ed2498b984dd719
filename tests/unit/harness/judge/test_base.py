"""What every property looks at: the commits whose rows are in the table, the batch that has to run again."""

from __future__ import annotations

import pytest

from ckpttool.harness.history import Disk, ObservedCommit
from ckpttool.harness.judge import Invalid, Valid
from ckpttool.harness.judge.base import (
    Anomaly,
    Facts,
    canonical,
    conclude,
    is_planned_and_uncommitted,
    live_commits,
    pick,
    some,
)
from tests.history_builders import Shape, sound_history


def commit(version: int, restored_to: int | None = None) -> ObservedCommit:
    return ObservedCommit(version=version, operation="WRITE", restored_to=restored_to)


@pytest.mark.parametrize(
    ("log", "live"),
    [
        ([], []),
        ([commit(0), commit(1), commit(2)], [0, 1, 2]),
        ([commit(0), commit(1), commit(2), commit(3, restored_to=0), commit(4)], [0, 4]),
        ([commit(0), commit(1), commit(2, restored_to=0), commit(3), commit(4, restored_to=3)], [0, 3]),
    ],
    ids=["none", "no restore", "one restore", "a restore behind a restore"],
)
def test_a_restore_takes_out_what_came_after(log: list[ObservedCommit], live: list[int]) -> None:
    assert [one.version for one in live_commits(log)] == live


@pytest.mark.parametrize(
    ("planned", "committed", "again"),
    [((), (), None), ((0,), (), 0), ((0, 1), (0, 1), None), ((0, 1), (0,), 1), ((0,), (0, 1), None)],
)
def test_the_newest_plan_runs_again_unless_it_is_committed(
    planned: tuple[int, ...], committed: tuple[int, ...], again: int | None
) -> None:
    disk = Disk(offsets=dict.fromkeys(planned, "v1"), commits=dict.fromkeys(committed, "v1"))
    assert is_planned_and_uncommitted(disk) == again


def test_only_as_many_rows_are_picked_as_are_wanted_of_each_name() -> None:
    history = sound_history(Shape())
    facts = Facts(history.run, history.case)
    first, second, *_ = history.case.after.visible or ()
    rows = (first, first, second)
    assert pick(rows, facts.identity, facts.named([first])) == ((first,), (first, second))
    assert pick(rows, facts.identity, facts.named(rows)) == (rows, ())


def test_equal_values_have_one_text() -> None:
    assert canonical({"a": 1, "b": [2]}) == canonical({"b": [2], "a": 1}) != canonical({"a": "1", "b": [2]})


def test_one_anomaly_is_enough() -> None:
    assert conclude([], "all there") == Valid("all there")
    assert isinstance(conclude([Anomaly("row-lost", "one is missing")]), Invalid)


def test_a_few_stand_for_many() -> None:
    assert some(range(3)) == "0, 1, 2"
    assert some(range(7)) == "0, 1, 2, 3, 4 and 2 more"
