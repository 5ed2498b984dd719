"""Steps that somebody else takes: a person, or Spark. Carrying out stops at one, fenced, and says what has to be done;
whoever goes on looks whether it was. What nobody can see has to be said: `--done N`.

Taken back they are in the same way, the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ckpttool.api import Restarted
from ckpttool.apply.fingerprints import files_below
from ckpttool.apply.journal import Journal
from ckpttool.apply.outcome import StoppedFenced, WhyNot
from ckpttool.apply.plan_file import PlanFile, PlannedStep
from ckpttool.apply.sinks import iceberg
from ckpttool.apply.sinks.delta import GO_ELSEWHERE, STAY, vacuumed
from ckpttool.apply.sinks.iceberg import NamedTables
from ckpttool.formats.delta_log import parse_delta_log_names
from ckpttool.formats.layout import DELTA_LOG, STATE
from ckpttool.plan.ledgers import restore_sql, rollback_sql
from ckpttool.plan.states import later_versions
from ckpttool.plan.steps import Check
from ckpttool.reading.sinks import load_sink
from ckpttool.reading.sinks.delta import read_commits
from ckpttool.reading.sinks.iceberg import load_history
from ckpttool.storage.store import Store, is_directory, open_store

Direction = Literal["new", "old"]
Seen = Literal["new", "old", "other"]
NOTHING_TELLS = Check("none")


class ByHand(Struct, frozen=True):
    n: int
    kind: str
    what: str
    check: Check
    sink: str | None

    @property
    def is_seen(self) -> bool:
        return self.check.kind != "none"


class Waits(StoppedFenced):
    """Somebody else's turn. `done`: whether they have to say when it is done, for it cannot be seen."""

    def __init__(self, n: int, reason: WhyNot, *, says: bool) -> None:
        super().__init__(reason)
        self.n, self.says = n, says


def by_hand(plan: PlanFile) -> list[ByHand]:
    return [_of(step) for step in plan.steps if step.kind in ("spark", "manual")]


def _of(step: PlannedStep) -> ByHand:
    what = step.program or step.text or ""
    return ByHand(step.n, step.kind, what, step.check or NOTHING_TELLS, step.table)


# -- whether it was done -----------------------------------------------------------------------------------------------


def seen(one: ByHand, checkpoint: Store, storage: Mapping[str, str], named: NamedTables) -> Seen | None:
    """`new`: it was done; None: nothing tells. Where a catalog has the table it has the last word."""
    if one.check.kind == "delta":
        return _seen_in_delta(one.check, storage)
    if one.check.kind == "iceberg":
        name = named.at(one.check.path)
        return _side(one.check, _current_by_place(one.check, storage) if name is None else iceberg.current(name))
    return _seen_in_files(one.check, checkpoint) if one.check.kind == "files" else None


def _seen_in_delta(check: Check, storage: Mapping[str, str]) -> Seen:
    """Nothing but restores may have come since, and the last one counts."""
    store, was = open_store(check.path or "", storage), check.was or 0
    versions = parse_delta_log_names(store.list(DELTA_LOG)).commits
    later = [version for version in versions if version > was]
    if was not in versions and not later:
        return "other"
    commits = list(read_commits(store, later))
    if any(commit.operation != "RESTORE" for commit in commits):
        return "other"
    restored = str(commits[-1].parameters.get("version")) if commits else str(was)
    return {str(was): "old", str(check.version): "new"}.get(restored, "other")  # type: ignore[return-value]


def not_possible(one: ByHand, towards: Direction, storage: Mapping[str, str], named: NamedTables) -> Iterator[WhyNot]:
    """Of a table that Spark restores, or its catalog leads to another snapshot: what could not be."""
    check = one.check
    if (name := _name_of(one, named)) is not None:
        yield from iceberg.not_possible(name, check.path or "", _snapshot(check, towards))
    if check.kind == "delta" and check.path and check.was is not None and check.version is not None:
        log = open_store(check.path, storage)
        newest = max(parse_delta_log_names(log.list(DELTA_LOG)).commits, default=check.was)
        if towards == "new":
            yield from vacuumed(check.path, log, check.version, check.was, GO_ELSEWHERE)
        else:
            yield from vacuumed(check.path, log, check.was, newest, STAY)


def _current_by_place(check: Check, storage: Mapping[str, str]) -> int | None:
    snapshots = load_history(open_store(check.path or "", storage)).snapshots
    return snapshots[0].id if snapshots else None


def _side(check: Check, current: int | None) -> Seen:
    return {check.was: "old", check.version: "new"}.get(current, "other")  # type: ignore[return-value]


