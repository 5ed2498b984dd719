"""What a connector is: the knowledge of one outside system's offsets, in one file.

A connector is a module listed in `connectors.ALL` that satisfies `Connector`. Its offsets are frozen structs that
inherit `Offset`. This half is pure: text in, values out. Halves that ask a living system are named `probe_*`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import ClassVar, Literal, Protocol, Self, TypeGuard, TypeVar

from msgspec import Struct

from ckpttool.formats.envelope import INT_MAX, LONG_MAX, LONG_MIN
from ckpttool.model import Json
from ckpttool.words import counted, shown

Certainty = Literal["certain", "likely", "ambiguous"]


class Order(Enum):
    """How one offset stands to another of the same source. MIXED: ahead in one part, behind in another."""

    BEFORE = "before"
    EQUAL = "equal"
    AFTER = "after"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class OffsetStep(Struct, frozen=True):
    """What lies between two offsets. `amount` None: the offsets do not tell, `note` says why.

    `exact` False: an upper bound (compaction, transaction markers). `parts`: the same per partition, shard or topic;
    `backwards`: the parts whose offset went down, `added` and `gone`: the parts only the end, only the start has."""

    amount: int | None
    unit: str
    exact: bool = False
    note: str | None = None
    parts: Mapping[str, int | None] = {}
    backwards: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class Offset(Struct, frozen=True):
    """One source's position. Subclasses add the fields, and say how they stand to others of their class. `unit`: what
    lies between two of them."""

    kind: ClassVar[str]
    unit: ClassVar[str] = "rows"
    certainty: Certainty

    @abstractmethod
    def summary(self) -> str:
        """One short phrase for the overview: `orders  12 partitions  88,100,000`."""

    def order(self, other: Offset) -> Order:
        """Where this offset stands relative to `other`."""
        return self.order_to(other) if isinstance(other, type(self)) else Order.UNKNOWN

    @abstractmethod
    def order_to(self, other: Self) -> Order: ...

    def step_from(self, start: Offset | None) -> OffsetStep:
        """What a batch that ends here reads when it begins at `start` (None: from the source's beginning)."""
        if start is None:
            return self.first_step()
        return self.step_since(start) if isinstance(start, type(self)) else OffsetStep(None, self.unit, note=OTHER_KIND)

    def first_step(self) -> OffsetStep:
        return OffsetStep(None, self.unit, note=START_UNKNOWN)

    @abstractmethod
    def step_since(self, start: Self) -> OffsetStep: ...

    def uncountable_step(self, start: Self, note: str, part: str) -> OffsetStep:
        """Where two offsets do not tell how much lies between them; `part` is what has gone backwards."""
        order = self.order(start)
        if order is Order.EQUAL:
            return OffsetStep(0, self.unit, exact=True)
        return OffsetStep(None, self.unit, note=note, backwards=(part,) if order is Order.BEFORE else ())

    def reads(self) -> tuple[str, ...]:
        """The names of what is read, as far as an offset has them."""
        return ()

    def details(self) -> list[tuple[str, str]]:
        """Every part by name, for the view of one batch."""
        return []

    def problems(self) -> list[str]:
        """What cannot be right in this offset by itself, in words (a sentinel where a number belongs, …)."""
        return []


class Options(Struct, frozen=True):
    """Names of options as a system spells them; Spark does not tell upper from lower case. `each`: read at every start.
    `first`: only until it is settled where the query began. `prefixes`: whatever follows is passed on, to a client."""

    each: str = ""
    first: str = ""
    prefixes: tuple[str, ...] = ()


class Connector(Protocol):
    """The module's face. `EXAMPLES` are offset texts the connector recognises; contract tests and docs use them."""

    KIND: str
    EXAMPLES: tuple[str, ...]

    def parse_offset(self, value: Json, text: str, hint: str | None) -> Offset | None:
        """The offset if `value` (the JSON of `text`) has this system's shape, else None; never raises.

        `hint` is the kind that the files under `sources/<n>` prove, or the user named; None without evidence."""


# -- positions: their order, and what lies between two of them ---------------------------------------------------------

PositionT = TypeVar("PositionT", int, tuple[int, ...])


def order_of(one: PositionT, other: PositionT) -> Order:
    """The order of two totally ordered positions."""
    if one == other:
        return Order.EQUAL
    return Order.BEFORE if one < other else Order.AFTER


def order_of_parts(one: Mapping[str, PositionT], other: Mapping[str, PositionT]) -> Order:
    """The order of two vectors of positions: by the parts both have; a part only one has counts as ahead there."""
    ahead = any(part not in other or position > other[part] for part, position in one.items())
    behind = any(part not in one or position > one[part] for part, position in other.items())
    if ahead and behind:
        return Order.MIXED
    return Order.AFTER if ahead else Order.BEFORE if behind else Order.EQUAL


def went_down(start: Mapping[str, PositionT], end: Mapping[str, PositionT]) -> tuple[str, ...]:
    """The parts that stand lower in `end` than in `start`."""
    return tuple(part for part, position in end.items() if part in start and position < start[part])


def missing_in(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """The parts of `others` that `some` lacks, in the order of `others`."""
    known = set(some)
    return tuple(part for part in others if part not in known)


def step_of_number(
    start: int | None, end: int, unit: str, part: str, *, exact: bool, note: str | None = None
) -> OffsetStep:
    """The step between two counters; `part` is the counter's name, told when it went down."""
    if start is None:
        return OffsetStep(None, unit, note=START_UNKNOWN)
    return OffsetStep(max(0, end - start), unit, exact=exact, note=note, backwards=(part,) if end < start else ())


def step_of_parts(start: Mapping[str, int] | None, end: Mapping[str, int], unit: str, *, exact: bool) -> OffsetStep:
    """The step between two vectors of exclusive positions; a part that `start` lacks cannot be counted."""
    if start is None:
        return OffsetStep(None, unit, note=START_UNKNOWN, added=tuple(end))
    parts = {part: position - start[part] if part in start else None for part, position in end.items()}
    added = missing_in(start, end)
    counted = [max(0, rows) for rows in parts.values() if rows is not None]
    return OffsetStep(
        amount=None if added else sum(counted),
        unit=unit,
        exact=exact and not added,
        note="the start of an added part is decided at run time" if added else None,
        parts=parts,
        backwards=went_down(start, end),
        added=added,
        gone=missing_in(end, start),
    )


START_UNKNOWN = "where the source began is not in this log"
OTHER_KIND = "the two offsets are of different kinds"


# -- reading untrusted JSON: every helper answers for any value --------------------------------------------------------


def is_long(value: Json) -> TypeGuard[int]:
    """An integer that a Java long holds; JSON's booleans are not numbers."""
    return type(value) is int and LONG_MIN <= value <= LONG_MAX


def longs_of(fields: Mapping[str, Json], *names: str) -> tuple[int, ...] | None:
    """The named fields in that order, None unless every one is a Java long."""
    longs = tuple(value for name in names if is_long(value := fields.get(name)))
    return longs if len(longs) == len(names) else None


def is_partition_number(text: str) -> bool:
    """A non-negative Java int as Java prints it: no sign, no leading zero, ASCII digits."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or (text[0] == "0" and text != "0"):
        return False
    return int(text) <= INT_MAX


def partitions_of(value: Json) -> dict[int, int] | None:
    """`{"0":23,"1":345}` in the order of the partition numbers, None for any other shape."""
    if not isinstance(value, dict):
        return None
    if not all(is_partition_number(number) and is_long(position) for number, position in value.items()):
        return None
    return dict(sorted((int(number), position) for number, position in value.items()))


def topics_of(value: Json) -> dict[str, dict[int, int]] | None:
    """`{"orders":{"0":23,"1":345}}` in the order of the names and numbers, None for any other shape."""
    if not isinstance(value, dict):
        return None
    topics = {}
    for name in sorted(value):
        partitions = partitions_of(value[name])
        if partitions is None:
            return None
        topics[name] = partitions
    return topics


def certainty_by(hint: str | None, kind: str, otherwise: Certainty) -> Certainty:
    """A hint that names the kind settles what the shape alone leaves open."""
    return "certain" if hint == kind else otherwise


# -- shapes that several systems share ---------------------------------------------------------------------------------


class CounterOffset(Offset, frozen=True):
    """One number. The class says what it counts; `first`: where all sources of the kind begin, None if it varies."""

    name: ClassVar[str]
    exact: ClassVar[bool]
    first: ClassVar[int | None] = None
    note: ClassVar[str | None] = None
    position: int

    def order_to(self, other: Self) -> Order:
        return order_of(self.position, other.position)

    def first_step(self) -> OffsetStep:
        return self._step(self.first)

    def step_since(self, start: Self) -> OffsetStep:
        return self._step(start.position)

    def _step(self, begin: int | None) -> OffsetStep:
        return step_of_number(begin, self.position, self.unit, self.name, exact=self.exact, note=self.note)

    def details(self) -> list[tuple[str, str]]:
        return [(self.name, str(self.position))]


class VectorOffset(Offset, frozen=True):
    """A number for each partition."""

    exact: ClassVar[bool]

    @abstractmethod
    def positions(self) -> Mapping[str, int]: ...

    def beginning(self) -> Mapping[str, int] | None:
        """Where every source of the kind begins, None if it varies."""
        return None

    def order_to(self, other: Self) -> Order:
        return order_of_parts(self.positions(), other.positions())

    def first_step(self) -> OffsetStep:
        return step_of_parts(self.beginning(), self.positions(), self.unit, exact=self.exact)

    def step_since(self, start: Self) -> OffsetStep:
        return step_of_parts(start.positions(), self.positions(), self.unit, exact=self.exact)

    def details(self) -> list[tuple[str, str]]:
        return [(shown(name, 200), str(position)) for name, position in self.positions().items()]


class TopicOffset(VectorOffset, frozen=True):
    """Topic → partition → the next position to read: a batch is `[start, end)` in every partition."""

    exact: ClassVar[bool] = False
    topics: Mapping[str, Mapping[int, int]]

    def reads(self) -> tuple[str, ...]:
        return tuple(self.topics)

    def positions(self) -> dict[str, int]:
        """Under flat names, `orders-3`."""
        return {
            f"{topic}-{number}": position
            for topic, partitions in self.topics.items()
            for number, position in partitions.items()
        }

    def summary(self) -> str:
        partitions = sum(len(partitions) for partitions in self.topics.values())
        total = sum(sum(partitions.values()) for partitions in self.topics.values())
        topics = shown(next(iter(self.topics))) if len(self.topics) == 1 else f"{counted(len(self.topics), 'topic')},"
        return f"{topics} {counted(partitions, 'partition')}, {total:,}"


class OpaqueOffset(Offset, frozen=True):
    """A text that only its writer understands: it can be compared for equality, and shown."""

    text: str

    def order_to(self, other: Self) -> Order:
        return Order.EQUAL if other.text == self.text else Order.UNKNOWN

    def step_since(self, start: Self) -> OffsetStep:
        return self.uncountable_step(start, "only the source knows what lies between these offsets", "offset")

    def details(self) -> list[tuple[str, str]]:
        return [("offset", shown(self.text, 1000))]
