"""The truth table: what a topic went through, and what the checkpoint says of it.

`{t}` stands for the case's own topic; a second one has an `x` behind its name.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.metadata import encode_metadata
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.model import CommitLogEntry, InitialOffset, OffsetLogEntry, OffsetMetadata, QueryMetadata, SourceOffset
from tests.differential.topics import Topics
from tests.encoders import encode_initial_offset
from tests.unit.kafka.scenes import MINUTE, T0

Ends = Mapping[str, Mapping[int, int]]  # topic → partition → offset
Make = Callable[["Made"], object]
PINNED = {"spark.sql.shuffle.partitions": "2"}
BOTH = ("true", "false")  # failOnDataLoss
OLD_FETCHING = {"spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true"}


@dataclass(frozen=True)
class Made:
    """A case's topics while they are made. `look`: what `ckpt kafka diff` sees of them now is kept."""

    on: Topics
    name: str
    look: Callable[[], None]

    def topic(self, rows: int, partitions: int = 1, more: str = "", *, old: bool = True) -> Made:
        self.on.create(self.name + more, partitions)
        self.on.fill(self.name + more, rows, old=old)
        return self

    def rows(self, count: int, partition: int) -> Made:
        self.on.fill(self.name, count, partition)
        return self

    def trim(self, before: int, partition: int = 0) -> Made:
        self.on.trim(self.name, before, partition)
        return self

    def grow(self, partitions: int, rows: int) -> Made:
        self.on.grow(self.name, partitions)
        return self.rows(rows, partitions - 1)

    def anew(self, rows: int, *, old: bool = False) -> Made:
        self.on.delete(self.name)
        return self.topic(rows, old=old)

    def looked_at(self) -> Made:
        self.look()
        return self


@dataclass(frozen=True)
class Case:
    """`ends`: where each batch ended, a list for several sources; `replay`: the last one was not committed.

    `losses`: the values of failOnDataLoss to try; `only`: the one release that has it."""

    name: str
    make: Make
    ends: Sequence[Ends | list[Ends]]
    replay: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    trigger: str = "available-now"
    losses: Sequence[str] = BOTH
    knows_ids: bool = False
    only: str | None = None

    @property
    def topic(self) -> str:
        return self.name.replace(" ", "-").replace(",", "")

    def filled(self, text: str) -> str:
        return text.replace("{t}", self.topic)

    @property
    def given(self) -> dict[str, str]:
        """How the query is told what to read."""
        given = {key: self.filled(value) for key, value in self.options.items()}
        own = {} if {"subscribePattern", "assign"} & given.keys() else {"subscribe": self.topic}
        return own | given

    @property
    def sources(self) -> list[dict[str, str]]:
        """The options of each; of several sources each reads its own topics."""
        if not isinstance(self.ends[0], list):
            return [self.given]
        return [self.given | {"subscribe": self.filled(",".join(ends))} for ends in self.ends[0]]

    def write_checkpoint(self, folder: Path) -> None:
        several = [ends if isinstance(ends, list) else [ends] for ends in self.ends]
        for log in ("offsets", "commits"):
            (folder / log).mkdir(parents=True)
        (folder / "metadata").write_bytes(encode_metadata(QueryMetadata(str(uuid.uuid4()))))
        for batch, ends in enumerate(several):
            texts = [self.filled(json.dumps(one)) for one in ends]
            sources = tuple(SourceOffset(index, None, text) for index, text in enumerate(texts))
            entry = OffsetLogEntry(batch, 1, OffsetMetadata(0, T0 + batch * MINUTE, PINNED), sources)
            (folder / "offsets" / str(batch)).write_bytes(encode_offset_log(entry))
        for batch in range(len(several) - self.replay):
            (folder / "commits" / str(batch)).write_bytes(encode_commit_log(CommitLogEntry(batch, 1, 0)))
        for index, first in enumerate(several[0]):
            begun = self.filled(json.dumps({topic: dict.fromkeys(parts, 0) for topic, parts in first.items()}))
            source = folder / "sources" / str(index)
            source.mkdir(parents=True)
            (source / "0").write_bytes(encode_initial_offset(InitialOffset(1, begun, 0)))


def nothing(_: Made) -> None:
    """The topic is not there, and never was as far as the broker knows."""


TEN: Ends = {"{t}": {0: 10}}
TWENTY: Ends = {"{t}": {0: 20}}
TWO: Ends = {"{t}": {0: 10}, "{t}x": {0: 3}}
SPLIT: Ends = {"{t}": {0: 10, 1: 5}}
PATTERN = {"subscribePattern": "{t}.*"}
NAMED = {"subscribe": "{t},{t}x"}


