"""What a rehearsal saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.harness.history import ObservedFailure
from ckpttool.laws.restart import SourceRange
from ckpttool.rehearsal.copying import CheckpointClone
from ckpttool.rehearsal.rows import RowComparison

Which = Literal["old", "new"]
Outcome = Literal["done", "failed", "not_reached"]
Verdict = Literal["same", "rows_differ", "failed", "unknown"]
SinkIs = Literal["capture", "run"]


class CodeRun(Struct, frozen=True):
    """One code on its clone. `not_reached`: it came to no end of the batches, for want of input or of time, or since
    the other code had come to none. `state_rows`: by operator, before and after."""

    which: Which
    outcome: Outcome
    why: str | None = None
    error: ObservedFailure | None = None
    spark_version: str | None = None
    rows_in: int = 0
    rows_out: int = 0
    watermark_ms: int | None = None
    state_rows: Mapping[int, tuple[int | None, int | None]] = {}
    seconds: float = 0


class Written(Struct, frozen=True):
    """What both functions of foreachBatch have made of one place. `removed`: rows that went, of a table."""

    place: str
    added: RowComparison
    removed: RowComparison

    @property
    def is_same(self) -> bool:
        return self.added.is_same and self.removed.is_same


class Rehearsal(Struct, frozen=True):
    """`touched`: what was changed meanwhile of all that was watched; nobody here has. `steady`: the old code gave the
    same rows when it replayed its own batches; nobody asked it if those of the new one are the same."""

    checkpoint: str
    batch_ids: Sequence[int]
    range: Sequence[SourceRange]
    clone: CheckpointClone
    runs: Sequence[CodeRun]
    rows: RowComparison | None
    not_rehearsed: Sequence[str]
    touched: Sequence[str]
    written: Sequence[Written] = ()
    steady: bool = True
    agrees_with_check_change: bool | None = None
    kept: str | None = None

    @property
    def new(self) -> CodeRun:
        return next(run for run in self.runs if run.which == "new")

    @property
    def verdict(self) -> Verdict:
        """Of the new code; without an old one there is nothing that its rows could be held against."""
        if self.new.outcome == "failed":
            return "failed"
        if self.rows is None:
            return "unknown"
        if self.rows.is_same and all(one.is_same for one in self.written):
            return "same"
        return "rows_differ" if self.steady else "unknown"
