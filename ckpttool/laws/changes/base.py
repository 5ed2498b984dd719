"""What a change is, and what those who look for changes go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from ckpttool.query.model import DescribedSource, Query, QueryOperator
from ckpttool.releases import OLDEST, Release
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.windows import StoredWindows

# From the least to the worst, as verdicts are drawn together.
Answer = Literal["harmless", "unknown", "rows_differ", "refused_later", "refused"]
ToldBy = Literal["checkpoint", "was", "state", "query"]
WORST_LAST: tuple[Answer, ...] = ("harmless", "unknown", "rows_differ", "refused_later", "refused")


class Spot(Struct, frozen=True, omit_defaults=True):
    source: int | None = None
    operator: int | None = None
    store: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        numbered = [f"{name} {value}" for name, value in (("source", self.source), ("operator", self.operator))]
        parts = [part for part in numbered if not part.endswith("None")]
        return " ".join([*parts, *filter(None, (self.store, self.field))]) or "query"


class RowsMeant(Struct, frozen=True):
    """What becomes of rows that are there, or come; None: nobody counted them."""

    note: str
    lost: int | None = None
    doubled: int | None = None
    changed: int | None = None


class Altered(Struct, frozen=True):
    """`told_by`: what holds the state before. `spark`: how it is refused. `law`: filled in by the law that it is of."""

    id: str
    where: Spot
    before: str | None
    after: str | None
    told_by: ToldBy
    answer: Answer
    why: str
    spark: Failure | None = None
    rows: RowsMeant | None = None


class Assumption(Struct, frozen=True):
    """What nothing that is at hand tells, and would change the answer if it were otherwise."""

    text: str


class Deploy(Struct, frozen=True):
    """A query, and what it meets: `held` is what the checkpoint shows, `was` the query that wrote it, where somebody
    kept it. `scene`: the checkpoint itself, where it is at hand; a description of it may be all there is."""

    new: Query
    held: Query
    release: Release
    was: Query | None = None
    scene: Scene | None = None

    @property
    def next_id(self) -> int | None:
        return self.scene.next_id if self.scene else None

    @property
    def begins_anew(self) -> bool:
        """Nothing was committed: state begins empty, and no operator is looked for."""
        return self.next_id == 0

    def compares(self, name: str) -> bool:
        """Whether `--was` and the new query can be compared in a field."""
        return self.was is not None and name not in self.was.not_told and name not in self.new.not_told

    def windows_in(self, number: int) -> StoredWindows | None:
        """That the state of this operator holds."""
        held = self.scene.windows if self.scene else ()
        return next((one for one in held if one.operator == number), None)

    @property
    def watermark_ms(self) -> int | None:
        """That the next batch runs with."""
        newest = self.scene.batch(self.scene.planned) if self.scene else None
        if newest is None or self.scene is None:
            return None
        return newest.watermark_ms if self.scene.is_replay else newest.next_watermark_ms

    def is_emptied(self, number: int) -> bool:
        """Whether somebody looked, and it keeps nothing: no rule is kept by it that could be mixed with another."""
        held = self.windows_in(number)
        return held is not None and held.rows == 0

    @property
    def tells_operators(self) -> bool:
        return "operators" not in self.new.not_told and "operators" not in self.held.not_told

    def held_operator(self, number: int) -> QueryOperator | None:
        return next((one for one in self.held.operators if one.id == number), None)

    def old_operator(self, number: int) -> QueryOperator | None:
        """With its meaning."""
        if not self.compares("operators"):
            return None
        return next((one for one in (self.was.operators if self.was else ()) if one.id == number), None)

    def old_source(self, number: int) -> DescribedSource | None:
        if not self.compares("sources"):
            return None
        return next((one for one in (self.was.sources if self.was else ()) if one.index == number), None)


Look = Callable[[Deploy], Iterator[Altered | Assumption]]


class ChangeLaw(Struct, frozen=True):
    """One way in which a query may be another than it was. `spark`: what Spark does with that; `rows`: what becomes of
    them; `ways_out`: ids; `evidence`: what it is known by. `look` may be shared: it answers for all that name it."""

    id: str
    title: str
    look: Look
    spark: str
    rows: str
    evidence: str
    ways_out: tuple[str, ...] = ()
    since: Release = OLDEST
    until: Release | None = None

    def holds_for(self, release: Release) -> bool:
        return self.since <= release and (self.until is None or release < self.until)
