"""Laws of moved offsets: what is written says one thing, and no offset lies outside of what the broker has."""

from __future__ import annotations

import json
from contextlib import suppress
from string import ascii_letters, digits

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ckpttool.diagnosis import predict
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.kafka.base import BrokerAnswer, PartitionAnswer, TopicAnswer
from ckpttool.kafka.diff import views_of
from ckpttool.kafka.moves import BadMove, NotMoved, OffsetMove, Where, parse_move, settled, spell_move
from ckpttool.plan import Write, plan_recovery
from ckpttool.plan.fence import within_fence
from ckpttool.plan.wishes import SetOffsets
from tests.unit.kafka.scenes import query, told
from tests.unit.plan.plans import delta

topics = st.text(ascii_letters + digits + "._-", min_size=1, max_size=12)
places = st.one_of(
    st.builds(Where, st.just("at"), st.integers(0, 2**63 - 1)),
    st.builds(Where, st.just("by"), st.integers(-(2**62), 2**62)),
    st.sampled_from([Where("earliest"), Where("latest")]),
    st.builds(Where, st.just("time"), st.integers(0, 4_102_444_800_000)),
)
partitions = st.one_of(st.none(), st.sets(st.integers(0, 30), min_size=1).map(lambda some: tuple(sorted(some))))
moves = st.builds(OffsetMove, topics, places, st.one_of(st.none(), st.integers(0, 99)), partitions)


@given(moves)
def test_what_is_spelled_is_read_as_the_same_or_not_at_all(move: OffsetMove) -> None:
    try:
        assert parse_move(spell_move(move)) == move
    except BadMove:
        assert move.source is None, "with its source it is never in doubt"
        assert move.topic.isdecimal()


@given(st.text())
def test_any_text_is_a_move_or_a_bad_one(text: str) -> None:
    with suppress(BadMove):
        assert parse_move(spell_move(parse_move(text))) == parse_move(text)


class Topic:
    """A partition each, as the broker has it and as the query stands in it."""

    def __init__(self, parts: list[tuple[int, int, int]]) -> None:
        self.has = {number: (first, first + size) for number, (first, size, _) in enumerate(parts)}
        self.stands = {number: at for number, (_, _, at) in enumerate(parts)}

    @property
    def answer(self) -> BrokerAnswer:
        there = {number: PartitionAnswer(*ends) for number, ends in self.has.items()}
        return BrokerAnswer("broker:9092", {"t": TopicAnswer(None, there)})


parts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 120)), min_size=1, max_size=3)
wheres = st.one_of(
    st.builds(Where, st.just("at"), st.integers(0, 110)),
    st.builds(Where, st.just("by"), st.integers(-60, 60)),
    st.sampled_from([Where("earliest"), Where("latest")]),
)


@given(parts.map(Topic), st.dictionaries(st.integers(0, 2), wheres, min_size=1))
def test_what_is_written_the_broker_has(topic: Topic, asked: dict[int, Where]) -> None:
    scene = query({"t": topic.stands}, {"t": topic.stands})
    kafka = told(scene, topic.answer)
    scene = replace(scene, kafka=kafka, sinks=(delta(0, 1),))
    wanted = [OffsetMove("t", where, 0, (number,)) for number, where in asked.items()]
    try:
        resolved = settled(wanted, views_of(scene, kafka), {})
        wish = SetOffsets(tuple(map(spell_move, resolved)))
        options = plan_recovery(scene, predict(scene), wish).options
    except (NotMoved, BadMove):
        return
    for option in options:
        content = [step.content for step in within_fence(scene.checkpoint, option.steps) if isinstance(step, Write)]
        (source,) = parse_offset_log(content[-1].encode(), 1).sources
        written = json.loads(source.text or "")["t"]
        for number in asked:
            first, last = topic.has[number]
            assert first <= written[str(number)] <= last
        for number, at in topic.stands.items():
            if number not in asked and topic.has[number][0] <= at <= topic.has[number][1]:
                assert written[str(number)] == at, "nobody asked for that"
