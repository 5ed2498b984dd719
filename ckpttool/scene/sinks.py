"""What a sink's own record of batches tells, and what is asked of it. Values only; `laws.sinks` concludes from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ckpttool.errors import CkptError
from ckpttool.model import Finding, LogNames

if TYPE_CHECKING:
    from ckpttool.scene.horizon import Horizon

Table = Literal["delta", "file", "iceberg", "hudi", "paimon"]  # told by its own files
Named = Literal["kafka", "jdbc", "foreachBatch", "memory", "noop"]  # by the user
SinkKind = Table | Named | Literal["unknown"]
HAVE_A_RECORD = ("delta", "file", "iceberg", "hudi")
KEEP_NOTHING = ("noop", "memory")
Verdict = Literal["written", "skipped_already_written", "skipped_rows_lost", "duplicated", "unknown"]
# `recorded`: the record says that it has the batch, and no write shows when it got it.
Has = Literal["rows", "recorded", "nothing", "rows-taken-out", "other-rows", "perhaps-rows", "not-known"]
# Before a plan's id: the application of a commit to a Delta table that carried the plan out, or took it back.
MARK_OF_APPLY, MARK_OF_UNDO = MARKS = ("ckpt-apply:", "ckpt-undo:")
_MANY = 10_000  # numbers that lie between two batches in a row: no more of them are looked at
_TAKE_SINGLE_ROWS = ("DELETE", "MERGE", "UPDATE")
HARMFUL: tuple[Verdict, ...] = ("skipped_rows_lost", "duplicated")


class LedgerEntry(Struct, frozen=True):
    """The last batch recorded for one application (None: the record names nobody, as a file sink's).

    `native`: the streaming sink itself wrote it; False: an ordinary write that carries a number; None: not seen."""

    app_id: str | None
    batch_id: int
    updated_ms: int | None = None
    native: bool | None = True


class SinkWrite(Struct, frozen=True):
    """One write that the sink's log still shows. `app_id` and `batch_id` None: it carries no number.

    `place` is the table's version, the snapshot, or the file of the log. `rows_lost`: why its rows are there no longer;
    `unnoticed`: no reader fails for that; `taken_by`: the version that took them; `rows_unsure`: why that cannot be
    told; `empty`: it added nothing that could be lost; `takes`: it took out what had been there; `elsewhere`: the
    partition of another place in which its files lie. `files`: what a file sink wrote, below its output; None: that is
    not known, or some of it is elsewhere."""

    place: str
    timestamp_ms: int | None
    app_id: str | None = None
    batch_id: int | None = None
    version: int | None = None
    operation: str | None = None
    rows: int | None = None
    empty: bool = False
    takes: bool = False
    rows_lost: str | None = None
    unnoticed: bool = False
    rows_unsure: str | None = None
    elsewhere: str | None = None
    taken_by: int | None = None
    files: tuple[str, ...] | None = None

    @property
    def changes_rows(self) -> bool:
        """A restore takes out only what had come since."""
        return not self.empty or (self.takes and self.operation != "RESTORE")


class SinkEvidence(Struct, frozen=True):
    """What was read of one sink.

    `key`: the application whose batches the sink skips; None where the record names nobody. `key_given`: the user
    named it. `writes` ascend and are all that happened since `seen_from_ms` (0: ever; None: since nobody knows
    when). `incomplete`: why entries may be missing from `ledger`. `forgets`: entries vanish with time even for
    Spark; after `retention_ms` where that is what limits them. `names`: the file sink's log; `log_gone`: it is not
    there any more; `was_table`: or these files are what a Delta table has left, which names them in the same way.
    `gap`: a commit that the table's log lacks. `features`: what a Delta table asks of its writers; None: that is
    not known. `table_id`: a table recreated has another. `log_bytes`: of the newest compact file of a file sink's
    log; `unlisted`: files beside the mark of an ordinary write that no entry of that log lists, and when they were
    written. `by_place`: an Iceberg table that no catalog has to find."""

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
    log_gone: bool = False
    was_table: bool = False
    gap: int | None = None
    features: frozenset[str] | None = None
    is_append_only: bool = False
    table_id: str | None = None
    log_bytes: int | None = None
    unlisted: Mapping[str, int] = {}
    by_place: bool = False
    faults: tuple[Finding, ...] = ()
    error: CkptError | None = None

    def fault(self, path: str) -> Finding | None:
        return next((fault for fault in self.faults if fault.path == path), None)

    def entry(self, app_id: str | None) -> LedgerEntry | None:
        return next((entry for entry in self.ledger if entry.app_id == app_id), None)

    def write_of(self, app_id: str | None, batch_id: int) -> SinkWrite | None:
        """The last write of this batch."""
        found = (write for write in reversed(self.writes) if write.batch_id == batch_id and write.app_id == app_id)
        return next(found, None)

    def version_without(self, batches: Sequence[SinkWrite]) -> int | None:
        """The newest version in which no row of these writes is: it lies before the first of which there may be some
        now, and not between another and what took that one out. None: there are none to be taken out."""
        there = (one.version for one in batches if one.version is not None and self._may_be_there(one))
        first = min(there, default=None)
        if first is None:
            return None
        for one in sorted(batches, key=lambda one: one.version or 0, reverse=True):
            if one.version is not None and one.taken_by is not None and one.version < first <= one.taken_by:
                first = one.version
        return first - 1

    def _may_be_there(self, write: SinkWrite) -> bool:
        """What takes single rows out may leave others of the same write."""
        if write.empty or not write.rows_lost:
            return not write.empty
        taker = next((one for one in self.writes if one.version == write.taken_by), None)
        return taker is not None and taker.operation in _TAKE_SINGLE_ROWS and not taker.empty

    def by_others(self, key: str | None, after: int) -> list[SinkWrite]:
        """What came into a table later or was taken out, and neither by this application nor by a plan, which only
        moves what was there."""
        ours = {one.version for one in self.writes if one.app_id == key or (one.app_id or "").startswith(MARKS)}
        later = (one for one in self.writes if one.version is None or (one.version > after and one.version not in ours))
        return [one for one in later if one.changes_rows]


class Logs(Struct, frozen=True):
    """What the checkpoint's logs say of the batch that a restart runs first, as far as a sink is concerned.

    `is_replay`: it runs again, with the offsets that are logged. `planned`, `committed`: the newest ids in `offsets/`
    and `commits/`; `commits`: all of the latter. `planned_ms`: when the batch that runs again was planned. `rows`: what
    it reads, `empty`: whether that is nothing; None: not known. `now_ms` None: the time plays no part. `planned_at`,
    `rows_of`: of each batch by its own offsets, where they tell."""

    batch_id: int
    is_replay: bool = False
    planned: int | None = None
    committed: int | None = None
    commits: frozenset[int] = frozenset()
    planned_ms: int | None = None
    query_id: str | None = None
    rows: int | None = None
    empty: bool | None = None
    now_ms: int | None = None
    planned_at: Mapping[int, int] = {}
    rows_of: Mapping[int, int] = {}

    @property
    def reads_nothing(self) -> bool:
        return self.empty is True or self.rows == 0


class SinkView(Struct, frozen=True):
    """A sink beside the logs: what it has of a batch, and whether it skips it. Nobody else answers these."""

    sink: SinkEvidence
    logs: Logs

    @property
    def keeps_a_record(self) -> bool:
        return self.sink.kind in HAVE_A_RECORD

    @property
    def keeps_nothing(self) -> bool:
        return self.sink.kind in KEEP_NOTHING

    @property
    def in_force(self) -> LedgerEntry | None:
        """What Spark finds for this query: Delta drops entries that are too old, and then those without a time too."""
        entry, retention_ms = self.sink.entry(self.sink.key), self.sink.retention_ms
        if entry is None or retention_ms is None or self.logs.now_ms is None:
            return entry
        is_kept = entry.updated_ms is not None and entry.updated_ms > self.logs.now_ms - retention_ms
        return entry if is_kept else None

    @property
    def recorded(self) -> int | None:
        """The last batch that the sink skips."""
        entry = self.in_force if self.keeps_a_record and not self.sink.error else None
        return entry.batch_id if entry else None

    @property
    def is_known(self) -> bool:
        """Whether the record is of this query: by its id, or by one that the user gave."""
        return self.sink.key_given or self.sink.entry(self.sink.key) is not None

    @property
    def own_write(self) -> SinkWrite | None:
        """Of the next batch, under the query's own id."""
        return self.sink.write_of(self.sink.key, self.logs.batch_id)

    @property
    def is_all_seen_since_planned(self) -> bool:
        seen, planned = self.sink.seen_from_ms, self.logs.planned_ms
        return seen is not None and planned is not None and seen <= planned

    def skips(self, batch_id: int) -> bool | None:
        """Whether the sink's record stops this number from being written; None: that is not known."""
        if not self.sink.exists:
            return False
        if self.sink.error or self.sink.incomplete:
            return None
        if not self.keeps_a_record:
            return None if self.sink.kind == "unknown" else False
        return self.recorded is not None and self.recorded >= batch_id

    def has_written(self, batch_id: int) -> bool:
        """Whether the sink's log shows that it got this batch, whatever became of the rows."""
        return self.sink.exists and self.latest_write(batch_id) is not None

    @property
    def holes(self) -> tuple[int, ...]:
        """Batches that a streaming sink never wrote, though it wrote ones before and after: it writes each, also those
        without rows. Where the checkpoint has commits below and above, and none of the batch, it was left out."""
        entry, commits = self.sink.entry(self.sink.key), self.logs.commits
        if self.sink.kind != "delta" or entry is None or entry.native is not True or self.sink.incomplete:
            return ()
        own = {one.batch_id for one in self.sink.writes if one.app_id == self.sink.key and one.batch_id is not None}
        between = (batch for one, after in pairwise(sorted(own)) for batch in range(one + 1, min(after, one + _MANY)))
        return tuple(batch for batch in between if batch in commits or batch < min(commits, default=0))

    def ends_before_reading(self, batch_id: int) -> bool:
        """Most look at their record before they ask for a row; Iceberg only when it commits."""
        return self.sink.kind in ("delta", "file", "hudi") and self.skips(batch_id) is True

    def has(self, batch_id: int) -> Has:
        """What is there of a batch, by the sink's writes, by its record, or by the commits where it keeps none."""
        if not self.sink.exists:
            return "nothing"
        if self.sink.error or self.sink.incomplete:
            return "not-known"
        if not self.keeps_a_record:
            return "rows" if batch_id in self.logs.commits else "not-known"
        write = self.latest_write(batch_id)
        if write is None:
            return self._has_without_a_write(batch_id)
        if write.rows_lost and not write.empty:
            return "rows-taken-out"
        if self.planned_after(write):
            return "other-rows"
        return "perhaps-rows" if write.rows_unsure and not write.empty else "rows"

    def _has_without_a_write(self, batch_id: int) -> Has:
        sink = self.sink
        if self.skips(batch_id):
            again = self.logs.is_replay and batch_id == self.logs.batch_id
            all_seen = sink.seen_from_ms == 0 or (again and self.is_all_seen_since_planned)
            return "nothing" if all_seen else "recorded"
        if sink.entry(sink.key) is None and self._may_be_unnumbered(batch_id):
            return "not-known"
        is_known = sink.entry(sink.key) is not None or (not sink.ledger and sink.seen_from_ms == 0)
        return "nothing" if is_known else "not-known"

    def holds(self, batch_id: int) -> bool | None:
        """Whether the rows of a batch are in the sink; None where nothing tells."""
        has = self.has(batch_id)
        return None if has in ("perhaps-rows", "not-known") else has in ("rows", "recorded")

    def _may_be_unnumbered(self, batch_id: int) -> bool:
        """Whether a write that carries no number may be of this batch: none that came before it was planned."""
        since = self.logs.planned_ms if batch_id == self.logs.planned else None
        since = self.logs.planned_at.get(batch_id, since or 0)
        plain = [write for write in self.sink.writes if write.app_id is None and not write.empty]
        return any(write.timestamp_ms is None or write.timestamp_ms >= since for write in plain if not write.rows_lost)

    def holds_what_it_skips(self, batch_id: int) -> bool:
        return self.skips(batch_id) is True and self.holds(batch_id) is True

    def planned_after(self, write: SinkWrite) -> bool:
        """Planned anew after the sink had a batch of that number: then it holds other rows under it."""
        planned_ms = self.logs.planned_ms
        if not self.logs.is_replay or write.batch_id not in (None, self.logs.planned):
            return False
        if planned_ms is None or write.timestamp_ms is None:
            return False
        # Object stores tell whole seconds: then the write may have been up to the next one.
        return planned_ms > write.timestamp_ms + (999 if write.timestamp_ms % 1000 == 0 else 0)

    def latest_write(self, batch_id: int) -> SinkWrite | None:
        """Under the query's own id; where the record does not know that id, under any that a streaming query had."""
        sink = self.sink
        if self.is_known:
            return sink.write_of(sink.key, batch_id)
        natives = [entry.app_id for entry in sink.ledger if entry.native]
        found = (sink.write_of(app_id, batch_id) for app_id in natives)
        return next((write for write in found if write), None)


class SinkVerdict(Struct, frozen=True):
    """What the sink will do with that batch, and what it comes to later (`horizon`; None: it could not be read).
    Findings of severity error: rows are lost or repeated, then or soon."""

    kind: SinkKind
    path: str
    verdict: Verdict
    why: str
    findings: tuple[Finding, ...] = ()
    horizon: Horizon | None = None
