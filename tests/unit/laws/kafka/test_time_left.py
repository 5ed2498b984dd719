"""How long brokers keep what is read next."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.kafka.diff import KafkaEvidence
from ckpttool.kafka.moments import Moment, TimesAnswer, TopicSettings
from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding
from ckpttool.scene.around import Around
from ckpttool.scene.scene import Scene
from tests.unit.kafka.scenes import T0, broker, query

HOUR, DAY = 3_600_000, 86_400_000
NOW = T0 + 30 * DAY


def seen(*, made_ms: int, cleanup: str = "delete", latest: int = 50) -> Scene:
    """A partition whose next record was made then, in a topic that keeps rows for a week."""
    scene = query({"t": {0: 5}}, {"t": {0: 10}})
    settings = TopicSettings(7 * DAY, -1, frozenset(cleanup.split(",")), is_append_time=True)
    moments = {("t", 0, 10): Moment(made_ms), ("t", 0, 0): Moment(made_ms - HOUR)}
    answer = broker({"t": {0: (0, latest)}}, {"t": "A"})
    times = TimesAnswer(moments, {"t": settings})
    return replace(scene, now_ms=NOW, kafka=KafkaEvidence({0: answer}), around=Around(times={0: times}))


def told(scene: Scene) -> dict[str, Finding]:
    return {one.id: one for one in told_of_health(scene)}


@pytest.mark.parametrize(
    ("made_ms", "message"),
    [
        (
            NOW - 7 * DAY + 3 * HOUR,
            "retention reaches the next row of t-0 in 3 hours: what it takes is not read any more",
        ),
        (NOW - 8 * DAY, "retention reaches the next row of t-0 now: its time is over, and its segment goes next"),
        (NOW - HOUR, None),
    ],
)
def test_how_long_it_lasts(made_ms: int, message: str | None) -> None:
    found = told(seen(made_ms=made_ms))
    assert ("time-left-before-loss" in found) is (message is not None)
    assert message is None or found["time-left-before-loss"].message.startswith(message)


def test_a_query_that_has_read_all_loses_nothing() -> None:
    assert "time-left-before-loss" not in told(seen(made_ms=NOW - 8 * DAY, latest=10))


def test_what_nobody_asked_for_is_not_told() -> None:
    assert "time-left-before-loss" not in told(replace(seen(made_ms=NOW - 8 * DAY), around=None))


@pytest.mark.parametrize(("cleanup", "speaks"), [("compact", True), ("compact,delete", True), ("delete", False)])
def test_offsets_that_are_no_rows(cleanup: str, speaks: bool) -> None:
    assert ("lag-not-loss" in told(seen(made_ms=NOW - HOUR, cleanup=cleanup))) is speaks


def test_a_group_of_ones_own() -> None:
    scene = query({"t": {0: 5}}, {"t": {0: 10}})
    given = replace(scene, start=scene.start.given("kafka.group.id", "orders"))
    assert told(given)["group-id-pinned"].message.startswith("kafka.group.id = orders")
    assert "group-id-pinned" not in told(scene)


@pytest.mark.parametrize(("before", "now", "speaks"), [("A", "B", True), ("A", "A", False), ("A", None, False)])
def test_another_cluster_than_before(before: str, now: str | None, speaks: bool) -> None:
    scene = seen(made_ms=NOW - HOUR)
    answer = replace(broker({"t": {0: (0, 50)}}, {"t": "A"}), cluster_id=now)
    found = told(replace(scene, kafka=KafkaEvidence({0: answer}, known_clusters={0: before})))
    assert ("cluster-changed" in found) is speaks
    assert not speaks or "asked of cluster B, and was in A" in found["cluster-changed"].message
