"""What Spark's own planner says of a changed query, held against what the laws say. Pure.

From 4.0 on Spark compares operators and their schemas with those of the checkpoint while it plans a batch, before any
task runs. It looks at nothing else: not at sources, offsets, or what rows mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ckpttool.laws.changes.judge import QueryChanges
from ckpttool.model import Finding
from ckpttool.words import shown

# Conditions that planning raises: of operators, and of the schemas of their stores.
_OF_PLANNING = ("STREAMING_STATEFUL_OPERATOR_", "STATE_STORE_")


class PlannerSays(Struct, frozen=True):
    """`unknown`: it did not come to an answer, and `message` says why."""

    outcome: Literal["accepted", "refused", "unknown"]
    class_name: str | None = None
    condition: str | None = None
    message: str | None = None


def says(thrown: Mapping[str, str | None] | None) -> PlannerSays:
    """What planning threw, if anything, as the child tells it. What is not of planning stopped it before it came to an
    answer."""
    if thrown is None:
        return PlannerSays("accepted")
    condition, first_line = thrown["condition"], (thrown["message"] or "").strip().partition("\n")[0]
    is_of_planning = condition is not None and condition.startswith(_OF_PLANNING)
    return PlannerSays("refused" if is_of_planning else "unknown", thrown["class"], condition, first_line)


def disagreement(changes: QueryChanges, said: PlannerSays) -> Finding | None:
    """Where one of both refuses what the other takes, or for another reason."""
    conditions = [one.spark.condition for one in changes.found if one.spark]
    ours = [one for one in dict.fromkeys(conditions) if one and one.startswith(_OF_PLANNING)]
    here = f"what is told here is {' or '.join(ours)}" if ours else "nothing that is told here says so"
    if said.outcome == "refused" and said.condition not in ours:
        message = shown(said.message or "", 200)
        return _finding(f"Spark's planner refuses the query with {said.condition}, and {here}: {message}")
    if said.outcome == "accepted" and ours:
        return _finding(f"Spark's planner takes the query, and {here}")
    return None


def _finding(message: str) -> Finding:
    step = "trust Spark's word, and report the difference with both descriptions"
    return Finding("planner-disagrees", "warning", ".", message, next_step=step)
