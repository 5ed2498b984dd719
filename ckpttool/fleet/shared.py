"""What several checkpoints of a scan have in common: the id of their query, a sink, a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from ckpttool.fleet.scan import Sighting

What = Literal["query id", "sink", "source"]
_ORDER: tuple[What, ...] = ("query id", "sink", "source")


class Shared(Struct, frozen=True):
    """`kind`: of the sink or the source. `checkpoints`: where they are, two at least."""

    what: What
    kind: str | None
    name: str
    checkpoints: tuple[str, ...]


def shared_by(sightings: Iterable[Sighting]) -> tuple[Shared, ...]:
    """A query's id is in one checkpoint: the others are copies, and a sink that goes by the id cannot tell them apart.
    Sinks, which are the tables that checkpoints lie in, and sources may be shared on purpose."""
    groups: dict[tuple[What, str | None, str], list[str]] = {}
    for one in sightings:
        for key in dict.fromkeys(_marks(one)):
            groups.setdefault(key, []).append(one.url)
    found = [Shared(*key, tuple(sorted(urls))) for key, urls in groups.items() if len(urls) > 1]
    return tuple(sorted(found, key=lambda one: (_ORDER.index(one.what), one.kind or "", one.name)))


def _marks(one: Sighting) -> Iterator[tuple[What, str | None, str]]:
    if one.query_id is not None:
        yield "query id", None, one.query_id
    if one.sink is not None:
        yield "sink", *one.sink
    yield from (("source", kind, name) for kind, name in one.sources)
