"""Lines of a Delta source that Delta refuses, and when it comes to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.laws.inputs.delta_lines import LAST_RANGE, TOLD
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Failure, Scene, Start
from tests.unit.laws.inputs.places import NEWEST, Place, offset

NEWER = offset(5).replace('"sourceVersion": 1', '"sourceVersion": 4')


def stopped(place: Place) -> tuple[str, str | None, str] | None:
    (law,) = LAST_RANGE
    assert law.check
    evidence = gather_evidence(load_checkpoint(open_store(str(place.checkpoint))))
    failure = law.check(Scene(evidence, Start(NEWEST)))
    assert isinstance(failure, Failure | None)
    return (failure.phase, failure.condition, failure.path) if failure else None


TOO_NEW, MALFORMED = "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION", "DELTA_INVALID_SOURCE_OFFSET_FORMAT"


@pytest.mark.parametrize(("committed", "phase"), [(True, "init"), (False, "batch")])
def test_the_end_is_parsed_before_the_start(tmp_path: Path, committed: bool, phase: str) -> None:
    place = Place(tmp_path)
    place.batch(0, "{")
    place.batch(1, NEWER, committed=committed)
    assert stopped(place) == (phase, TOO_NEW, "offsets/1")
    place.batch(1, offset(5), committed=committed)
    assert stopped(place) == (phase, MALFORMED, "offsets/0")
    place.batch(0, offset(4))
    assert stopped(place) is None


def test_a_first_batch_that_runs_again_is_asked_for_before_it_does(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4))
    place.batch(1, NEWER, committed=False)
    assert stopped(place) == ("batch", TOO_NEW, "offsets/1")
    place.batch(0, NEWER)
    assert stopped(place) == ("init", TOO_NEW, "offsets/1")


def test_what_delta_takes_is_no_obstacle_whatever_it_looks_like(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4))
    place.batch(1, '{"sourceVersion":1}')
    assert stopped(place) is None


@pytest.mark.parametrize(
    ("start", "end", "odd"),
    [
        (offset(4), offset(5), 0),
        (offset(4, 2, initial=True), offset(5), 0),
        (offset(4), '{"sourceVersion":1,"reservoirVersion":5}', 1),
        (offset(5), offset(4), 1),
        (offset(4), offset(4, 0, initial=True), 1),
        (offset(4), "{", 0),
    ],
)
def test_what_delta_takes_and_never_wrote_is_told(tmp_path: Path, start: str, end: str, odd: int) -> None:
    place = Place(tmp_path)
    place.batch(0, start)
    place.batch(1, end, committed=False)
    (law,) = TOLD
    assert law.look
    evidence = gather_evidence(load_checkpoint(open_store(str(place.checkpoint))))
    told = list(law.look(Scene(evidence, Start(NEWEST))))
    assert [(one.id, one.severity, one.path) for one in told] == [("delta-offset-odd", "error", "offsets/1")] * odd
