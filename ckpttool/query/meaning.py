"""What the operators of a printed plan mean: what their columns were computed from. Pure.

As `ckpttool/spark/planned.py` tells it of a plan that it asks, so that both can be compared. What cannot be read as
Spark writes it, or was cut, has no meaning here: a wrong one would be held against the other query's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import msgspec
from msgspec import Struct

from ckpttool.formats.explain import Tree, alias, below, column, is_cut, parse_list, parse_lists
from ckpttool.formats.plan_text import STATEFUL, spell, window_of
from ckpttool.query.model import Meaning, QueryWatermark

SOURCES = ("StreamingRelation", "StreamingRelationV2")
_WATERMARK = re.compile(r"(?:[0-9a-f-]{36}, )?(?P<column>.+)#\d+(?:-T\d+ms)?: [^:]+?, (?P<delay>-?\d[^,]*)", re.DOTALL)
_UNITS_MS = {
    "years": 372 * 86_400_000,  # as Spark counts them where it needs a number
    "months": 31 * 86_400_000,
    "days": 86_400_000,
    "hours": 3_600_000,
    "minutes": 60_000,
    "seconds": 1000,
}
_PART = re.compile(rf"(-?\d+(?:\.\d+)?) ({'|'.join(_UNITS_MS)})(?: |$)")
_JOINS = {
    "Inner": "INNER",
    "Cross": "CROSS",
    "FullOuter": "FULL OUTER",
    "LeftOuter": "LEFT OUTER",
    "RightOuter": "RIGHT OUTER",
    "LeftSemi": "LEFT SEMI",
    "LeftAnti": "LEFT ANTI",
}
_LONGEST = 10_000  # of what names a column and a delay
_HINTS = re.compile(r", (?:left|right)Hint=.*$")
_PYTHON = re.compile(r".*?\)#\d+L?, (?=\[)", re.DOTALL)  # the function, before what it groups by
_FUNCTION = re.compile(r"(?:merge_|partial_)?(\w+)\(")


class UnreadablePlan(Exception):
    """What is printed may mean more than one thing."""


class PlanColumns(Struct, frozen=True):
    """What each column was computed from, by the number that Spark gave it."""

    names: dict[str, str]
    made_of: dict[str, str]

    def spell(self, expression: str) -> str:
        return spell(expression, self.names, self.made_of)


class PrintedPlan:
    """`functions`: the aggregates that the physical plan computes. `reads`: whether its sources are in it, as they are
    not in that of a running query."""

    def __init__(self, tree: Tree, functions: Iterable[str], *, reads: bool) -> None:
        self.tree = tree
        self.sources = [number for number, node in enumerate(tree) if node.name in SOURCES]
        self.stateful = [
            number for number, node in enumerate(tree) if node.name in STATEFUL and (not reads or self._streams(number))
        ]
        names = "|".join(sorted(map(re.escape, functions)))
        self._aggregate = re.compile(rf"\b(?:{names})\(") if names else None

    def _streams(self, number: int) -> bool:
        """An operator of a join has streams on both sides."""
        sides = list(below(self.tree, number)) if self.tree[number].name == "Join" else [number]
        return all(any(side <= source < self.tree[side].end for source in self.sources) for side in sides)

    def inputs(self, number: int) -> tuple[int, ...]:
        """Of the sources below; one that is read twice is below wherever it is."""
        under = {self.tree[one].text for one in self.sources if number <= one < self.tree[number].end}
        return tuple(index for index, one in enumerate(self.sources) if self.tree[one].text in under)

    def watermarks(self) -> Iterator[QueryWatermark]:
        """Raises UnreadablePlan."""
        for number, node in enumerate(self.tree):
            if node.name == "EventTimeWatermark":
                match = _WATERMARK.fullmatch(node.text) if len(node.text) < _LONGEST else None
                if match is None:
                    raise UnreadablePlan
                yield QueryWatermark(match["column"], delay_ms(match["delay"]), self.inputs(number))

    def meanings(self) -> list[Meaning]:
        """Of its stateful operators, from the sink on. Raises UnreadablePlan."""
        if is_cut(tuple(node for node in self.tree if node.name not in SOURCES)):
            raise UnreadablePlan
        columns = self._columns()
        return [msgspec.convert(self._meaning(number, columns), Meaning) for number in self.stateful]

    def of_keys(self, text: str) -> Meaning:
        """What is sure of an operator of the physical plan: windows, and columns that nothing was computed for, since
        the optimizer may have spelt other keys anew. Raises UnreadablePlan."""
        columns = self._columns()
        keys = _only(parse_lists(text))[0]
        windows = [window_of(columns.spell(one)) for one in keys]
        are_sure = all(
            "window_ms" in window or ((named := column(one)) is not None and named[1] not in columns.made_of)
            for one, window in zip(keys, windows, strict=True)
        )
        told = {name: value for one in windows for name, value in one.items() if name in ("window_ms", "slide_ms")}
        return msgspec.convert(told | {"keys": [one["key"] for one in windows] if are_sure else []}, Meaning)

    def _columns(self) -> PlanColumns:
        columns = PlanColumns({}, {})
        for node in self.tree:
            if node.name in ("Project", "Aggregate", "Window"):
                for item in _only(parse_lists(node.text))[-1 if node.name == "Aggregate" else 0]:
                    _learn(columns, item)
            elif node.name == "Expand":  # of each row one for every window that it lies in
                for made_of, name in _expanded(node.text):
                    _learn(columns, f"{made_of} AS {name}")
        return columns

    def _meaning(self, number: int, columns: PlanColumns) -> dict[str, Any]:
        node = self.tree[number]
        if node.name == "Aggregate":
            return self._aggregation(node.text, columns)
        if node.name.startswith("Deduplicate"):
            return {"keys": [columns.spell(one) for one in _only(parse_lists(node.text))[0]]}
        if node.name == "Join":
            kind, comma, on = _HINTS.sub("", node.text).partition(", ")
            if kind not in _JOINS:
                raise UnreadablePlan
            return {"join_type": _JOINS[kind], "condition": columns.spell(on) if comma else None}
        if node.name == "GlobalLimit" and node.text.isdecimal():
            return {"limit": int(node.text[:18])}
        if node.name == "FlatMapGroupsInPandasWithState" and (function := _PYTHON.match(node.text)):
            keys = _only(parse_lists(node.text[function.end() :]))[0]
            return {"keys": [columns.spell(one) for one in keys], "timeout": node.text.rpartition(", ")[2]}
        if node.name == "Distinct":
            return {}
        raise UnreadablePlan

    def _aggregation(self, text: str, columns: PlanColumns) -> dict[str, Any]:
        keys, results = _two(text)
        windows = [window_of(columns.spell(one)) for one in keys]
        lengths = [{name: value for name, value in one.items() if name != "key"} for one in windows]
        values = [columns.spell(call) for one in results for call in self._calls(one, keys)]
        found: dict[str, Any] = {"keys": [one["key"] for one in windows], "values": list(dict.fromkeys(values))}
        return reduce(lambda one, other: one | other, lengths, found)

    def _calls(self, result: str, keys: list[str]) -> Iterator[str]:
        """The aggregates in `(sum(v#1L) + 1) AS name#2L`, as they stand there."""
        computed = alias(result)
        text = computed[0] if computed else ""
        at = 0
        while text not in keys and self._aggregate and (match := self._aggregate.search(text, at)):
            at = _closing(text, match.end() - 1)
            if text.startswith(" FILTER (WHERE ", at):
                at = _closing(text, at + len(" FILTER "))
            yield text[match.start() : at]


def functions_of(physical: Tree) -> set[str]:
    """The names of the aggregates that a physical plan computes."""
    found: set[str] = set()
    for node in physical:
        if node.name.endswith("Aggregate"):
            _, mark, text = node.text.partition(" functions=")
            calls = parse_list(text)
            found |= {match[1] for call in (calls[0] if mark and calls else ()) if (match := _FUNCTION.match(call))}
    return found


def delay_ms(text: str) -> int:
    """Of an interval as Spark prints it: `1 hours 30 minutes`. Raises UnreadablePlan."""
    parts = _PART.findall(text)
    if not parts or " ".join(map(" ".join, parts)) != text or len(text) > 200:
        raise UnreadablePlan
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def _only(lists: list[list[str]] | None) -> list[list[str]]:
    if not lists:
        raise UnreadablePlan
    return lists


def _two(text: str) -> list[list[str]]:
    lists = _only(parse_lists(text))
    if len(lists) != 2:
        raise UnreadablePlan
    return lists


def _learn(columns: PlanColumns, item: str) -> None:
    computed = alias(item)
    if computed is None and column(item) is None:
        raise UnreadablePlan
    if computed:
        made_of, name, number = computed
        columns.names[number] = name
        columns.made_of.setdefault(number, made_of)


def _expanded(text: str) -> Iterator[tuple[str, str]]:
    """Of `[[a, b], …], [x#1, y#2]` the first row, where it computes something."""
    rows, names = _two(text)
    first = parse_list(rows[0]) if rows else None
    if first is None or len(first[0]) != len(names):
        raise UnreadablePlan
    yield from ((made_of, name) for made_of, name in zip(first[0], names, strict=True) if column(made_of) is None)


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one that stands there."""
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position + 1
    raise UnreadablePlan
