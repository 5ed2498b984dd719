"""Offsets of Kafka's topics, set on wish: what is written, what that costs, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import predict
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.kafka.base import BrokerAnswer
from ckpttool.plan import Plan, WayOut, Write, plan_recovery
from ckpttool.plan.repair import Repair
from ckpttool.plan.wishes import SetOffsets
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence
from tests.take_steps import within_fence
from tests.unit.kafka.scenes import GONE, broker, query, told
from tests.unit.plan.plans import delta, paths, rows

TWO: Any = {"t": {0: 100, 1: 50}}
HAS: Any = {"t": {0: (10, 300), 1: (0, 70)}}
NOOP = SinkEvidence("noop", "noop")


def wished(
    wish: SetOffsets, scene: Scene | None = None, answer: BrokerAnswer | None = None, *sinks: SinkEvidence
) -> Plan:
    scene = query(TWO, TWO) if scene is None else scene
    seen = replace(scene, sinks=sinks or (delta(0, 1),), kafka=told(scene, answer or broker(HAS)))
    return plan_recovery(seen, predict(seen), wish)


def way(*given: Any) -> WayOut:
    made = wished(*given)
    assert len(made.options) == 1, made.refused
    return made.options[0]


def why_not(*given: Any) -> str:
    made = wished(*given)
    assert not made.options
    return made.refused[0].why


def written(option: WayOut) -> Any:
    """The file, and the offsets in it, source by source."""
    (step,) = [step for step in within_fence(option.steps) if isinstance(step, Write)]
    sources = parse_offset_log(step.content.encode(), 0).sources
    return step.path, *(json.loads(source.text or "null") for source in sources)


def asked(option: WayOut) -> list[str]:
    return [one.id for one in option.conditions if one.who == "you"]


def moved(*texts: str, **more: Any) -> SetOffsets:
    return SetOffsets(texts, **more)


def test_the_next_batch_begins_where_it_was_said() -> None:
    option = way(moved("0:t:0=60", "0:t:1=50"))
    assert written(option) == ("offsets/1", {"t": {"0": 60, "1": 50}})
    assert "t-0 from 100 to 60" in option.title
    (source,) = predict(option.after).sources
    assert (option.after.next_id, source.start) == (2, {"t": {"0": 60, "1": 50}})


@pytest.mark.parametrize(
    ("text", "cost", "ids"),
    [
        ("0:t:0=60", (0, 40, 40), ["rows-twice"]),
        ("0:t:0=130", (30, 0, 0), ["rows-lost"]),
        ("0:t:0=10", (0, 90, 90), ["rows-twice"]),
        ("0:t:0=300", (200, 0, 0), ["rows-lost"]),
    ],
)
def test_what_it_costs(text: str, cost: tuple[int, ...], ids: list[str]) -> None:
    option = way(moved(text))
    assert (rows(option), asked(option)) == (cost, ids)


def test_each_way_counts_by_itself() -> None:
    option = way(moved("0:t:0=60", "0:t:1=55"))
    assert (rows(option), asked(option)) == ((5, 40, 40), ["rows-lost", "rows-twice"])


def test_what_keeps_nothing_has_nothing_twice() -> None:
    assert rows(way(moved("0:t:0=60"), None, None, NOOP)) == (0, 0, 40)


def test_nobody_said_where_it_writes() -> None:
    scene = query(TWO, TWO)
    seen = replace(scene, kafka=told(scene, broker(HAS)))
    (option,) = plan_recovery(seen, predict(seen), moved("0:t:0=60")).options
    assert asked(option) == ["sink-unnamed", "rows-twice"]


def test_state_counts_again_what_is_read_again() -> None:
    scene = query(TWO, TWO)
    checkpoint = replace(scene.checkpoint, has_state_directory=True)
    stateful = replace(scene, evidence=replace(scene.evidence, checkpoint=checkpoint))
    assert told_by(moved("0:t:0=60"), stateful) == ["state-counts-twice"]
    assert told_by(moved("0:t:0=130"), stateful) == told_by(moved("0:t:0=60"), scene) == []


def told_by(wish: SetOffsets, scene: Scene) -> list[str]:
    repair = wish.repair(replace(scene, sinks=(delta(0, 1),), kafka=told(scene, broker(HAS))))
    assert isinstance(repair, Repair)
    return [one.id for one in repair.conditions]


@pytest.mark.parametrize("text", ["0:t:0=9", "0:t:0=301"])
def test_outside_of_what_the_broker_has(text: str) -> None:
    assert "the broker has 10 to 300" in why_not(moved(text))


def test_what_the_broker_does_not_have_at_all() -> None:
    assert "no such partition" in why_not(moved("0:t:2=0"))
    assert "no such partition" in why_not(moved("0:t:0=60"), None, broker({"t": GONE}))
    assert "does not read u" in why_not(moved("0:u:0=0"))
    assert "does not read t" in why_not(moved("1:t:0=60"))


def test_nobody_asked_the_brokers() -> None:
    scene = query(TWO, TWO)
    refused = plan_recovery(scene, predict(scene), moved("0:t:0=60")).refused
    assert "--bootstrap-server" in refused[0].why


def test_a_batch_that_no_sink_has_is_dropped_first() -> None:
    later: Any = {"t": {0: 200, 1: 60}}
    pending = query(TWO, TWO, later, replay=True)
    option = way(moved("0:t:0=90"), pending)
    assert written(option) == ("offsets/1", {"t": {"0": 90, "1": 50}})
    assert "-offsets/2" in paths(option)
    assert "has batch 2" in why_not(moved("0:t:0=90"), pending, None, delta(0, 1, 2))


def test_where_no_batch_is_finished_options_decide() -> None:
    assert "no batch is finished" in why_not(moved("0:t:0=90"), query(TWO, replay=True))
    is_async = query(TWO, TWO, asyncProgressTrackingEnabled="true")
    assert "asynchronous" in why_not(moved("0:t:0=90"), is_async)


def test_it_stands_there_already() -> None:
    assert why_not(moved("0:t:0=100")) == "the checkpoint stands there already"


def test_one_source_of_two() -> None:
    both = query([TWO, {"u": {0: 5}}], [TWO, {"u": {0: 5}}])
    option = way(moved("1:u:0=2"), both, broker(HAS | {"u": {0: (0, 9)}}))
    assert written(option) == ("offsets/1", {"t": {"0": 100, "1": 50}}, {"u": {"0": 2}})


def test_a_topic_made_anew_has_other_rows_at_these_offsets() -> None:
    anew = broker({"t": {0: (0, 300, 0), 1: (0, 70, 0)}})
    assert rows(way(moved("0:t:0=0", "0:t:1=0"), None, anew)) == (0, 0, 0)
    assert "recreated" in why_not(moved("0:t:0=30", "0:t:1=0"), None, anew)
    shorter = broker({"t": {0: (0, 80), 1: (0, 70)}})
    assert rows(way(moved("0:t:0=0"), None, shorter)) == (None, None, None)


# -- topics in and out -------------------------------------------------------------------------------------------------

MORE: Any = HAS | {"u": {0: (3, 9), 1: (0, 4)}}


def test_a_topic_comes_in() -> None:
    scene = query(TWO, TWO, subscribe="t,u")
    option = way(SetOffsets(add=("0:u:0=9", "0:u:1=0")), scene, broker(MORE))
    assert written(option) == ("offsets/1", {"t": {"0": 100, "1": 50}, "u": {"0": 9, "1": 0}})
    assert rows(option) == (0, 0, 0)
    assert "u-0 from none to 9" in option.title


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "--option subscribe="),
        ({"subscribe": "t"}, "does not read u"),
        ({"subscribe": "t,u"}, "u-1 is left out"),
    ],
)
def test_what_comes_in_is_what_the_query_reads(given: Any, why: str) -> None:
    assert why in why_not(SetOffsets(add=("0:u:0=9",)), query(TWO, TWO, **given), broker(MORE))


def test_what_is_there_does_not_come_in() -> None:
    scene = query(TWO, TWO, subscribe="t")
    assert "reads t already" in why_not(SetOffsets(add=("0:t:0=9", "0:t:1=9")), scene)


def test_a_topic_goes() -> None:
    both: Any = {"t": {0: 100}, "u": {0: 5}}
    scene = query(both, both, subscribe="t")
    option = way(SetOffsets(drop=("u",)), scene, broker({"t": {0: (0, 300)}, "u": {0: (0, 9)}}))
    assert written(option) == ("offsets/1", {"t": {"0": 100}})
    assert (rows(option), asked(option)) == ((4, 0, 0), ["rows-lost"])
    gone = way(SetOffsets(drop=("u",)), scene, broker({"t": {0: (0, 300)}, "u": GONE}))
    assert rows(gone) == (None, 0, 0)


@pytest.mark.parametrize(
    ("given", "drop", "why"),
    [
        ({}, "u", "give its --option subscribe="),
        ({"subscribe": "t,u"}, "u", "still subscribes to u"),
        ({"subscribe": "t"}, "v", "no Kafka source reads v"),
    ],
)
def test_what_goes_is_what_the_query_reads_no_more(given: Any, drop: str, why: str) -> None:
    both: Any = {"t": {0: 100}, "u": {0: 5}}
    answer = broker({"t": {0: (0, 300)}, "u": {0: (0, 9)}})
    assert why in why_not(SetOffsets(drop=(drop,)), query(both, both, **given), answer)


def test_one_topic_has_to_stay() -> None:
    assert "no topic left" in why_not(SetOffsets(drop=("t",)), query(TWO, TWO, subscribe="u"), broker(MORE))


# -- another cluster ---------------------------------------------------------------------------------------------------


def test_offsets_of_another_cluster_are_not_compared() -> None:
    option = way(moved("0:t:0=20", "0:t:1=0", elsewhere=True))
    assert written(option) == ("offsets/1", {"t": {"0": 20, "1": 0}})
    assert (rows(option), asked(option)) == ((0, None, None), ["rows-twice"])
    assert option.trap is not None
