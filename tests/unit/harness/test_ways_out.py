"""Which ways out are carried out, and what the history says of it. That they work: tests/crash/test_ways_out.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.api import Restarted
from ckpttool.harness.place import JobPlace
from ckpttool.harness.predict import diagnose
from ckpttool.harness.tears import tear
from ckpttool.harness.ways_out import Need, harmless, kept_up_to, needs, operated
from ckpttool.plan import WayOut
from tests.builders import build
from tests.history_builders import Shape, sound_history


@pytest.fixture
def place(tmp_path: Path) -> JobPlace:
    build(tmp_path / "checkpoint", "k0-10 c | k10-30 c | k30-60 c | k60-70")
    return JobPlace(tmp_path)


def ways_out(place: JobPlace, need: Need) -> list[WayOut]:
    restarted = Restarted((4, 2, 0), trigger="available-now", sinks=("noop",), wish=need.wish)
    return harmless(diagnose(place, restarted)[1])


def offered(place: JobPlace, need: Need) -> dict[str, int | None]:
    if need.tear:
        tear(place, need.tear)
    return {option.id: kept_up_to(option.steps) for option in ways_out(place, need)}


def test_one_may_want_to_go_back_or_has_a_torn_file(place: JobPlace) -> None:
    found = [need.name for need in needs(place)]
    assert found[:2] == ["back-to-1", "back-to-0"]
    assert {"metadata-gone", "offsets-cut", "commits-gone"} <= {name.replace("-without-crc", "") for name in found}


def test_going_back_keeps_the_batches_up_to_there(place: JobPlace) -> None:
    found = offered(place, Need(to_batch=1))
    assert found
    assert set(found.values()) == {1}


def test_a_torn_file_has_ways_out_that_promise_no_harm(place: JobPlace) -> None:
    (torn,) = [need for need in needs(place) if need.name.startswith("offsets-cut")]
    assert offered(place, torn)["drop-planned-batch"] == 2


def test_the_history_says_which_hand_helped(place: JobPlace) -> None:
    (way_out, *_) = ways_out(place, Need(to_batch=1))
    case = operated(sound_history(Shape()).case, way_out)
    assert (case.way_out, case.rewound_to, case.prediction) == (way_out.id, 1, None)
    assert case.restarts[0].by_hand[0] == "ckpt apply --take rewind-to-batch"
    assert any(words.startswith("set aside offsets/3") for words in case.restarts[0].by_hand)


def test_and_that_it_was_killed(place: JobPlace) -> None:
    (way_out, *_) = ways_out(place, Need(to_batch=1))
    case = operated(sound_history(Shape()).case, way_out, killed_at=60)
    assert case.restarts[0].by_hand[1] == "killed before operation 60, and resumed"
