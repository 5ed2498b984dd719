"""What the checkpoint says of its Kafka sources, and what is asked about them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ckpttool.kafka.positions import positions, questions
from ckpttool.releases import NEWEST
from ckpttool.scene.scene import Start
from tests.unit.kafka.scenes import MINUTE, T0, broker, look, query, statuses

START = {"t": {0: 100}}


def test_of_several_sources_each_keeps_of_an_option_what_is_its_own() -> None:
    scene = query([{"t": {0: 1}, "t2": {0: 1}}, {"u": {0: 2}}], subscribe="t,new")
    asked = questions(positions(scene), scene.start, {})
    assert [question.topics for question in asked] == [("t", "t2"), ("u",)]
    views = look(scene, broker({"t": {0: (0, 1)}, "t2": {0: (0, 1)}, "u": {0: (0, 2)}}))
    assert statuses(views) == {"t-0": "ok", "t2-0": "gone", "u-0": "ok"}
    by_pattern = positions(query([{"t": {0: 1}}, {"u": {0: 2}}]))
    one_pattern = Start(NEWEST, options={"subscribePattern": "t.*"})
    assert [one.pattern for one in questions(by_pattern, one_pattern, {})] == ["t.*", None]


def test_what_a_source_is_given_itself_is_what_it_subscribes_to() -> None:
    scene = query([{"t": {0: 1}}, {"u": {0: 2}}])
    start = replace(scene.start, of_sources={"0": {"subscribe": "t,new"}, "1": {"subscribePattern": "u.*"}})
    assert [(one.topics, one.pattern) for one in questions(positions(scene), start, {})] == [
        (("t", "new"), None),
        (("u",), "u.*"),
    ]
    alike = questions(positions(scene), start.given("kafka.isolation.level", "read_committed"), {})
    assert {one.isolation for one in alike} == {"read_committed"}


def test_where_a_new_batch_begins() -> None:
    [position] = positions(query(START, {"t": {0: 200}}))
    assert (position.start, position.end, position.reached_ms) == ({"t": {0: 200}}, None, T0 + MINUTE)


def test_where_a_replay_begins_and_ends() -> None:
    [position] = positions(query(START, {"t": {0: 200}}, replay=True))
    assert (position.start, position.end, position.reached_ms) == (START, {"t": {0: 200}}, T0)


def test_the_first_batch_begins_where_the_source_wrote_down() -> None:
    [position] = positions(query(START, replay=True, initial={"t": {0: 90}}))
    assert (position.start, position.end, position.reached_ms) == ({"t": {0: 90}}, START, T0)
    [unknown] = positions(query(START, replay=True))
    assert unknown.start is None
    [view] = look(query(START, replay=True), broker({"t": {0: (0, 200)}}))
    assert not view.has_start
    [lost_logs] = positions(query(initial={"t": {0: 90}}))
    assert (lost_logs.start, lost_logs.end) == ({"t": {0: 90}}, None)


def test_sources_keep_their_indexes() -> None:
    scene = query([{"t": {0: 1}}, None, {"u": {0: 2}}], [{"t": {0: 3}}, None, None])
    assert [(one.index, one.start) for one in positions(scene)] == [(0, {"t": {0: 3}}), (2, {"u": {0: 2}})]


def test_what_is_asked() -> None:
    spelled: dict[str, Any] = {"Kafka.Isolation.Level": "READ_COMMITTED"}
    scene = query(START, subscribe="t,new", KAFKA_isolation_level="x", **spelled)
    [asked] = questions(positions(scene), scene.start, {"t": "t2"})
    assert (asked.topics, asked.newer_than_ms, asked.isolation) == (("t2", "t", "new"), T0, "read_committed")
    [plain] = questions(positions(query(START)), Start(NEWEST), {})
    assert (plain.topics, plain.pattern, plain.isolation) == (("t",), None, "read_uncommitted")
