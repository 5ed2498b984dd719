"""What a sink's own record of batches tells, and what is asked of it. Values only; `judge.py` concludes from them."""

from __future__ import annotations

from typing import Literal

from ckpttool.errors import CkptError
from ckpttool.frozen import frozen
from ckpttool.model import Finding, LogNames

SinkKind = Literal["delta", "file", "iceberg", "kafka", "jdbc", "foreachBatch", "memory", "noop", "unknown"]
Verdict = Literal["written", "skipped_already_written", "skipped_rows_lost", "duplicated", "unknown"]


@frozen
class LedgerEntry:
    """The last batch recorded for one application (None: the record names nobody, as a file sink's).

    `native`: the streaming sink itself wrote it; False: an ordinary write that carries a number; None: not seen."""

    app_id: str | None
    batch_id: int
    updated_ms: int | None = None
    native: bool | None = True


@frozen
class SinkWrite:
    """One write that the sink's log still shows. `app_id` and `batch_id` None: it carries no number.

    `place` is the table's version, the snapshot, or the file of the log. `rows_lost`: why its rows are there no longer;
    `rows_unsure`: why that cannot be told; `empty`: it added nothing that could be lost."""

    place: str
    timestamp_ms: int | None
    app_id: str | None = None
    batch_id: int | None = None
    version: int | None = None
    operation: str | None = None
    rows: int | None = None
    empty: bool = False
    rows_lost: str | None = None
    rows_unsure: str | None = None


@frozen
class SinkEvidence:
    """What was read of one sink.

    `key`: the application whose batches the sink skips; None where the record names nobody. `key_given`: the user named
    it. `writes` ascend and are all that happened since `seen_from_ms` (0: ever; None: since nobody knows when).
    `incomplete`: why entries may be missing from `ledger`. `forgets`: entries vanish with time even for Spark;
    after `retention_ms` where that is what limits them. `names`: the file sink's log."""

    kind: SinkKind
    path: str
    exists: bool = True
    key: str | None = None
    key_given: bool = False
    ledger: tuple[LedgerEntry, ...] = ()
    writes: tuple[SinkWrite, ...] = ()
    seen_from_ms: int | None = None
    incomplete: str | None = None
    forgets: bool = False
    retention_ms: int | None = None
    names: LogNames | None = None
    faults: tuple[Finding, ...] = ()
    error: CkptError | None = None

    def entry(self, app_id: str | None) -> LedgerEntry | None:
        return next((entry for entry in self.ledger if entry.app_id == app_id), None)

    def write_of(self, app_id: str | None, batch_id: int) -> SinkWrite | None:
        """The last write of this batch."""
        found = (write for write in reversed(self.writes) if write.batch_id == batch_id and write.app_id == app_id)
        return next(found, None)


@frozen
class RestartFacts:
    """The batch that a restart runs first, as far as a sink is concerned.

    `committed` and `planned`: the newest ids in `commits/` and `offsets/`. `planned_ms`: when the batch that is to be
    replayed was planned (`batchTimestampMs`). `rows`: what the batch is expected to read, `empty`: whether it reads
    nothing; None: not known. `same_rows`: the source gives a batch of this number the same rows whenever it is planned.
    """

    outcome: Literal["replay", "new_batch", "fresh_start"]
    batch_id: int
    now_ms: int
    committed: int | None = None
    planned: int | None = None
    planned_ms: int | None = None
    query_id: str | None = None
    rows: int | None = None
    empty: bool | None = None
    same_rows: bool = False


@frozen
class SinkVerdict:
    """What the sink will do with that batch. Findings of severity error: rows are lost or repeated, then or soon."""

    kind: SinkKind
    path: str
    verdict: Verdict
    why: str
    findings: tuple[Finding, ...] = ()
