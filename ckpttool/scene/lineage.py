"""Are the rows of a commit still in a Delta table? Follows its files through the commits after it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ckpttool.formats.delta_log import DeltaCommit

_REPLACES_WITH_ALL_ROWS = ("UPDATE",)  # changed or not, the rows stay
_REMOVES_SOME_ROWS = ("DELETE", "MERGE")


class Fate(Struct, frozen=True):
    """Neither: the rows are all there. `by`: the version that took them."""

    lost: str | None = None
    unsure: str | None = None
    by: int | None = None


def follow_rows(commit: DeltaCommit, later: Iterable[DeltaCommit]) -> Fate:
    """What became of the rows that `commit` added; `later` are all commits after it, oldest first."""
    own = commit.added
    holding, fate = set(own), Fate()
    for change in later:
        taken = holding & change.removed
        if change.operation == "RESTORE":
            holding = (holding - taken) | (change.added & own)
            fate = Fate() if holding >= own else _lost(change) if taken else fate
        elif taken:
            holding = (holding - taken) | change.added
            fate = _fate_of_taken(commit, change, taken, fate)
            if fate.lost:
                holding -= change.added
    return fate


def _fate_of_taken(commit: DeltaCommit, change: DeltaCommit, taken: set[str], before: Fate) -> Fate:
    if change.rewrites or change.operation in _REPLACES_WITH_ALL_ROWS or _repeats_everything(change):
        return before
    if change.operation in _REMOVES_SOME_ROWS and change.added:
        deleted = change.metric("numDeletedRows" if change.operation == "DELETE" else "numTargetRowsDeleted")
        if deleted == 0:
            return before
        if change.operation == "DELETE" and taken <= commit.added:
            return _lost(change)  # a file of this batch alone is only touched if one of its rows goes
        what = f"{change.operation} in version {change.version} removed rows, perhaps some of this batch"
        return before if before.lost else Fate(unsure=what)
    return _lost(change)


def _repeats_everything(change: DeltaCommit) -> bool:
    """In complete mode each batch replaces the table by a result that includes the earlier ones."""
    return change.operation == "STREAMING UPDATE" and change.parameters.get("outputMode") == "Complete"


def _lost(change: DeltaCommit) -> Fate:
    return Fate(
        lost=f"{change.operation or 'a change'} in version {change.version} took its rows out", by=change.version
    )
