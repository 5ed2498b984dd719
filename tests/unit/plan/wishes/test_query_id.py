"""Another id: which one, and what the sinks make of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.plan import Plan, Write
from ckpttool.plan.wishes import QueryId
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from tests.builders import EPOCH_MS, QUERY_ID, build
from tests.unit.plan.plans import KAFKA, STORY, delta, look, rows
from tests.unit.plan.wishes.asked import to_accept, why

OTHER = "11111111-2222-4333-8444-555555555555"
PENDING = f"{STORY} | k60-100"


def of(other: str, *batches: int) -> SinkEvidence:
    """A table that another query wrote, under this id."""
    writes = tuple(SinkWrite(f"version {one}", EPOCH_MS * 2, other, one, one, rows=10) for one in batches)
    return replace(delta(0), ledger=(LedgerEntry(other, batches[-1]),), writes=writes)


def written(plan: Plan) -> str:
    (way,) = plan.options
    return [step.content for step in way.steps if isinstance(step, Write)][-1]


def test_the_one_that_was_given(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, STORY), delta(0, 1, 2), wish=QueryId(OTHER.upper()))
    assert written(plan) == f'{{"id":"{OTHER}"}}'
    assert (rows(plan.options[0]), to_accept(plan.options[0])) == ((0, 0, 0), [])
    assert "stops the first" in (plan.options[0].trap or "")


def test_a_new_one_is_the_same_each_time_it_is_planned(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    first, again = (written(look(tmp_path, KAFKA, wish=QueryId())[0]) for _ in range(2))
    assert first == again
    assert QUERY_ID not in first


def test_the_one_that_a_sink_knows(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, STORY), of(OTHER, 0, 1, 2), wish=QueryId(from_sink=True))
    assert written(plan) == f'{{"id":"{OTHER}"}}'
    assert "wrote batch 2" in plan.options[0].title


@pytest.mark.parametrize(
    ("sinks", "reason"),
    [
        ((), "no sink was named"),
        ((KAFKA,), "none does"),
        ((of(OTHER, 0),), "none does"),
        ((of(OTHER, 0, 1, 2), of(OTHER.replace("1", "9"), 0, 1, 2)), "several do"),
    ],
)
def test_a_sink_may_not_tell(sinks: tuple[SinkEvidence, ...], reason: str, tmp_path: Path) -> None:
    assert reason in why(look(build(tmp_path, STORY), *sinks, wish=QueryId(from_sink=True))[0])


def test_a_sink_that_would_skip_what_is_to_come_is_told(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, STORY), of(OTHER, 0, 1, 2, 3, 4), wish=QueryId(OTHER))
    assert "would skip them" in why(plan)


@pytest.mark.parametrize("wish", [QueryId(), QueryId(OTHER)], ids=["new", "given"])
def test_a_sink_that_has_what_runs_again_is_not_given_it_once_more(wish: QueryId, tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, PENDING), delta(0, 1, 2, 3), wish=wish)
    assert "once more" in why(plan)
    assert look(tmp_path, delta(0, 1, 2), wish=wish)[0].options, "it does not have it yet"


def test_of_a_sink_that_nobody_named_it_is_asked(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    assert to_accept(look(tmp_path, wish=QueryId(OTHER))[0].options[0]) == ["sink-unnamed"]
    assert to_accept(look(tmp_path, wish=QueryId())[0].options[0]) == []


@pytest.mark.parametrize("text", ["", "x", "1-2-3-4-5", f"{OTHER}\n", f"{{{OTHER}}}"])
def test_what_is_no_id_is_refused(text: str, tmp_path: Path) -> None:
    assert "is not a UUID" in why(look(build(tmp_path, STORY), KAFKA, wish=QueryId(text))[0])


def test_the_id_that_it_has_is_no_change(tmp_path: Path) -> None:
    assert "stands there already" in why(look(build(tmp_path, STORY), KAFKA, wish=QueryId(QUERY_ID))[0])
