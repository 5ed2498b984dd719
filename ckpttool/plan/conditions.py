"""What a plan takes for granted, each with an id: what only a person can know is passed by naming that alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.plan.cost import Cost
from ckpttool.words import listed

QUERY_STOPPED = "query-stopped"
SINK_UNNAMED = "sink-unnamed"
ROWS_LOST, ROWS_TWICE = "rows-lost", "rows-twice"
OF_COST = (ROWS_LOST, ROWS_TWICE)


class Condition(Struct, frozen=True):
    """`who` decides whether it holds: `you`, by accepting it; `ckpt`, which looks; `shell`: it is about the commands of
    the steps, and nobody else needs it."""

    id: str
    text: str
    who: Literal["ckpt", "you", "shell"] = "you"


def as_written(paths: Sequence[str]) -> Condition:
    """Of files that something else than Spark put there: what it was that the batches read, or kept, is not known."""
    several = len(paths) > 1
    text = f"{listed(paths)} {'say' if several else 'says'} what Spark wrote there: "
    text += f"{'they lack' if several else 'it lacks'} the checksum that those before have"
    return Condition("files-as-written", text)


def conditions_of(cost: Cost, told: Iterable[Condition], *, names_sinks: bool) -> Iterator[Condition]:
    """What a repair told itself, and what follows from its cost; a sink that nobody named is asked for once."""
    every = dict.fromkeys(told)
    yield from every
    ids = {one.id for one in every}
    if SINK_UNNAMED not in ids and not names_sinks and (cost.lost, cost.duplicated) != (0, 0):
        yield Condition(SINK_UNNAMED, "what the sink has is not known: name it with --sink to have that looked at")
    for id, rows, text in (
        (ROWS_LOST, cost.lost, "rows that no sink will have"),
        (ROWS_TWICE, cost.duplicated, "rows that a sink will have twice"),
    ):
        if id not in ids and (rows or (rows is None and names_sinks)):
            yield Condition(id, f"{text}: {'not known' if rows is None else f'{rows:,}'}")
