"""What plan-recovery is told of a restart, and what the history keeps of its answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import Sink
from ckpttool.harness.place import JobPlace
from ckpttool.harness.predict import as_prediction, as_restarted, diagnose
from tests.builders import build
from tests.history_builders import History


@pytest.fixture
def place(tmp_path: Path) -> JobPlace:
    build(tmp_path / "checkpoint", "k0-10 c | k10-30")
    (tmp_path / "sink").mkdir()
    return JobPlace(tmp_path)


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        (Sink(kind="delta", path="/elsewhere", ledger=True), None),
        (Sink(kind="foreachBatch", path="/elsewhere", ledger=False), "foreachBatch"),
        (Sink(kind="delta", path="/elsewhere", ledger=False), "foreachBatch"),
        (Sink(kind="kafka", path="kafka://b/t", ledger=False), "kafka"),
    ],
)
def test_a_sink_with_a_record_is_read_where_it_lies_and_others_are_named(
    place: JobPlace, sound: History, sink: Sink, told: str | None
) -> None:
    restarted = as_restarted(replace(sound.run, sink=replace(sink, app_id="mine")), place, {"a": "b"})
    assert restarted.sinks == (told or str(place.sink),)
    assert (restarted.trigger, restarted.conf, restarted.txn_app_id) == ("available-now", {"a": "b"}, "mine")


def test_a_batch_that_runs_again_is_predicted(place: JobPlace, sound: History) -> None:
    run = replace(sound.run, sink=Sink(kind="foreachBatch", path="", ledger=False))
    diagnosis, plan = diagnose(place, as_restarted(run, place, {}))
    found = as_prediction(diagnosis)
    assert (found.outcome, found.batch_id, found.class_name, found.sinks) == ("replay", 1, None, ("unknown",))
    assert "commits/1 is not there" in found.why
    assert not any(option.is_repair for option in plan.options), "nothing is wrong"


def test_an_error_is_kept_with_its_class_and_the_findings_that_tell_it(place: JobPlace, sound: History) -> None:
    (place.checkpoint / "offsets" / "1").write_text("")
    run = replace(sound.run, sink=Sink(kind="foreachBatch", path="", ledger=False))
    found = as_prediction(diagnose(place, as_restarted(run, place, {}))[0])
    assert (found.outcome, found.class_name) == ("error", "java.lang.IllegalStateException")
    assert found.phase
    assert found.findings
