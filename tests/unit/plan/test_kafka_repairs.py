"""Ways out of what a Kafka source does not find, status by status. Real Spark judges them in tests/differential."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import predict
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.kafka.base import BrokerAnswer, BrokerFault
from ckpttool.plan import Conf, Plan, SetAside, WayOut, Write, plan_recovery
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkKind, SinkWrite
from tests.take_steps import within_fence
from tests.unit.kafka.scenes import GONE, MINUTE, T0, broker, query, told

START: Any = {"t": {0: 100}}
END: Any = {"t": {0: 200}}
TWO: Any = {"t": {0: 100, 1: 50}}
SET, PASS = "set-kafka-offsets", "pass-over-lost-rows"
EMPTY = SinkEvidence("file", "/lake/orders", exists=False)


def plan(scene: Scene, answer: BrokerAnswer, **more: Any) -> Plan:
    scene = replace(scene, sinks=(EMPTY,), kafka=told(scene, answer, **more))
    return plan_recovery(scene, predict(scene))


def ids(made: Plan) -> list[str]:
    return [option.id for option in made.options]


def way(made: Plan, name: str) -> WayOut:
    return next(option for option in made.options if option.id == name)


def written(option: WayOut) -> Any:
    """The file, and the offsets in it."""
    (step,) = [step for step in within_fence(option.steps) if isinstance(step, Write)]
    (source,) = parse_offset_log(step.content.encode(), 0).sources
    return step.path, json.loads(source.text or "null")


def test_a_sound_source_needs_none() -> None:
    assert ids(plan(query(START), broker({"t": {0: (0, 300)}}))) == []


def test_retention_passed_the_start() -> None:
    made = plan(query(START), broker({"t": {0: (130, 300)}}))
    assert sorted(ids(made)) == [PASS, SET]
    assert {way(made, one).rows_lost for one in (SET, PASS)} == {30}
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 130}})
    assert [(step.k, step.v) for step in way(made, PASS).steps if isinstance(step, Conf)] == [
        ("failOnDataLoss", "false")
    ]


def test_retention_passed_the_end_of_a_batch_that_runs_again() -> None:
    made = plan(query(START, END, replay=True), broker({"t": {0: (250, 300)}}))
    option = way(made, SET)
    assert option.rows_lost == 150
    assert written(option) == ("offsets/0", {"t": {"0": 250}})
    assert "offsets/1" in [step.path for step in option.steps if isinstance(step, SetAside)]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_batch_that_the_sink_has_is_read_again_all_the_same(kind: SinkKind) -> None:
    """Delta skips before it asks for a row, Iceberg only when it commits; and each sink asks for itself."""
    scene = query(START, END, replay=True)
    query_id = scene.checkpoint.metadata.id if scene.checkpoint.metadata else None
    write = SinkWrite("version 1", T0 + 60 * MINUTE, query_id, 1, 1, rows=100)
    has_it = SinkEvidence(kind, "/lake/q", key=query_id, ledger=(LedgerEntry(query_id, 1),), writes=(write,))
    others = (EMPTY,) if kind == "delta" else ()
    scene = replace(scene, sinks=(has_it, *others), kafka=told(scene, broker({"t": {0: (250, 300)}})))
    restart = predict(scene)
    assert restart.outcome == "error"
    # Of the 150 rows that Kafka lost the batch was made of 100, which nobody lacks if every sink has them.
    assert way(plan_recovery(scene, restart), PASS).rows_lost == (150 if others else 50)


def test_a_part_of_the_batch_is_left() -> None:
    made = plan(query(START, END, replay=True), broker({"t": {0: (150, 300)}}))
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 150}})
    assert way(made, SET).rows_lost == 50


def test_a_shorter_topic_may_be_the_old_one() -> None:
    option = way(plan(query(START), broker({"t": {0: (0, 60)}})), SET)
    assert written(option) == ("offsets/0", {"t": {"0": 0}})
    assert (option.rows_lost, option.rows_duplicated) == (None, None)
    assert "read twice" in (option.trap or "")


def test_a_topic_made_anew_is_read_from_its_beginning() -> None:
    made = plan(query(START), broker({"t": {0: (0, 300, 0)}}))
    assert ids(made)[:1] == [SET]
    assert PASS not in ids(made)  # Spark sees nothing to pass over
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 0}})
    assert (way(made, SET).rows_lost, way(made, SET).rows_duplicated) == (None, 0)


def test_a_partition_that_is_gone_is_taken_out() -> None:
    made = plan(query(TWO), broker({"t": {0: (0, 300)}}))
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 100}})
    assert way(made, SET).rows_lost is None


def test_a_partition_added_late_begins_where_it_does() -> None:
    made = plan(query(START), broker({"t": {0: (0, 300), 1: (20, 40)}}))
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 100, "1": 20}})
    assert way(made, SET).rows_lost == 20


def test_a_word_in_the_place_of_an_offset_gives_way_to_a_number() -> None:
    made = plan(query({"t": {0: -1}}), broker({"t": {0: (3, 300)}}))
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 3}})
    assert way(made, SET).rows_lost is None


def test_a_topic_that_is_gone_cannot_be_set_to_anything() -> None:
    made = plan(query(START, subscribe="t"), broker({"t": GONE}))
    assert SET not in ids(made)
    (refusal,) = [one for one in made.refused if one.id == SET]
    assert "t, and the broker has no such topic" in refusal.why


def test_with_a_pattern_a_topic_that_is_gone_is_taken_out() -> None:
    made = plan(query({"t": {0: 100}, "u": {0: 5}}, subscribePattern="."), broker({"t": {0: (0, 300)}, "u": GONE}))
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 100}})


@pytest.mark.parametrize("reason", ["authorisation", "timeout"])
def test_what_could_not_be_asked_is_no_trouble_of_the_checkpoint(reason: Any) -> None:
    made = plan(query(START), broker({"t": BrokerFault(reason, "no")}))
    assert not {SET, PASS} & set(ids(made))


def test_a_first_batch_that_runs_again_has_no_offsets_before_it() -> None:
    scene = query(END, replay=True, initial=START)
    made = plan(scene, broker({"t": {0: (150, 300)}}))
    assert SET not in ids(made)
    assert way(made, PASS).rows_lost == 50


def test_only_the_source_in_trouble_is_changed() -> None:
    scene = query([{"t": {0: 100}}, {"u": {0: 7}}])
    made = plan(scene, broker({"t": {0: (130, 300)}, "u": {0: (0, 9)}}))
    (step,) = [step for step in within_fence(way(made, SET).steps) if isinstance(step, Write)]
    sources = parse_offset_log(step.content.encode(), 0).sources
    assert [json.loads(source.text or "null") for source in sources] == [{"t": {"0": 130}}, {"u": {"0": 7}}]


def test_in_real_time_mode_only_other_offsets_help() -> None:
    """The reader heeds no option; at 0 it waits for ever and does not even fail."""
    made = plan(query(START, trigger="real-time"), broker({"t": {0: (130, 300)}}))
    assert ids(made) == [SET]
    assert written(way(made, SET)) == ("offsets/0", {"t": {"0": 130}})
    unread = plan(query({"t": {0: 0}}, trigger="real-time"), broker({"t": {0: (15, 300)}}))
    assert written(way(unread, SET)) == ("offsets/0", {"t": {"0": 15}})
