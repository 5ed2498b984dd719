"""`source`: the query gets a source more or less, has them in another order, one begins anew or has another name.

Spark tells sources by their place in the plan, and nothing else: line N of the offsets and `sources/<N>` belong to the
source that it comes to as number N. So lines and directories follow the changed query; only who wrote it knows in which
order it has its sources. Both offsets that a start opens are changed, since a line without an offset in the newest is
looked up in the one before. Sources that have names, since Spark 4.2, are told by these, whatever their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.model import OffsetLogEntry, SourceOffset
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import FREE, UNKNOWN, Cost
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, move, replace_file, set_aside_alone
from ckpttool.plan.wishes.base import Wish
from ckpttool.plan.wishes.finished import where_finished
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import can_be_called
from ckpttool.words import listed, shown

ID = "change-sources"
ORDER, STATE_KEEPS_ROWS, STATE_COUNTS_TWICE = "source-order", "state-keeps-rows", "state-counts-twice"

Order = Sequence[int | None]  # by new place the old one; None: it begins anew


class ChangeSources(Wish, frozen=True, tag="source"):
    """`to`: where a moved one goes. `order`: all sources of the changed query by what their numbers were, `-` for a new
    one, from somebody who looked at its plan. `names`: the old and the new one, and then no number counts."""

    change: Literal["add", "drop", "move", "reset", "rename"]
    number: int
    to: int | None = None
    order: str | None = None
    names: tuple[str, str] | None = None

    def repair(self, scene: Scene) -> Repair | Refusal:
        if self.names is not None:
            return _renamed(scene, *self.names)
        return where_finished(scene, ID, self._changed)

    def _changed(self, scene: Scene) -> Repair | Refusal:
        entries = [scene.entry(one) for one in (scene.previous, scene.planned) if one is not None]
        read = [entry for entry in entries if entry is not None]
        if len(read) < len(entries):
            return Refusal(ID, f"offsets/{scene.previous} or offsets/{scene.planned} is not there or unreadable")
        counts = {len(entry.sources) for entry in read}
        if any(entry.version > 1 for entry in read):
            return Refusal(ID, "the offsets name their sources, so their order does not matter")
        if len(counts) > 1:
            return Refusal(ID, "its two newest offsets have different numbers of sources")
        order = self._order(counts.pop())
        if isinstance(order, str):
            return Refusal(ID, order)
        steps = (*_offsets_steps(scene, read, order), *_directory_steps(scene, len(read[-1].sources), order))
        return Repair(ID, self._title(), steps, cost=self._cost(), conditions=tuple(self._conditions(scene, order)))

    def _order(self, count: int) -> Order | str:
        old: list[int | None] = list(range(count))
        reaches = count if self.change == "add" else count - 1
        for number in (self.number, self.to or 0):
            if number > reaches:
                return f"there is no source {number}: they are numbered from 0 to {count - 1}"
        match self.change:
            case "add":
                found: Order = [*old[: self.number], None, *old[self.number :]]
            case "drop":
                found = [one for one in old if one != self.number]
            case "reset":
                found = [None if one == self.number else one for one in old]
            case _:
                left = [one for one in old if one != self.number]
                found = [*left[: self.to or 0], self.number, *left[self.to or 0 :]]
        if not found:
            return "a query without a source is none"
        if self.order is not None and self.order != spell_order(found):
            return f"that makes the order {spell_order(found)}, and the query's is said to be {shown(self.order)}"
        return found

    def _title(self) -> str:
        match self.change:
            case "add":
                return f"Make room for a new source {self.number}, which begins where its own options say"
            case "drop":
                return f"Leave out source {self.number}"
            case "reset":
                return f"Let source {self.number} begin anew, where its own options say"
            case _:
                return f"Let source {self.number} be source {self.to}"

    def _cost(self) -> Cost:
        """What a source still had, or has once more, nobody can tell from here."""
        return {"drop": Cost(0, None, 0), "reset": UNKNOWN}.get(self.change, FREE)

    def _conditions(self, scene: Scene, order: Order) -> Iterator[Condition]:
        if self.order is None and self.change != "reset":
            new = [f"{at} is {'new' if old is None else f'what was {old}'}" for at, old in enumerate(order)]
            text = f"the changed query has its sources in this order, by its plan: {', '.join(new)}"
            yield Condition(ORDER, text)
        if scene.is_stateful and self.change in ("drop", "reset"):
            yield Condition(STATE_KEEPS_ROWS, f"its state keeps what it has of source {self.number}")
        if scene.is_stateful and self.change == "reset":
            text = f"its state counts twice what it has of source {self.number} and is read again"
            yield Condition(STATE_COUNTS_TWICE, text)


# -- a name ------------------------------------------------------------------------------------------------------------


def _renamed(scene: Scene, old: str, new: str) -> Repair | Refusal:
    entries = [scene.entry(one) for one in (scene.previous, scene.planned) if one is not None]
    if why := next(_not_renamed([entry for entry in entries if entry is not None], old, new), None):
        return Refusal(ID, why)
    steps: list[Step] = []
    for entry in entries:
        if entry is not None and old in _names(entry):
            sources = (replace(one, name=new) if one.name == old else one for one in entry.sources)
            content = encode_offset_log(replace(entry, sources=tuple(sources)))
            steps += replace_file(scene.root, layout.offsets(entry.batch_id), content, f"{old} is called {new} now")
    logs = {log.name for log in scene.checkpoint.source_logs}
    for name in (one for one in (old, new) if one in logs):
        steps += set_aside_alone(scene.root, layout.source(name), "what it kept goes with its source")
    if old in logs:
        steps.append(move(scene.root, layout.source(old), layout.source(new), f"{old} is called {new} now"))
    trap = f"in the changed query it has to be called {new}: one of another name begins anew"
    return Repair(ID, f"Let source {old} be called {new}", tuple(steps), trap=trap)


def _not_renamed(entries: Sequence[OffsetLogEntry], old: str, new: str) -> Iterator[str]:
    if not entries:
        yield "no batch was planned: a query that begins goes by the names that it has then"
    elif any(entry.version == 1 for entry in entries):
        yield "its offsets are of version 1, and name no source: there they are told by their order"
    elif old not in _names(entries[-1]):
        yield f"no source is called {shown(old)}: there are {listed(sorted(_names(entries[-1])))}"
    elif any(new in _names(entry) for entry in entries):
        yield f"a source is called {shown(new)} already"
    elif not can_be_called(new) or new.isdecimal():
        yield f"Spark takes letters, digits and _ for a name, and no number alone: {shown(new)} is none"


def _names(entry: OffsetLogEntry) -> set[str]:
    return {one.name for one in entry.sources if one.name is not None}


# -- the order ---------------------------------------------------------------------------------------------------------


def spell_order(order: Order) -> str:
    return ",".join("-" if one is None else str(one) for one in order)


def _offsets_steps(scene: Scene, entries: Sequence[OffsetLogEntry], order: Order) -> Iterator[Step]:
    for entry in entries:
        lines = (None if old is None else entry.sources[old].text for old in order)
        sources = tuple(SourceOffset(number, None, text) for number, text in enumerate(lines))
        if sources != entry.sources:
            content = encode_offset_log(replace(entry, sources=sources))
            why = "one line for each source of the changed query, in its order"
            yield from replace_file(scene.root, layout.offsets(entry.batch_id), content, why)


def _directory_steps(scene: Scene, count: int, order: Order) -> Iterator[Step]:
    """What lies where a new source will look is nobody's, even if no source was there before."""
    logs = {log.name for log in scene.checkpoint.source_logs}
    stay = {old for new, old in enumerate(order) if new == old}
    for number in range(max(count, len(order))):
        if number not in stay and str(number) in logs:
            yield from set_aside_alone(scene.root, layout.source(number), "what it kept goes with its source")
    for new, old in enumerate(order):
        if old is not None and old != new and str(old) in logs:
            why = f"source {old} is source {new} now"
            yield move(scene.root, layout.source(old), layout.source(new), why)