def _retention() -> Iterator[Case]:
    yield Case("sound", lambda t: t.topic(30), [TEN], losses=("true",))
    yield Case("sound, replay", lambda t: t.topic(30), [TEN, TWENTY], replay=True, losses=("true",))
    yield Case("nothing new", lambda t: t.topic(10), [TEN], losses=("true",))
    yield Case("start gone", lambda t: t.topic(30).trim(15), [TEN])
    yield Case("all gone", lambda t: t.topic(30).trim(30), [TEN])
    yield Case("gone up to the start", lambda t: t.topic(30).trim(10), [TEN], losses=("true",))
    yield Case("start gone, replay", lambda t: t.topic(30).trim(15), [TEN, TWENTY], replay=True)
    yield Case("range gone, replay", lambda t: t.topic(30).trim(25), [TEN, TWENTY], replay=True)
    yield Case("all gone, replay", lambda t: t.topic(30).trim(30), [TEN, TWENTY], replay=True)
    yield Case("one partition aged", lambda t: t.topic(30, 2).rows(9, 1).trim(7, 1), [SPLIT])
    several, tasks = "start gone, several tasks", {"minPartitions": "3"}
    yield Case(several, lambda t: t.topic(30).trim(15), [TEN], options=tasks)
    yield Case("sound, several tasks", lambda t: t.topic(30), [TEN], options=tasks, losses=("true",))
    old = "start gone, old fetching"
    yield Case(old, lambda t: t.topic(30).trim(15), [TEN], conf=OLD_FETCHING, only="3.5.7")


def _ends() -> Iterator[Case]:
    yield Case("shorter", lambda t: t.topic(5), [TEN])
    yield Case("shorter, default trigger", lambda t: t.topic(5), [TEN], trigger="default")
    yield Case("shorter, replay", lambda t: t.topic(15), [TEN, TWENTY], replay=True)
    yield Case("shorter than both, replay", lambda t: t.topic(5), [TEN, TWENTY], replay=True)
    yield Case("ends at the start, replay", lambda t: t.topic(10), [TEN, TWENTY], replay=True)
    yield Case("goes back, replay", lambda t: t.topic(30), [TEN, {"{t}": {0: 5}}], replay=True)
    yield Case("lower end", lambda t: t.topic(12).anew(5), [TEN])
    yield Case("overtaken", lambda t: t.topic(12).anew(30), [TEN])
    yield Case("overtaken, replay", lambda t: t.topic(12).anew(30), [TEN, TWENTY], replay=True, losses=("true",))
    by_id = "overtaken, known by its id"
    yield Case(by_id, lambda t: t.topic(12).looked_at().anew(30, old=True), [TEN], knows_ids=True, losses=("true",))
    same = "not overtaken, known by its id"
    yield Case(same, lambda t: t.topic(30).looked_at(), [TEN], knows_ids=True, losses=("true",))
    yield Case("earliest as a word", lambda t: t.topic(20).trim(3), [{"{t}": {0: -2}}], losses=("true",))
    yield Case("latest as a word", lambda t: t.topic(20), [{"{t}": {0: -1}}], losses=("false",))


def _partitions() -> Iterator[Case]:
    yield Case("added", lambda t: t.topic(10).grow(2, 5), [TEN], losses=("true",))
    yield Case("added later", lambda t: t.topic(10).grow(2, 5).trim(2, 1), [TEN])
    late: Ends = {"{t}": {0: 20, 1: 5}}
    yield Case("added later, replay", lambda t: t.topic(20).grow(2, 5).trim(2, 1), [TEN, late], replay=True)
    yield Case("added, replay", lambda t: t.topic(20).grow(2, 5), [TEN, late], replay=True, losses=("true",))
    yield Case("partition gone", lambda t: t.topic(20), [SPLIT])
    group = "partition gone, group id"
    yield Case(group, lambda t: t.topic(20), [SPLIT], options={"kafka.group.id": "its-own"}, losses=("true",))
    both: Ends = {"{t}": {0: 20, 1: 8}}
    yield Case("partition dropped, replay", lambda t: t.topic(20, 2).rows(9, 1), [SPLIT, TWENTY], replay=True)
    yield Case("partition gone, replay", lambda t: t.topic(20), [SPLIT, both], replay=True)
    yield Case("added and gone, replay", lambda t: t.topic(20), [TEN, both], replay=True)
    old = "partition gone, old fetching"
    yield Case(old, lambda t: t.topic(20), [SPLIT], conf=OLD_FETCHING, only="3.5.7", losses=("true",))


def _topics() -> Iterator[Case]:
    yield Case("topic gone", lambda t: t.topic(20), [TWO], options=NAMED)
    yield Case("topic gone, default trigger", lambda t: t.topic(20), [TWO], options=NAMED, trigger="default")
    old = "topic gone, old fetching"
    yield Case(old, lambda t: t.topic(20), [TWO], options=NAMED, conf=OLD_FETCHING, only="3.5.7")
    yield Case("topic gone, pattern", lambda t: t.topic(20), [TWO], options=PATTERN)
    yield Case("all gone, pattern", nothing, [TEN], options=PATTERN)
    yield Case("topic gone, replay", nothing, [TEN, TWENTY], replay=True, losses=("false",))
    yield Case("unsubscribed", lambda t: t.topic(20).topic(3, more="x"), [TWO])
    yield Case("new topic, pattern", lambda t: t.topic(20).topic(3, more="x"), [TEN], options=PATTERN, losses=("true",))
    assigned = {"assign": '{"{t}":[0,1]}'}
    yield Case("assigned", lambda t: t.topic(30, 3).rows(9, 1).rows(4, 2).trim(7, 1), [SPLIT], options=assigned)
    two: list[Ends] = [TEN, {"{t}x": {0: 3}}]
    sources = "two sources, one aged"
    yield Case(sources, lambda t: t.topic(30).trim(15).topic(9, more="x"), [two], options=NAMED)


CASES: dict[str, Case] = {case.name: case for case in (*_retention(), *_ends(), *_partitions(), *_topics())}
