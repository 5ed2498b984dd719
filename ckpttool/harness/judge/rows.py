"""P1 and P9: the rows in the sink. Pure.

The reference is the fold of the input up to the last committed end offset. What the sink got of a batch that was
planned and never committed may be there or not. A sink that promises less than exactly once may have again what was
visible of the batch that ran twice, and nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ckpttool.harness.history import Disk, Fields
from ckpttool.harness.judge.base import (
    UNKNOWN_JOB,
    UNREADABLE,
    Anomaly,
    Facts,
    Outcome,
    Unknown,
    Valid,
    canonical,
    conclude,
    live_commits,
    pick,
)
from ckpttool.harness.reading import last_commit
from ckpttool.words import counted


class Expected(Struct, frozen=True):
    """`rows`: batch → what has to be in the sink; None as a batch: it is not known which one wrote it.
    `pending`: what may be there besides. `columns`: what is compared; others the sink may have as it likes."""

    rows: Mapping[int | None, tuple[Fields, ...]]
    pending: tuple[Fields, ...]
    columns: tuple[str, ...]

    def all(self) -> tuple[Fields, ...]:
        return tuple(row for rows in self.rows.values() for row in rows)

    def key(self, row: Fields) -> str:
        return canonical([row.get(name) for name in self.columns])

    def count(self, rows: Iterable[Fields]) -> Counter[str]:
        return Counter(map(self.key, rows))


def rows_are_there_once(facts: Facts) -> Outcome:
    """P1: the effect of each record is in the sink exactly once."""
    visible = facts.case.after.visible
    if visible is None:
        return Valid(UNREADABLE) if facts.has_torn_sink else Unknown("the sink was not read")
    expected = expect(facts, facts.committed)
    if isinstance(expected, str):
        return _unless_untouched(facts, expected)
    if missing := _column_that_is_missing(facts, visible):
        return Unknown(f"the sink's rows have no column {missing}, which is part of their identity")
    return conclude(_differences(facts, expected, visible, _allowed(facts, expected)))


def _allowed(facts: Facts, expected: Expected) -> Counter[str]:
    """What may be there once more: by a promise of at least once, rows of the batch that ran again."""
    if facts.run.guarantee == "exactly-once" or facts.crash is None:
        return Counter()
    surplus = surplus_at_crash(facts)
    # Of a job that nobody knows, any row may be of that batch that was there already.
    return expected.count(facts.crash.disk.visible or ()) if surplus is None else surplus


def expect(facts: Facts, committed: int | None) -> Expected | str:
    """What has to be in the sink once the batches up to `committed` are done, or why that is not known."""
    if facts.run.operator.kind == UNKNOWN_JOB:
        return _expect_of_job(facts)
    folded = facts.folded
    if isinstance(folded, str):
        return folded
    columns = {name: None for rows in folded.rows.values() for row in rows for name in row}
    done: dict[int | None, tuple[Fields, ...]] = {}
    pending: list[Fields] = []
    for batch, rows in folded.rows.items():
        if committed is not None and batch <= committed:
            done[batch] = rows
        else:
            pending.extend(rows)
    kept = _last_of_each(facts, done) if facts.run.sink.effect == "upsert" else done
    return Expected(kept, tuple(pending), tuple(columns))


def surplus_at_crash(facts: Facts) -> Counter[str] | None:
    """What the sink showed at the last crash beyond the committed batches: a second run of the batch adds it again.
    By the keys of `Expected`; None: not known."""
    if facts.crash is None or facts.crash.disk.visible is None:
        return None
    expected = expect(facts, last_commit(facts.crash.disk))
    if isinstance(expected, str) or facts.run.operator.kind == UNKNOWN_JOB:
        return None
    return expected.count(facts.crash.disk.visible) - expected.count(expected.all())


def surplus_after(facts: Facts) -> Counter[str] | None:
    """What the sink shows after the recovery beyond what is expected; by the same keys."""
    expected = expect(facts, facts.committed)
    if facts.case.after.visible is None or isinstance(expected, str):
        return None
    return expected.count(facts.case.after.visible) - expected.count((*expected.all(), *expected.pending))


def _last_of_each(facts: Facts, rows: Mapping[int | None, tuple[Fields, ...]]) -> dict[int | None, tuple[Fields, ...]]:
    last = {facts.identity(row): (batch, row) for batch, some in rows.items() for row in some}
    kept: dict[int | None, tuple[Fields, ...]] = {}
    for batch, row in last.values():
        kept[batch] = (*kept.get(batch, ()), row)
    return kept


def _expect_of_job(facts: Facts) -> Expected | str:
    """Nobody knows what the job does: an undisturbed run of it, or the names of the input's rows, must do."""
    if not facts.case.drained:
        return "the query did not read all there was, and it is not known what each batch gives"
    if facts.run.undisturbed is not None:
        columns = {name: None for row in facts.run.undisturbed for name in row}
        return Expected({None: facts.run.undisturbed}, (), tuple(columns))
    rows = tuple(record.fields for record in facts.run.records)
    if any(name not in row for row in rows for name in facts.run.identity):
        return "the input lacks columns of the identity, and there is no run without a crash to compare with"
    return Expected({None: rows}, (), facts.run.identity)


