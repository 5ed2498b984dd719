"""What only a person can know has an id, and is asked once."""

from __future__ import annotations

import pytest

from ckpttool.plan.conditions import Condition, as_written, conditions_of, of_undo
from ckpttool.plan.cost import FREE, UNKNOWN, Cost
from ckpttool.plan.steps import Check, DeltaRestore, Manual, SetAside, Spark, Step


@pytest.mark.parametrize(
    ("cost", "names_sinks", "asked"),
    [
        (FREE, True, []),
        (FREE, False, []),
        (Cost(10, 0, 0), False, []),
        (UNKNOWN, False, ["sink-unnamed"]),
        (UNKNOWN, True, ["rows-lost", "rows-twice"]),
        (Cost(0, 5, 0), True, ["rows-lost"]),
        (Cost(0, 5, 0), False, ["sink-unnamed", "rows-lost"]),
        (Cost(0, 0, 7), True, ["rows-twice"]),
    ],
)
def test_loss_and_doubles_are_asked_for(cost: Cost, names_sinks: bool, asked: list[str]) -> None:
    told = list(conditions_of(cost, (), names_sinks=names_sinks))
    assert [one.id for one in told] == asked
    assert all(one.who == "you" for one in told)


def test_how_many_is_told() -> None:
    (lost,) = conditions_of(Cost(0, 12345, 0), (), names_sinks=True)
    assert "12,345" in lost.text


def test_what_a_repair_asks_itself_is_not_asked_again() -> None:
    own = [Condition("sink-unnamed", "name it"), Condition("rows-lost", "5 rows of orders"), Condition("other", "x")]
    assert list(conditions_of(Cost(0, 5, 0), [*own, *own], names_sinks=False)) == own


def test_whose_word_is_taken_for_files_that_spark_did_not_write() -> None:
    one, two = as_written(["sources/0/2"]), as_written(["sources/0/2", "state/0/0/3.delta"])
    assert (one.id, one.who, two.id) == ("files-as-written", "you", "files-as-written")
    assert one.text.startswith("sources/0/2 says what Spark wrote there")
    assert two.text.startswith("sources/0/2, state/0/0/3.delta say what Spark wrote there")


GO = SetAside(path="offsets/3", why="", shell="")
RESTORE = DeltaRestore(table="/lake/orders", version=3, why="", shell="")
BY_SPARK = Spark(program="RESTORE", check=Check("delta", "/lake/orders", 3, 5), why="", shell="")
ROLL_BACK = Spark(program="CALL", check=Check("iceberg", "/lake/orders", 3, 5), why="", shell="")
BY_A_PERSON = Manual(text="set them aside", target="state", why="", shell="")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([GO], []),
        ([RESTORE, GO], ["undo-before-vacuum"]),
        ([BY_SPARK], ["undo-by-hand", "undo-before-vacuum"]),
        ([ROLL_BACK], ["undo-by-hand", "undo-before-expiry"]),
        ([GO, BY_A_PERSON], ["undo-by-hand"]),
    ],
)
def test_how_far_it_can_be_taken_back_is_told_and_nobody_is_asked(steps: list[Step], told: list[str]) -> None:
    found = list(of_undo(steps))
    assert [one.id for one in found] == told
    assert all(one.who == "ckpt" for one in found)
    assert all("/lake/orders" in one.text for one in found if one.id != "undo-by-hand")
