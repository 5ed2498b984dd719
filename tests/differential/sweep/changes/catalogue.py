"""Which queries leave a checkpoint, and what each of them is changed to before it is started again on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.differential.sweep.bases import since
from tests.differential.sweep.changes.query import Asked


@dataclass(frozen=True)
class Base:
    name: str
    query: Asked
    conf: Mapping[str, str] = field(default_factory=dict)
    since: str = "3.3"

    def to(self, name: str, query: Asked, *ids: str, **more: Any) -> Change:
        return Change(self, name, query, ids, **more)

    def same(self) -> Change:
        return Change(self, SAME, self.query, ())


@dataclass(frozen=True)
class Change:
    """`ids`: what it is called. `conf`: what the restart is given besides.

    The rows that come are held against those of the new query run over the same input from the beginning. `kept`: why
    others than those are what it means, with the state that is there. `lost`: why rows are wrong though these come."""

    base: Base
    name: str
    query: Asked
    ids: tuple[str, ...]
    conf: Mapping[str, str] = field(default_factory=dict)
    since: str = "3.3"
    kept: str | None = None
    lost: str | None = None

    @property
    def id(self) -> str:
        return f"{self.base.name}/{self.name}"

    @property
    def is_said(self) -> bool:
        """Whether rows are right."""
        return bool(self.kept or self.lost)


SAME = "same"
STREAMING = "spark.sql.streaming."
SUBSET = ("3.3.4", "3.4.4")  # releases of which only a part is recorded


def changes(spark: str) -> list[Change]:
    """What this release can do; of each base its own restart first."""
    from tests.differential.sweep.changes.of_event_time import event_time_changes
    from tests.differential.sweep.changes.of_own_state import own_state_changes
    from tests.differential.sweep.changes.of_sources import source_changes
    from tests.differential.sweep.changes.of_state import state_changes

    every = [*source_changes(), *state_changes(), *event_time_changes(), *own_state_changes()]
    found = [one for one in every if since(spark, one.since) and since(spark, one.base.since)]
    if spark in SUBSET:
        found = [one for number, one in enumerate(found) if one.name == SAME or number % 2]
    return list(_own_first(found))


def _own_first(found: list[Change]) -> Iterator[Change]:
    bases = list(dict.fromkeys(one.base.name for one in found))
    for name in bases:
        of_base = [one for one in found if one.base.name == name]
        yield of_base[0].base.same()
        yield from of_base