def _seen_in_files(check: Check, checkpoint: Store) -> Seen:
    folder = check.path or STATE
    there = files_below(checkpoint, folder) if is_directory(checkpoint, folder) else ()
    return "old" if later_versions(there, check.version or 0) else "new"


# -- through a catalog -------------------------------------------------------------------------------------------------


def elsewhere(every: Sequence[ByHand], named: NamedTables) -> Iterator[WhyNot]:
    """A name of a table with which no step has to do was not meant so."""
    tables = [one.check.path or "" for one in every if one.check.kind == "iceberg"]
    for name in named.elsewhere(tables):
        yield WhyNot("sink-changed", f"no step is for {name}, which lies elsewhere", " ".join(tables) or "no table",
                     named.place_of(name), "name the table that lies there")  # fmt: skip


def through_catalog(one: ByHand, towards: Direction, now: Seen | None, named: NamedTables) -> bool | None:
    """Whether there was anything to do; None: no catalog is known for it, so it is for somebody else."""
    name = _name_of(one, named)
    if name is None:
        return None
    if now == "other":
        raise StoppedFenced(changed(one))
    if now == towards:
        return False
    was = _snapshot(one.check, "old" if towards == "new" else "new")
    iceberg.go(name, one.check.path or "", was, _snapshot(one.check, towards))
    return True


def _name_of(one: ByHand, named: NamedTables) -> str | None:
    return named.at(one.check.path) if one.check.kind == "iceberg" else None


def _snapshot(check: Check, towards: Direction) -> int:
    found = check.version if towards == "new" else check.was
    if found is None:
        raise StoppedFenced(WhyNot("sink-changed", f"{check.path} was at no snapshot before: there is no way to it"))
    return found


# -- whose turn it is --------------------------------------------------------------------------------------------------


def wait_for(one: ByHand, towards: Direction, now: Seen | None, journal: Journal, said: Collection[int]) -> bool:
    """Whether it was done since somebody was told to; raises Waits if it was not yet. `said`: the steps of which
    somebody says that they were."""
    if now == "other":
        raise StoppedFenced(changed(one))
    if now == towards or (now is None and _needs_nobody(one, towards, journal)):
        return False
    if now is None and one.n in said:
        journal.write("step", one.n, {"by_hand": towards})
        return True
    journal.write("stopped", one.n, {"by_hand": towards})
    raise waits(one, towards)


def _needs_nobody(one: ByHand, towards: Direction, journal: Journal) -> bool:
    return journal.says_by_hand(one.n, towards) or (towards == "old" and not journal.came_to(one.n))


def waits(one: ByHand, towards: Direction) -> Waits:
    what = one.what if towards == "new" else _back(one)
    doer = "Spark" if one.kind == "spark" else "a person"
    text = f"step {one.n} is for {doer}: {what}"
    by_name = "; or name the table in its catalog: --iceberg-table CATALOG.NAMESPACE.TABLE"
    go_on = f"then go on{by_name if one.check.kind == 'iceberg' else ''}"
    return Waits(one.n, WhyNot("by-hand", text, next_step=go_on), says=not one.is_seen)


def _back(one: ByHand) -> str:
    check = one.check
    if check.kind == "delta" and check.was is not None:
        return restore_sql(check.path or "", check.was)
    if check.kind == "iceberg" and check.was is not None:
        by_place = "CALL ckpt." in one.what
        return rollback_sql(check.path or "", check.was, by_place=by_place, procedure="set_current_snapshot")
    return f"take back what was done for: {one.what}"


def changed(one: ByHand) -> WhyNot:
    where = one.check.path or "what it is about"
    return WhyNot("sink-changed", f"{where} was written since, by this query or by others", next_step="plan anew")


def told(one: ByHand, plan: PlanFile, storage: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Of a step for a table, as for those that are carried out here."""
    if one.sink is None:
        return
    asked = plan.asked
    app_ids = dict(zip(asked.sinks, Restarted(sinks=asked.sinks, txn_app_id=asked.txn_app_id).app_ids, strict=True))
    found = load_sink(one.sink, storage, query_id=plan.query_id, txn_app_id=app_ids.get(one.sink))
    before = next((mark for mark in plan.relies_on.sinks if mark.path == one.sink), None)
    entry, newest = found.entry(found.key), found.writes[-1].version if found.writes else None
    yield {
        "path": one.sink,
        "version_before": one.check.was,
        "version_after": newest,
        "ledger_before": before.ledger.get(found.key or "") if before else None,
        "ledger_after": entry.batch_id if entry else None,
    }
