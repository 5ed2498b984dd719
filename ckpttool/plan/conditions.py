"""What a plan takes for granted, each with an id: what only a person can know is passed by naming that alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.plan.cost import Cost
from ckpttool.plan.steps import DeltaRestore, Manual, Spark, Step
from ckpttool.words import listed

QUERY_STOPPED = "query-stopped"
SINK_UNNAMED = "sink-unnamed"
ROWS_LOST, ROWS_TWICE = "rows-lost", "rows-twice"
OF_COST = (ROWS_LOST, ROWS_TWICE)
# Not what a plan takes for granted, but how far it can be taken back.
UNDO_BY_HAND, UNDO_BEFORE_VACUUM, UNDO_BEFORE_EXPIRY = OF_UNDO = (
    "undo-by-hand",
    "undo-before-vacuum",
    "undo-before-expiry",
)


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


def of_undo(steps: Iterable[Step]) -> Iterator[Condition]:
    """Where `ckpt undo` needs somebody's hands, or what others may have removed by then."""
    for step in steps:
        if isinstance(step, Manual | Spark):
            who = "Spark" if isinstance(step, Spark) else "a person"
            text = f"what {who} does is taken back by {who} too: ckpt undo stops there, fenced, and says what to do"
            yield Condition(UNDO_BY_HAND, text, "ckpt")
        table = step.table if isinstance(step, DeltaRestore) else step.check.path if isinstance(step, Spark) else None
        if isinstance(step, Spark) and step.check.kind == "iceberg":
            text = f"ckpt undo can lead {table} back until the snapshot that it leaves now expires"
            yield Condition(UNDO_BEFORE_EXPIRY, text, "ckpt")
        elif table is not None:
            text = f"ckpt undo can bring the rows of {table} back until VACUUM removes their files"
            yield Condition(UNDO_BEFORE_VACUUM, text, "ckpt")


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
