"""Steps as they are read: what goes together in one line, and how much it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ckpttool.apply.plan_file import FileMark, PlannedStep
from ckpttool.report.views.plan_steps import spell_size, spell_steps


def step(n: int, kind: Any, target: Any = "logs", **fields: Any) -> PlannedStep:
    return PlannedStep(n, kind, target, "why", True, **fields)


def gone(n: int, path: str, target: Any = "logs") -> PlannedStep:
    return step(n, "set_aside", target, path=path)


def told(*steps: PlannedStep, **sizes: int) -> list[str]:
    marks = [FileMark(path.replace("_", "/"), size=size) for path, size in sizes.items()]
    plan: Any = SimpleNamespace(steps=steps, relies_on=SimpleNamespace(files=marks))
    return list(spell_steps(plan))


def test_what_goes_from_the_logs_is_one_line() -> None:
    paths = ["commits/.5.crc", "commits/5", "offsets/5", "commits/4", "offsets/4", "commits/3", "offsets/3"]
    lines = told(*(gone(n, path) for n, path in enumerate(paths, 1)), commits_5=10, offsets_5=1_500)
    assert lines == ["1 set aside commits/5 … 3, offsets/5 … 3  [2 files, 1.5 KB]"]


def test_what_is_no_row_of_numbers_is_listed() -> None:
    assert told(*(gone(n, f"offsets/{n}{n}") for n in range(1, 7))) == ["1 set aside offsets/11, 22, 33, 44 and 2 more"]
    assert told(gone(1, "offsets/.7.tmp")) == ["1 set aside offsets/.7.tmp"]


def test_a_directory_counts_with_what_is_in_it() -> None:
    lines = told(gone(1, "state", "state"), state_0=3, state_1=4, stated=5)
    assert lines == ["1 set aside files of the state  [2 files, 7 bytes]"]


def test_a_table_goes_back_in_one_commit() -> None:
    restore = step(1, "delta_restore", "sink", table="/lake/t", version=7)
    lower = step(2, "delta_txn", "sink", table="/lake/t", version=3, app_id="q")
    assert told(restore, lower, step(3, "write", path="offsets/4", content="")) == [
        "1 restore /lake/t to version 7 and lower its record to batch 3 (one commit)",
        "2 write offsets/4",
    ]
    assert told(lower) == ["1 lower its record of /lake/t to batch 3 (one commit)"]


def test_who_takes_it_if_not_we() -> None:
    steps = [
        step(1, "spark", "sink", program="RESTORE t"),
        step(2, "manual", "sink", text="ask"),
        step(3, "conf", "query", k="a", v="b"),
    ]
    assert told(*steps) == ["1 by Spark: RESTORE t", "2 by hand: ask", "3 start with a=b"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (3_100_000_000, "3.1 GB"), (10**16, "10000.0 TB")],
)
def test_sizes(size: int, text: str) -> None:
    assert spell_size(size) == text
