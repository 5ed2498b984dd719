"""Taking a plan back, finished or not: the same protocol, with the copies as the plan.

What comes out is, byte for byte, what was there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ckpttool.apply import applies, by_hand, fence
from ckpttool.apply.carry_out import new_metadata, old_metadata, stopped, why, wire_text
from ckpttool.apply.changes import Change
from ckpttool.apply.fingerprints import as_before, names_in, names_mark
from ckpttool.apply.journal import Journal, end_of
from ckpttool.apply.lock import locked
from ckpttool.apply.look import not_accepted
from ckpttool.apply.outcome import NotApplied, StoppedFenced, WhyNot
from ckpttool.apply.sinks import delta
from ckpttool.apply.stores.base import Bearing
from ckpttool.apply.work import KeptFile, Work
from ckpttool.errors import CkptError
from ckpttool.formats import layout
from ckpttool.formats.metadata import is_wire
from ckpttool.formats.names import parse_log_names
from ckpttool.plan.conditions import QUERY_STOPPED

_REWIND = "plan a rewind instead: ckpt plan-recovery PATH --to-batch N"


def take_back(work: Work) -> None:
    """May be called again however it ended."""
    check(work)
    with locked(work.checkpoint, work.settings.lock_timeout, take_over=True) as work.outcome.took_over:
        work.look_anew()
        work.journal = Journal(work.checkpoint, work.plan.id)
        check(work)  # whoever had the lock before may have gone on
        for tree in work.trees:
            tree.sweep()
        kept = work.inventory()
        if kept is None or (work.journal.is_undoing and work.journal.is_verified and not work.is_fenced):
            _finish(work, kept or [])
        else:
            _keep_out(work)
            _put_back(work, kept)
            _verify(work)
            _come_down(work, kept)


def check(work: Work) -> None:
    """Refused while nothing is changed; in the middle, stopped."""
    every = applies.all_of(work.checkpoint)
    newer = [one for one in every[every.index(work.plan.id) + 1 :] if not _is_undone(work, one)]
    if newer:
        raise NotApplied(WhyNot("newer-apply", "a newer apply is not taken back", found=newer[-1],
                                next_step=f"ckpt undo {work.plan.checkpoint} --id {newer[-1]}"))  # fmt: skip
    kept = work.inventory()
    if kept is None:
        return
    is_whole = work.journal.is_verified and not work.journal.is_undoing and not work.is_fenced
    if is_whole and (unsaid := list(not_accepted(work, QUERY_STOPPED))):
        raise NotApplied(*unsaid)  # a query that was started since nothing stops either
    work.verify_backup(kept)
    if lost := next(work.not_kept(kept), None):
        why_not = WhyNot("backup-damaged", f"there is no copy of {lost.path}: state was not kept (--backup logs)",
                         lost.old, "no file", "go on: ckpt apply --resume PATH, or plan anew")  # fmt: skip
        raise (StoppedFenced if work.is_fenced else NotApplied)(why_not)
    reasons = list(_moved_on(work))
    if not reasons and not work.journal.is_undoing:
        reasons = list(_not_possible(work))
    if reasons:
        raise (StoppedFenced if work.is_fenced else NotApplied)(*reasons)


def _not_possible(work: Work) -> Iterator[WhyNot]:
    for table in work.tables:
        yield from table.not_possible_back()
    for one in work.by_hand:
        yield from by_hand.not_possible(one, "old", work.settings.storage, work.named)


def _is_undone(work: Work, plan_id: str) -> bool:
    return end_of(work.checkpoint, plan_id) == "undone"


def _moved_on(work: Work) -> Iterator[WhyNot]:
    """A query that ran since has written over what was put there, or beside it."""
    if work.journal.is_undoing and work.journal.is_verified and not work.is_fenced:
        return
    for change in work.changes.every:
        now = work.now(change)
        if now not in (change.old, change.new) and not _is_wired(work, change):
            ident = "query-ran-since" if not work.is_fenced else "neither-old-nor-new"
            yield WhyNot(ident, f"{change.path} is neither as it was nor as it was left", found=now or "no file",
                         next_step=_REWIND)  # fmt: skip
    yield from (table.changed() for table in work.tables if table.state == "other")
    yield from (by_hand.changed(one) for one in work.by_hand if work.seen(one) == "other")
    relied = work.plan.relies_on
    there = {mark.path for mark in relied.files if not mark.absent} | {mark.path for mark in relied.names}
    ours = {*work.changes.becomes, *work.changes.own, *_wires(work)}
    for directory in relied.names:
        found = as_before(directory.path, names_in(work.reading, directory.path), there, ours)
        there_now = names_mark(directory.path, found)
        if there_now != directory:
            here = directory.path or "the checkpoint"
            yield WhyNot("query-ran-since", f"there are other names in {here} than were left",
                         f"{directory.count} names", f"{there_now.count} names, or others", _REWIND)  # fmt: skip
    yield from _beside_what_was_made(work, {*ours})
    body = work.body(layout.METADATA)
    if body not in (old_metadata(work), new_metadata(work)) and not fence.is_fence(body):
        yield WhyNot("query-ran-since", f"{layout.METADATA} is neither as it was nor as it was left")


def _beside_what_was_made(work: Work, ours: set[str]) -> Iterator[WhyNot]:
    """In a directory that was not there before, nothing is but ours."""
    for folder in work.changes.made_directories:
        found = {f"{folder}/{name}" for name in work.checkpoint.names(folder) or ()}
        if others := sorted(found - ours):
            yield WhyNot("query-ran-since", f"{others[0]} was put there since", None, others[0], _REWIND)


def _is_wired(work: Work, change: Change) -> bool:
    return change.tree == 0 and change.path in _wires(work) and is_wire(work.body(change.path) or b"")


def _wires(work: Work) -> list[str]:
    """Those of the apply, and those that an undo has noted before it put them up."""
    noted = [record.result["wires"] for record in work.journal.records
             if record.did == "looked" and isinstance(record.result, dict) and "wires" in record.result]  # fmt: skip
    return list(dict.fromkeys([*work.plan.wires, *(wire for wires in noted for wire in wires)]))


def _keep_out(work: Work) -> None:
    """The fence, and the wires where a query would write that was started since. What fits no more goes back to new."""
    was_fenced = work.is_fenced
    if not was_fenced and not work.journal.is_undoing:
        work.journal.write("looked", result={"wires": _wires_of_now(work)})
    try:
        work.fence_up(fence.UNDOING, [old_metadata(work), new_metadata(work)])
        work.wires_up(_wires(work) if work.plan.wires else [], wire_text(work, undoing=True))
        work.settle()
        work.look_anew()
        if reasons := list(_moved_on(work)):
            raise NotApplied(*reasons)
    except CkptError as error:
        if was_fenced or work.journal.is_undoing:
            raise stopped(error) from None
        _back_to_new(work, error)
    if not work.journal.is_undoing:
        work.journal.write("undoing")


def _wires_of_now(work: Work) -> list[str]:
    root = tuple(work.checkpoint.names("") or ())
    heads = [_highest(work, log) for log in (layout.OFFSETS, layout.COMMITS)]
    wires = fence.wires_after(heads[0], heads[1], root) if work.plan.wires else []
    return [one for one in wires if one not in work.changes.directories]  # which come again


def _highest(work: Work, log: str) -> int | None:
    return parse_log_names(list(work.checkpoint.names(log) or ())).last


def _put_back(work: Work, kept: Iterable[KeptFile]) -> None:
    """In the other order. Directories first: files know no better place."""
    by_path = {(one.tree, one.path): one for one in kept}
    for one in sorted((one for one in by_path.values() if one.directory and one.path), key=lambda one: one.path):
        work.trees[one.tree].make_directory(one.path, one.bearing)  # it may be there, and not yet as it was

    def bearing(change: Change) -> Bearing:
        return by_path[change.tree, change.path].bearing

    wires = set(_wires(work))
    changes = [Change(one.n, one.tree, one.path, one.new, one.old) for one in reversed(work.changes.every)]
    results = {result.n: result for result in work.outcome.steps}
    for change in sorted(changes, key=lambda one: one.tree == 0 and one.path in wires):
        took = work.take(change, work.old_content, bearing)
        if took or results[change.n].result == "pending":
            results[change.n].result = "done" if took else "was_done"
    for table in reversed(work.tables):
        taken_back = table.take_back()
        for n in table.change.steps:
            results[n].result = "done" if taken_back else "was_done"
        work.outcome.sinks.append(table.told())
    for step in reversed(work.by_hand):
        results[step.n].result = "done" if work.wait_for(step, "old") else "was_done"
        work.outcome.sinks.extend(by_hand.told(step, work.plan, work.settings.storage))


def _verify(work: Work) -> None:
    work.look_anew()
    for change in work.changes.every:
        if work.now(change) != change.old:
            raise StoppedFenced(WhyNot("neither-old-nor-new", f"{change.path} is not as it was"))
    if not delta.all_in(work.tables, "old"):
        raise StoppedFenced(*(table.changed() for table in work.tables))
    work.journal.write("verified")


def _come_down(work: Work, kept: Iterable[KeptFile]) -> None:
    if work.settings.hold:
        work.wait(work.settings.hold)
        work.look_anew()
        if reasons := list(_moved_on(work)):
            raise StoppedFenced(*reasons)
    work.wires_down(_wires(work))
    work.remove_directories(work.changes.made_directories)
    metadata = next((one for one in kept if (one.tree, one.path) == (0, layout.METADATA)), None)
    work.fence_down(old_metadata(work), metadata.bearing if metadata else None)
    _finish(work, kept)


def _finish(work: Work, kept: Iterable[KeptFile]) -> None:
    """The times of directories, which each change has moved, and the last record."""
    restored = work.restore_times(kept)
    work.journal.write("undone")
    work.checkpoint.sweep()
    for result in work.outcome.steps:
        result.result = "was_done" if result.result == "pending" else result.result
    work.outcome.state, work.outcome.fenced = "undone", False
    work.outcome.identical, work.outcome.times_restored = True, restored


def _back_to_new(work: Work, error: CkptError) -> None:
    """A query that ran meanwhile keeps what it has."""
    try:
        work.wires_down(_wires(work), gives_way=True)
        work.fence_down(new_metadata(work), None)
    except CkptError:
        raise stopped(error) from None
    work.outcome.changed = work.outcome.fenced = False
    raise NotApplied(*why(error)) from None
