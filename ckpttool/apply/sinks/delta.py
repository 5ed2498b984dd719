"""A Delta table, through delta-rs: rows and record go back in one commit, which carries a mark of ours.

So a crash after the commit is told from one before it, and nobody sees a table whose record and rows disagree. Refused
is what delta-rs would do although it must not, or cannot.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ckpttool.apply.outcome import StoppedFenced, WhyNot
from ckpttool.apply.places import STAGING_OF_SINKS
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.sinks.options import for_delta_rs
from ckpttool.apply.stores.base import WritableStore
from ckpttool.apply.stores.durable import flush
from ckpttool.apply.stores.opening import open_tree
from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.formats.delta_log import parse_delta_log_names
from ckpttool.formats.layout import DELTA_LOG
from ckpttool.reading.sinks.delta import gone_for_good, read_commits
from ckpttool.releases.delta import WRITTEN_BY_DELTA_RS
from ckpttool.scene.sinks import MARK_OF_APPLY, MARK_OF_UNDO
from ckpttool.storage.remote_errors import harmless
from ckpttool.storage.store import Store
from ckpttool.storage.urls import parse_url

if TYPE_CHECKING:
    from deltalake import DeltaTable

State = Literal["old", "new", "other"]
Doing = Literal["apply", "undo"]

_NEWEST_WITHOUT_FEATURES = 5
GO_ELSEWHERE = "bring it back, or plan for a batch that needs no such file"
STAY = "bring it back, or keep what was carried out: where that is not finished, ckpt apply --resume goes on"


class TableChange(Struct, frozen=True):
    """`restore`: the version to go back to, None: only the record is lowered. `was`: the table before it, and its
    record."""

    steps: tuple[int, ...]
    plan_id: str
    table: str
    restore: int | None
    app_id: str
    batch: int
    was: int
    recorded: int | None
    storage: Mapping[str, str] = {}

    @property
    def n(self) -> int:
        return self.steps[-1]


def table_changes(plan: PlanFile, storage: Mapping[str, str] | None = None) -> list[TableChange]:
    """`storage`: options of the stores that they lie in."""
    found: list[TableChange] = []
    marks = {mark.path: mark for mark in plan.relies_on.sinks}
    for step in plan.steps:
        if step.kind != "delta_txn" or step.table is None or step.app_id is None or step.version is None:
            continue
        restores = [one for one in plan.steps if one.kind == "delta_restore" and one.table == step.table]
        mark = marks.get(step.table)
        if mark is None or mark.version is None:
            continue
        numbers = (*(one.n for one in restores), step.n)
        version = restores[0].version if restores else None
        recorded = mark.ledger.get(step.app_id)
        found.append(
            TableChange(
                numbers, plan.id, step.table, version, step.app_id, step.version, mark.version, recorded, storage or {}
            )
        )
    return found


_NEEDED = "a step for a Delta table needs the package deltalake"
_BY_HAND = "ckpt plan-recovery --format json has the commands to do it by hand"


class OpenTable:
    """A table that is changed, as of the newest look: till the next one nothing of its log is asked for twice.
    delta-rs, which asks for all of it twice, opens it once, before anything is changed, and commits only upon that."""

    def __init__(self, change: TableChange) -> None:
        self.change = change
        self._tree: WritableStore | None = None
        self._handle: DeltaTable | None = None
        self._answered: _Since | None = None  # to our commit

    @property
    def requests(self) -> Counter[str]:
        """Ours; those of delta-rs nobody counts."""
        return self._tree.requests if self._tree is not None else Counter()

    @property
    def reading(self) -> Store:
        if self._tree is None:
            self._tree = open_tree(self.change.table, STAGING_OF_SINKS, self.change.storage, first="_")
        return self._tree.reading()

    def look_anew(self) -> None:
        self._answered = None
        if self._tree is not None:
            self._tree.look_anew()

    # -- whether it is possible ----------------------------------------------------------------------------------------

    def not_possible(self) -> Iterator[WhyNot]:
        change = self.change
        try:
            table = self._handle = _opened(change)
        except (Unavailable, Refused) as error:
            yield WhyNot("sink-feature", error.message, next_step=error.next_step)
            return
        protocol = table.protocol()
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
        if untried := sorted(features - WRITTEN_BY_DELTA_RS):
            yield WhyNot("sink-feature", f"{change.table} has features that were not tried: {', '.join(untried)}",
                         next_step=_BY_HAND)  # fmt: skip
        elif not features and protocol.min_writer_version > _NEWEST_WITHOUT_FEATURES:
            yield WhyNot("sink-feature", f"{change.table} has writer version {protocol.min_writer_version}",
                         next_step=_BY_HAND)  # fmt: skip
        configuration = table.metadata().configuration
        if change.restore is not None and str(configuration.get("delta.appendOnly", "")).lower() == "true":
            yield WhyNot("sink-feature", f"{change.table} forbids removals: delta.appendOnly", next_step=_BY_HAND)
        if change.restore is not None:
            yield from vacuumed(change.table, self.reading, change.restore, change.was, GO_ELSEWHERE)

    def not_possible_back(self) -> Iterator[WhyNot]:
        change = self.change
        if change.restore is not None and self.state == "new":
            yield from vacuumed(change.table, self.reading, change.was, change.was + 1, STAY)

    # -- what became of it ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Told by our marks: they are in the very commits that they tell of."""
        return self._since().state(self.change)

    def told(self) -> dict[str, Any]:
        since, change = self._since(), self.change
        return {
            "path": change.table,
            "version_before": change.was,
            "version_after": since.version,
            "ledger_before": change.recorded,
            "ledger_after": since.recorded.get(change.app_id, change.recorded),
        }

    def changed(self, found: int | None = None) -> WhyNot:
        change = self.change
        return WhyNot("sink-changed", f"{change.table} was written since, by this query or by others",
                      f"version {change.was}", None if found is None else f"version {found}", "plan anew")  # fmt: skip

    def _since(self) -> _Since:
        """By the names in its log and the commits that may be ours."""
        if self._answered is not None:
            return self._answered
        was, log = self.change.was, self.reading
        names = parse_delta_log_names(log.list(DELTA_LOG))
        ours = [version for version in names.commits if was < version <= was + 2]
        recorded = {txn.app_id: txn.version for commit in read_commits(log, ours) for txn in commit.transactions}
        return _Since(max([*names.commits, *names.checkpoints], default=-1), recorded)

    # -- there and back ------------------------------------------------------------------------------------------------

    def make(self) -> bool:
        """Whether there was anything to do."""
        was_done = self.state == "new"
        if not was_done:
            self._committed("apply", "new", self.change.restore, self.change.batch)
        _flush(self.change, self.change.was + 1)  # whoever was killed may not have come to it
        return not was_done

    def take_back(self) -> bool:
        change = self.change
        if self.state == "old":
            return False
        self._committed("undo", "old", None if change.restore is None else change.was, change.recorded)
        _flush(change, change.was + 2)
        return True

    def _committed(self, doing: Doing, becomes: State, version: int | None, batch: int | None) -> None:
        """An answer that never comes says neither yes nor no, and a "no" may be one to what delta-rs has repeated: what
        the table says decides. A commit with nothing but a record goes through although others wrote meanwhile, and is
        not told which version it became: only of a restore that is known."""
        change = self.change
        table, self._handle = self._handle or _opened(change), None
        self.look_anew()
        try:
            _commit(change, table, doing, version, batch)
        except CkptError:
            if self.state != becomes:
                raise
        else:
            if version is not None:
                recorded = {_mark(change, doing): change.n, **({} if batch is None else {change.app_id: batch})}
                self._answered = _Since(table.version(), recorded)
        if self.state != becomes:
            raise StoppedFenced(self.changed())


