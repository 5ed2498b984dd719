"""What somebody writes for a place in a topic, and the offset that it comes to."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.kafka.base import SourceView
from ckpttool.kafka.moves import (
    BadMove,
    NotMoved,
    OffsetMove,
    Where,
    left_out,
    parse_move,
    parse_starting,
    questions_of,
    settled,
    spell_move,
)
from tests.unit.kafka.scenes import GONE, broker, look, query

TWO: Any = {"t": {0: 100, 1: 50}}


def views(*ends: Any, has: Any = None, **options: Any) -> tuple[SourceView, ...]:
    return look(query(*ends, **options), broker(has or {"t": {0: (10, 300), 1: (0, 70)}}))


def offsets(*texts: str, seen: tuple[SourceView, ...] | None = None) -> list[str]:
    moves = [parse_move(text) for text in texts]
    return [spell_move(move) for move in settled(moves, views(TWO) if seen is None else seen, {})]


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("orders=12", OffsetMove("orders", Where("at", 12))),
        ("orders:0=+5", OffsetMove("orders", Where("by", 5), None, (0,))),
        ("orders:3-5,0=-5", OffsetMove("orders", Where("by", -5), None, (0, 3, 4, 5))),
        ("1:orders=earliest", OffsetMove("orders", Where("earliest"), 1)),
        ("1:orders:*=latest", OffsetMove("orders", Where("latest"), 1)),
        ("2:7:0=0", OffsetMove("7", Where("at", 0), 2, (0,))),
        ("a.b_c-d=@1970-01-01T00:00:01", OffsetMove("a.b_c-d", Where("time", 1000))),
        ("t=@1970-01-01T01:00:00.5+01:00", OffsetMove("t", Where("time", 500))),
    ],
)
def test_what_is_written(text: str, move: OffsetMove) -> None:
    assert parse_move(text) == move
    assert parse_move(spell_move(move)) == move


@pytest.mark.parametrize(
    "text",
    [
        "", "orders", "=1", "orders=", "orders=x", "orders=1.5", "orders=@", "orders=@soon", "orders=--1", "orders=١",
        "orders:a=1", "orders:5-3=1", "orders:0-99999999=1", "x:orders:0=1", "0:orders:0:1=1", "or ders=1", "0:1=5",
        "0=version:5", f"orders={2**63}", "orders:=1", "-1:orders:0=1",
    ],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    with pytest.raises(BadMove):
        parse_move(text)


def test_each_partition_gets_an_offset() -> None:
    assert offsets("t=earliest") == ["0:t:0=10", "0:t:1=0"]
    assert offsets("t=latest", "t:1=7") == ["0:t:0=300", "0:t:1=7"]
    assert offsets("t:1=-20", "t:0=+1") == ["0:t:0=101", "0:t:1=30"]


def test_a_time_is_asked_for_by_partition() -> None:
    moves = [parse_move(f"t:0=@{time}") for time in ("2026-11-18T14:00:00Z",)]
    (asked,) = questions_of(moves, views(TWO))
    assert asked.since_ms == {("t", 0): 1795010400000}
    since = {0: broker({"t": {0: (10, 300, 150), 1: (0, 70, 5)}})}
    assert [spell_move(one) for one in settled(moves, views(TWO), since)] == ["0:t:0=150"]
    with pytest.raises(NotMoved, match="the broker did not say"):
        settled(moves, views(TWO), {})


def test_who_is_meant() -> None:
    both = views([TWO, {"u": {0: 5}, "t": {0: 1}}], has={"t": {0: (0, 9), 1: (0, 9)}, "u": {0: (0, 9)}})
    assert offsets("u=3", seen=both) == ["1:u:0=3"]
    assert offsets("1:t:0=3", seen=both) == ["1:t:0=3"]
    with pytest.raises(NotMoved, match="sources 0, 1 read t"):
        offsets("t=3", seen=both)
    with pytest.raises(NotMoved, match="source 0 does not read u"):
        offsets("0:u=3", seen=both)


def test_what_is_not_there() -> None:
    with pytest.raises(NotMoved, match="no Kafka source reads v"):
        offsets("v=3")
    with pytest.raises(NotMoved, match="no partition t-7"):
        offsets("t:7=3")
    with pytest.raises(NotMoved, match="the broker has no topic t"):
        offsets("t=earliest", seen=views(TWO, has={"t": GONE}))


def test_what_is_new_has_nothing_to_step_from() -> None:
    new = views({"t": {0: 1}})
    assert offsets("t:1=earliest", seen=new) == ["0:t:1=0"]
    with pytest.raises(NotMoved, match="t-1 has no offset yet"):
        offsets("t:1=+1", seen=new)


def test_what_starting_offsets_prints() -> None:
    moves = parse_starting('{"t":{"0":7,"1":-2},"u":{"0":-1}}')
    assert [spell_move(move) for move in moves] == ["t:0=7", "t:1=earliest", "u:0=latest"]
    assert left_out(moves[:2], views(TWO)) == ()
    assert left_out(moves[:1], views(TWO)) == ("t-1",)
    with pytest.raises(MalformedFile):
        parse_starting("[1]")
