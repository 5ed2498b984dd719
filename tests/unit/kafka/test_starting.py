"""Where a new query begins, by the checkpoint and by what the broker has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.kafka.base import BrokerAnswer
from ckpttool.kafka.positions import positions
from ckpttool.kafka.starting import StartingOffsets, starts_beside, starts_from, starts_of
from tests.unit.kafka.scenes import GONE, Offsets, broker, look, query

START: Any = {"t": {0: 10, 1: 5}}


def alone(scene: Any, **renamed: str) -> StartingOffsets:
    [position] = positions(scene)
    return starts_of(position, renamed)


def beside(scene: Any, answer: BrokerAnswer, *, at_least: bool = False, **more: Any) -> StartingOffsets:
    [view] = look(scene, answer, **more)
    return starts_beside(view, None, at_least_earliest=at_least)


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        (query({"t": {0: 1}}, START), {"t": {"0": 10, "1": 5}}),
        (query(START, {"t": {0: 99, 1: 99}}, replay=True), {"t": {"0": 10, "1": 5}}),
        (query({"t": {0: 99}}, replay=True, initial={"t": {0: 4}}), {"t": {"0": 4}}),
        (query({"t": {0: 7}}, {"t": {0: 9, 1: 3}}, replay=True), {"t": {"0": 7, "1": -2}}),
    ],
    ids=["committed", "uncommitted", "first batch uncommitted", "partition added by the replay"],
)
def test_without_a_broker(scene: Any, expected: dict[str, dict[str, int]]) -> None:
    found = alone(scene)
    assert json.loads(found.option) == expected
    assert all(start.is_good for start in found.starts)
    assert "no broker was asked" in found.notes[-1]


def test_under_another_name() -> None:
    assert alone(query(START), t="eu.t").offsets == {"eu.t": {"0": 10, "1": 5}}


@pytest.mark.parametrize(
    ("has", "offset", "clamped", "lost"),
    [
        ((0, 50), 10, 10, 0),
        ((10, 10), 10, 10, 0),
        ((30, 50), 10, 30, 20),
        ((0, 4), 10, 0, None),
        ((3, 50, 3), 10, 3, None),
    ],
    ids=["there", "caught up", "aged out", "cut back", "made anew"],
)
def test_beside_a_broker(has: Any, offset: int, clamped: int, lost: int | None) -> None:
    answer = broker({"t": {0: has}})
    plain, least = (beside(query({"t": {0: 10}}), answer, at_least=at_least) for at_least in (False, True))
    assert plain.offsets == {"t": {"0": offset}}
    assert least.offsets == {"t": {"0": clamped}}
    assert plain.starts[0].lost == least.starts[0].lost == lost
    assert plain.starts[0].is_good == (lost == 0)


def test_spark_wants_all_partitions_and_no_other() -> None:
    answer = broker({"t": {0: (0, 50), 2: (0, 8)}})
    found = beside(query(START), answer)
    assert found.offsets == {"t": {"0": 10, "2": 0}}
    assert any(note.startswith("t-1: left out") for note in found.notes)
    assert beside(query(START), broker({"t": GONE})).offsets == {}
    assert beside(
        query({"t": {0: 1}, "u": {0: 2}}, subscribe="u"), broker({"t": {0: (0, 9)}, "u": {0: (0, 9)}})
    ).offsets == {"u": {"0": 2}}


def test_by_time() -> None:
    answer = broker({"t": {0: (0, 50, 30), 1: (0, 50, 2), 2: (0, 7, 7)}})
    [view] = look(query(START), answer)
    found = starts_from(view, None, answer)
    assert found.offsets == {"t": {"0": 30, "1": 2, "2": 7}}
    assert [(start.lost, start.repeated) for start in found.starts] == [(20, 0), (0, 3), (None, None)]
    assert found.total_lost == 20
    assert any("read again: 3 rows" in note for note in found.notes)


def test_what_is_lost_is_said() -> None:
    found = beside(query({"orders": {3: 10}}), broker({"orders": {3: (30, 50)}}), at_least=True)
    assert found.notes == ("orders-3: lost: 20 rows between 10 and 30", "20 rows will never be read")
    plain = beside(query({"orders": {3: 10}}), broker({"orders": {3: (30, 50)}}))
    assert "cannot begin at 10: --at-least earliest" in plain.notes[0]


def test_thousands_of_notes_are_a_few() -> None:
    start: Offsets = {"t": dict.fromkeys(range(5000), 10)}
    found = beside(query(start), broker({"t": dict.fromkeys(range(5000), (30, 50))}), at_least=True)
    assert len(found.notes) < 20
    assert found.total_lost == 5000 * 20
