"""A sink that skips a batch skips it for all that is said: the verdict, the state that no task opens, the way out.

The scenes are a windowed query with a pending batch, and its sink as it may be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coherence.laws import LAWS, harm_has_a_way_out_or_a_refusal_that_is_about_it
from tests.coherence.tables import FAR_AHEAD_MS, LONG_AGO_MS, PENDING, Record, cut_state, delta_table, stateful_query
from tests.coherence.told import Told

# Each with whether Spark skips the pending batch under it.
RECORDS = {
    "no record": (Record(None), False),
    "the batch before": (Record(PENDING - 1), False),
    "the batch": (Record(PENDING), True),
    "a later batch": (Record(PENDING + 1), True),
    "the batch, written long before the plan": (Record(PENDING, written_ms=-50_000), True),
    "the batch, written just before the plan": (Record(PENDING, written_ms=-500), True),
    "the batch, expired": (Record(PENDING, updated_ms=LONG_AGO_MS, retention=True), False),
    "the batch, not yet expired": (Record(PENDING, updated_ms=FAR_AHEAD_MS, retention=True), True),
}
NO_WAY_OUT = {"the batch, expired"}


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Told]:
    def of(name: str, *, cut: bool = False) -> Told:
        checkpoint = stateful_query(tmp_path)
        table = delta_table(checkpoint, RECORDS[name][0])
        if cut:
            cut_state(checkpoint)
        return Told(checkpoint, ("--sink", str(table), "--spark-version", "4.2.0"))

    return of


@pytest.mark.parametrize("name", RECORDS)
def test_the_verdict_is_skipped_if_and_only_if_the_sink_skips(name: str, told: Callable[..., Told]) -> None:
    [verdict] = told(name).verdicts
    assert verdict.startswith("skipped") == RECORDS[name][1]


@pytest.mark.parametrize("name", RECORDS)
def test_state_that_cannot_be_loaded_stops_every_batch_but_a_skipped_one(name: str, told: Callable[..., Told]) -> None:
    assert (told(name, cut=True).restart["outcome"] == "replay") == RECORDS[name][1]


@pytest.mark.parametrize("name", RECORDS)
def test_harm_has_a_way_out_or_a_reason_why_there_is_none(name: str, told: Callable[..., Told]) -> None:
    assert list(harm_has_a_way_out_or_a_refusal_that_is_about_it(told(name))) == []


@pytest.mark.parametrize("cut", [False, True], ids=["sound state", "state cut short"])
@pytest.mark.parametrize("name", RECORDS)
def test_every_other_law_holds(name: str, cut: bool, told: Callable[..., Told]) -> None:
    others = [law for law in LAWS if law is not harm_has_a_way_out_or_a_refusal_that_is_about_it]
    seen = told(name, cut=cut)
    assert {law.__name__: broken for law in others if (broken := list(law(seen)))} == {}


@pytest.mark.parametrize("has_it", [True, False])
def test_a_file_sink_that_has_the_batch_is_not_asked_for_its_state(has_it: bool, tmp_path: Path) -> None:
    checkpoint = stateful_query(tmp_path)
    if not has_it:
        (tmp_path / "output" / "_spark_metadata" / str(PENDING)).unlink()
    options = ("--sink", str(tmp_path / "output"), "--spark-version", "4.2.0")
    [verdict] = Told(checkpoint, options).verdicts
    assert verdict.startswith("skipped") == has_it
    cut_state(checkpoint)
    assert Told(checkpoint, options).restart["outcome"] == ("replay" if has_it else "error")