def _unless_untouched(facts: Facts, why: str) -> Outcome:
    """A query that never started again has done nothing to the sink."""
    restarts, crash = facts.case.restarts, facts.crash
    stopped = bool(restarts) and all(restart.failure and restart.first_batch is None for restart in restarts)
    if crash is None or not stopped or crash.disk.visible is None or facts.case.after.visible is None:
        return Unknown(why)
    if Counter(map(canonical, crash.disk.visible)) == Counter(map(canonical, facts.case.after.visible)):
        return Valid("the query does not start, and the sink is as the crash left it")
    return Unknown(why)


def _column_that_is_missing(facts: Facts, rows: Sequence[Fields]) -> str | None:
    return next((name for row in rows for name in facts.run.identity if name not in row), None)


def _differences(
    facts: Facts, expected: Expected, visible: Sequence[Fields], allowed: Counter[str]
) -> Iterator[Anomaly]:
    """A row of a known name with values that no such row has is an altered one, and stands for one that is missing."""
    wanted, possible = _wanted_and_possible(facts, expected, visible)
    lost, _ = pick(wanted, expected.key, expected.count(wanted) - expected.count(visible))
    more, _ = pick(visible, expected.key, expected.count(visible) - expected.count(possible) - allowed)
    known, keys = set(map(facts.identity, possible)), expected.count(possible)
    altered = [row for row in more if expected.key(row) not in keys and facts.identity(row) in known]
    found = {
        "row-lost": pick(lost, facts.identity, facts.named(altered))[1],
        "row-altered": altered,
        "row-unexpected": [row for row in more if facts.identity(row) not in known],
        "row-duplicated": [row for row in more if expected.key(row) in keys],
    }
    batches = {facts.identity(row): batch for batch, rows in expected.rows.items() for row in rows}
    for name, rows in found.items():
        yield from _by_batch(facts, name, rows, batches)


def _wanted_and_possible(
    facts: Facts, expected: Expected, visible: Sequence[Fields]
) -> tuple[Sequence[Fields], Sequence[Fields]]:
    """Where rows replace each other, one of the pending batch that is there already stands for the one before it."""
    if facts.run.sink.effect == "append":
        return expected.all(), (*expected.all(), *expected.pending)
    seen = expected.count(visible)
    newer = {facts.identity(row): row for row in expected.pending if seen[expected.key(row)]}
    wanted = [row for row in expected.all() if facts.identity(row) not in newer]
    return wanted, (*wanted, *newer.values())


_SAID = {
    "row-lost": "not in the sink",
    "row-altered": "in the sink with other values",
    "row-unexpected": "in the sink, and of no record",
    "row-duplicated": "in the sink more than once",
}


def _by_batch(facts: Facts, name: str, rows: Iterable[Fields], batches: Mapping[str, int | None]) -> Iterator[Anomaly]:
    """One anomaly for each batch that it hits, with the versions of the sink's log that have the rows."""
    by_batch: dict[int | None, list[Fields]] = defaultdict(list)
    for row in rows:
        by_batch[batches.get(facts.identity(row))].append(row)
    for batch, some in sorted(by_batch.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        whose = "" if batch is None else f" of batch {batch}"
        count = counted(len(some), "row")
        versions = _versions_with(facts, map(facts.identity, some))
        yield Anomaly(name, f"{count}{whose} {_SAID[name]}", tuple(some), batch, versions)


def _versions_with(facts: Facts, identities: Iterable[str]) -> tuple[int, ...]:
    wanted = set(identities)
    commits = live_commits(facts.case.after.sink or ())
    return tuple(one.version for one in commits if any(facts.identity(row) in wanted for row in one.rows or ()))


def nothing_is_seen_early(facts: Facts) -> Outcome:
    """P9: a reader never sees rows of a batch that the sink's log does not have."""
    if not facts.run.sink.ledger or facts.is_damaged:
        return None
    unread = [when for when, disk in facts.disks() if disk.visible is None or _rows_by_log(disk) is None]
    anomalies = [anomaly for when, disk in facts.disks() for anomaly in _seen_early(facts, when, disk)]
    if unread and not anomalies:
        return Unknown(f"the sink's rows or its log were not read {unread[0]}")
    return conclude(anomalies)


def _seen_early(facts: Facts, when: str, disk: Disk) -> Iterator[Anomaly]:
    logged = _rows_by_log(disk)
    if disk.visible is None or logged is None:
        return
    early = facts.named(disk.visible) - facts.named(logged)
    if early:
        rows, _ = pick(disk.visible, facts.identity, early)
        yield Anomaly("uncommitted-visible", f"{when} readers see rows that the sink's log does not have", rows)


def _rows_by_log(disk: Disk) -> list[Fields] | None:
    commits = live_commits(disk.sink or ())
    if disk.sink is None or any(commit.rows is None for commit in commits):
        return None
    return [row for commit in commits for row in commit.rows or ()]