def vacuumed(table: str, log: Store, back_to: int, now: int, next_step: str) -> Iterator[WhyNot]:
    """Nothing brings back what VACUUM took, and behind the fence it would be too late to find that out."""
    name = gone_for_good(log, back_to, now)
    if name is not None:
        yield WhyNot("sink-changed", f"{table}: VACUUM has removed {name}, which version {back_to} needs",
                     "a file", "no file", next_step)  # fmt: skip


def _commit(change: TableChange, table: DeltaTable, doing: Doing, version: int | None, batch: int | None) -> None:
    from deltalake import CommitProperties, PostCommitHookProperties
    from deltalake.exceptions import CommitFailedError, DeltaError

    expected = change.was if doing == "apply" else change.was + 1
    if table.version() != expected:
        raise StoppedFenced(OpenTable(change).changed(table.version()))
    records = [_transaction(_mark(change, doing), change.n)]
    if batch is not None:
        records.append(_transaction(change.app_id, batch))
    properties = CommitProperties(app_transactions=records)
    nothing_else = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    try:
        if version is not None:
            table.restore(version, commit_properties=properties, post_commithook_properties=nothing_else)
        else:
            table.create_write_transaction(
                actions=[],
                mode="append",
                schema=table.schema(),
                commit_properties=properties,
                post_commithook_properties=nothing_else,
            )
    except CommitFailedError as error:
        raise StoppedFenced(WhyNot("sink-changed", _told(change, error), next_step=_BY_HAND)) from None
    except (DeltaError, OSError) as error:
        raise Unavailable(_told(change, error)) from None


def _flush(change: TableChange, version: int) -> None:
    """delta-rs leaves it to the system when a commit comes to the disk: not before the fence has fallen, it may be."""
    target, hidden = parse_url(change.table)
    if target is not None:
        return
    log = os.path.join(hidden["path"], DELTA_LOG)
    try:
        for path in (os.path.join(log, f"{version:020}.json"), log):
            flush(path)
    except OSError as error:
        raise Unavailable(_told(change, error)) from None


class _Since(Struct, frozen=True):
    """What came after the plan was made: the table's version, and what was recorded by the name of who did."""

    version: int
    recorded: Mapping[str, int]

    def state(self, change: TableChange) -> State:
        if self.recorded.get(_mark(change, "undo")) == change.n:
            return "old" if self.version == change.was + 2 else "other"
        if self.recorded.get(_mark(change, "apply")) == change.n:
            return "new" if self.version == change.was + 1 else "other"
        return "old" if self.version == change.was else "other"


def _told(change: TableChange, error: Exception) -> str:
    return f"{change.table}: {harmless(str(error)) or type(error).__name__}"


def _mark(change: TableChange, doing: Doing) -> str:
    return f"{MARK_OF_APPLY if doing == 'apply' else MARK_OF_UNDO}{change.plan_id}"


def _transaction(app_id: str, version: int) -> Any:
    """With a time: one without may be forgotten at once."""
    from deltalake import Transaction

    make_one: Any = Transaction
    return make_one(app_id, version, last_updated=int(time.time() * 1000))


def _opened(change: TableChange) -> DeltaTable:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise Unavailable(_NEEDED, "pip install 'ckpttool[delta]'") from None
    url, options = for_delta_rs(change.table, change.storage)
    try:
        return DeltaTable(url, storage_options=options)
    except (DeltaError, OSError) as error:
        raise Unavailable(_told(change, error)) from None


def all_in(tables: Sequence[OpenTable], state: State) -> bool:
    return all(table.state == state for table in tables)
