"""Carrying a plan out. One atomic operation makes new of old, the end of the fence; until then Spark starts on neither.

Held at all times: between the first and the last change outside `_ckpt/` the fence stands; nothing is changed of which
there is no verified copy; every operation can be repeated and happens only to what it expects; and without what was
promised the fence stays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from ckpttool.apply import applies, by_hand, fence, places
from ckpttool.apply.fingerprints import differences
from ckpttool.apply.journal import Journal
from ckpttool.apply.lock import locked
from ckpttool.apply.look import differences_at_origin, look, look_around, sinks_otherwise
from ckpttool.apply.make_plan import promise_of
from ckpttool.apply.outcome import NotApplied, StepResult, StoppedFenced, StoppedOutOfReach, WhyNot
from ckpttool.apply.sinks import delta
from ckpttool.apply.stores.base import Bearing, together
from ckpttool.apply.verify import AsItWillBe, broken, broken_in_spark, found_now
from ckpttool.apply.work import KeptFile, Work, does_not_fit
from ckpttool.errors import CkptError, Unavailable
from ckpttool.formats import layout
from ckpttool.reading.sinks import NAMED
from ckpttool.storage.store import Store, open_store


def carry_out(work: Work, *, resumes: bool = False) -> None:
    """The nine steps. May be called again however it ended."""
    look(work, resumes=resumes)  # 1
    directories = directories_of(work)
    if work.origin is not None:
        work.checkpoint.make_root()
    with locked(work.checkpoint, work.settings.lock_timeout, take_over=resumes) as work.outcome.took_over:  # 2
        work.look_anew()
        look_around(work, resumes=resumes)
        if _was_ended(work):
            return
        is_begun = work.is_fenced and work.is_begun
        try:
            _keep(work)
            work.back_up(directories)  # 3
            work.fence_up(fence.APPLYING, [old_metadata(work)])  # 4
            work.wires_up(work.plan.wires, wire_text(work))  # 5
            _look_again(work, is_begun=is_begun)  # 6
        except CkptError as error:
            if is_begun:
                raise stopped(error) from None
            back_to_old(work, error)
        take_steps(work)  # 7
        verify(work)  # 8
        _come_down(work)  # 9


def _keep(work: Work) -> None:
    """The plan and what it writes. What was refused before begins anew."""
    work.sweep()
    if work.journal.end == "undone":
        applies.remove(work.checkpoint, work.plan.id)
        work.journal = Journal(work.checkpoint, work.plan.id)
    work.keep_plan()
    work.journal.write("locked")


def _look_again(work: Work, *, is_begun: bool) -> None:
    """What differs now was written by a query that runs."""
    work.settle()
    reasons = _otherwise(work)
    reasons += [table.changed() for table in work.tables if table.state == "other"]
    reasons += [by_hand.changed(one) for one in work.by_hand if work.seen(one) == "other"]
    reasons += sinks_otherwise(work, is_begun=is_begun)
    if reasons:
        raise NotApplied(*reasons)
    work.journal.write("looked")


def _otherwise(work: Work) -> list[WhyNot]:
    """What is neither as it was nor as it will be, or was put beside it."""
    work.look_anew()
    relied = work.plan.relies_on
    found = list(differences(work.reading, relied.files, relied.names, work.changes.becomes, work.changes.own))
    found += differences_at_origin(work)
    return [does_not_fit(one.path, one.expected, one.found, work.plan) for one in found]


def take_steps(work: Work) -> None:
    """In their order, with one record for what is one commit of a table; files of state that go, which have none, as
    many at once as the store takes."""
    committed = {n: table.change.n for table in work.tables for n in table.change.steps}
    for goes_together, results in groupby(work.outcome.steps, lambda result: result.n in work.changes.unordered):
        several = list(results)
        if goes_together:
            _record(work, several, together(work.checkpoint, lambda result: _take_step(work, result), several))
            continue
        for _, step in groupby(several, lambda result: committed.get(result.n, result.n)):
            taken = list(step)
            _record(work, taken, [_take_step(work, result) for result in taken])


def _record(work: Work, steps: Sequence[StepResult], changed: Sequence[bool]) -> None:
    if any(changed):
        work.journal.write("step", steps[-1].n, None if len(steps) == 1 else {"from": steps[0].n})


def _take_step(work: Work, result: StepResult) -> bool:
    began = time.monotonic()
    try:
        changed = _take(work, result)
    except by_hand.Waits:
        raise
    except CkptError:
        result.result = "failed"
        raise
    finally:
        result.ms = int((time.monotonic() - began) * 1000)
    result.result = "done" if changed else "was_done"
    return changed


def _take(work: Work, result: StepResult) -> bool:
    """Whether there was anything to do."""
    changed = False
    for one in (one for one in work.by_hand if one.n == result.n):
        changed = work.wait_for(one, "new")
        work.outcome.sinks.extend(by_hand.told(one, work.plan, work.settings.storage))
    for table in (one for one in work.tables if result.n in one.change.steps):
        before = [one.result for one in work.outcome.steps if one.n in table.change.steps and one.result != "pending"]
        changed = "done" in before if before else table.make()  # one commit for all of them
        if result.n == table.change.n:
            work.outcome.sinks.append(table.told())
    for change in work.changes.of_step(result.n):
        result.before = _told(work, change.tree, change.path)
        changed |= work.take(change, work.new_content, work.new_bearing)
        result.after = _told(work, change.tree, change.path)
    return changed


def verify(work: Work) -> None:
    """Everything that was touched, and what Spark would do with it."""
    work.look_anew()
    for change in work.changes.every:
        if work.now(change) != change.new:
            raise StoppedFenced(WhyNot("neither-old-nor-new", f"{change.path} is not as it was left"))
    if not delta.all_in(work.tables, "new"):
        raise StoppedFenced(*(table.changed() for table in work.tables))
    for one in work.by_hand:
        work.wait_for(one, "new")
    if moved_on := list(differences_at_origin(work)):
        raise StoppedFenced(*(does_not_fit(one.path, one.expected, one.found, work.plan) for one in moved_on))
    becomes = new_metadata(work)
    is_new = {change.path for change in work.changes.every if change.new}
    wires: dict[str, bytes | None] = {path: None for path in work.plan.wires if path not in is_new}
    gone = [one for one in work.changes.directories if not _will_be_there(work, one, set(wires))]
    reading = AsItWillBe(work.reading, {layout.METADATA: becomes, **wires}, gone)
    diagnosis = found_now(work.plan, work.settings.given, reading, work.settings.storage, work.sinks)
    found = promise_of(diagnosis)
    differing = list(broken(work.plan.promise, found))
    work.outcome.found, work.outcome.kept, work.outcome.findings = found, not differing, diagnosis.findings
    if differing:
        reasons = [WhyNot("promise-not-kept", f"{what} is not as promised", str(promised), str(is_now))
                   for what, promised, is_now in differing]  # fmt: skip
        raise (StoppedOutOfReach if diagnosis.is_unreachable else StoppedFenced)(*reasons)
    if otherwise := start_in_spark(work, reading):
        raise StoppedFenced(*otherwise)
    work.journal.write("verified")


def start_in_spark(work: Work, reading: Store) -> list[WhyNot]:
    """What Spark itself does otherwise on a copy, if it is to be asked."""
    if work.settings.in_spark is None:
        return []
    places = [mark.path for mark in work.plan.relies_on.sinks if mark.path.lower() not in NAMED]
    sinks = {place: open_store(place, work.settings.storage) for place in places}
    work.outcome.in_spark = seen = work.settings.in_spark(work.plan, reading, sinks, work.settings.interrupted)
    reasons = list(broken_in_spark(work.plan, seen))
    work.outcome.kept = not any(one.id == "promise-not-kept" for one in reasons)
    return reasons


def _come_down(work: Work) -> None:
    if work.settings.hold:
        work.wait(work.settings.hold)
        if reasons := _otherwise(work):
            raise StoppedFenced(*reasons)
    work.wires_down(work.plan.wires)
    work.remove_directories(work.changes.directories)
    kept = _kept_metadata(work)
    own = kept.bearing if kept and not work.changes.changes_metadata else None
    work.fence_down(new_metadata(work), own)
    work.outcome.fenced = False
    work.journal.write("done")
    work.sweep()
    work.outcome.state = "applied"


def back_to_old(work: Work, error: CkptError) -> None:
    """Nothing but the fence and the wires was changed: they go, and it is refused."""
    try:
        kept = _kept_metadata(work)
        if work.is_fenced:
            work.wires_down(work.plan.wires, gives_way=True)
            work.fence_down(old_metadata(work), kept.bearing if kept else None)
        work.outcome.changed = work.outcome.fenced = False
        work.restore_times(work.inventory() or ())
        work.journal.write("undone", result="refused")
    except CkptError as then:
        work.outcome.fenced = work.is_fenced
        if work.outcome.fenced and isinstance(then, Unavailable):
            raise StoppedOutOfReach(*why(error)) from None
        if work.outcome.fenced:
            raise (StoppedFenced(*why(error)) if isinstance(error, NotApplied) else error) from None
        work.outcome.changed = False
    raise NotApplied(*why(error)) from None


def finish(work: Work) -> None:
    """The fence came down, and all but the last record was written: what is left is to say so."""
    with locked(work.checkpoint, work.settings.lock_timeout, take_over=True) as work.outcome.took_over:
        work.journal = Journal(work.checkpoint, work.plan.id)
        if _was_ended(work):
            return
        if work.journal.end is not None:
            raise NotApplied(WhyNot("locked", "somebody else has taken it back meanwhile"))
        work.journal.write("done")
        work.sweep()
    _all_is_done(work, "applied")


def _was_ended(work: Work) -> bool:
    """By whoever had the lock before."""
    if work.journal.end != "done":
        return False
    _all_is_done(work, "nothing_to_do")
    return True


def _all_is_done(work: Work, state: Literal["applied", "nothing_to_do"]) -> None:
    for result in work.outcome.steps:
        result.result = "was_done"
    work.outcome.kept, work.outcome.found = True, work.plan.promise
    work.outcome.state, work.outcome.changed = state, state == "applied"


# -- asked by both directions ------------------------------------------------------------------------------------------


def why(error: CkptError) -> list[WhyNot]:
    reasons = getattr(error, "reasons", None)
    return list(reasons) if reasons else [WhyNot("not-writable", error.message, next_step=error.next_step)]


def stopped(error: CkptError) -> CkptError:
    """While the fence stands. What cannot be reached stays that."""
    return error if isinstance(error, Unavailable) else StoppedFenced(*why(error))


def wire_text(work: Work, *, undoing: bool = False) -> bytes:
    return fence.wire_text(work.plan.id, work.plan.checkpoint, undoing=undoing)


def old_metadata(work: Work) -> bytes | None:
    """As it was before the fence: from the copy, or while there is none from the file itself."""
    if work.inventory() is None:
        return work.body(layout.METADATA)
    return work.body(places.backup_of(work.plan.id, 0, layout.METADATA)) if _kept_metadata(work) else None


def new_metadata(work: Work) -> bytes | None:
    return work.changes.new_metadata if work.changes.changes_metadata else old_metadata(work)


def _kept_metadata(work: Work) -> KeptFile | None:
    return next((one for one in work.inventory() or () if (one.tree, one.path) == (0, layout.METADATA)), None)


def directories_of(work: Work) -> dict[tuple[int, str], Bearing]:
    """Those in which names change, before anything is changed."""
    touched = {(change.tree, change.path.rpartition("/")[0]) for change in work.changes.every}
    touched |= {(0, path) for path in work.changes.directories} | {(tree, "") for tree in range(len(work.trees))}
    beside = (*work.changes.directories, *work.changes.made_directories, *work.plan.wires)
    touched |= {(0, path.rpartition("/")[0]) for path in beside}
    touched |= {(0, log) for log in (layout.OFFSETS, layout.COMMITS) if work.plan.wires}  # an undo has its own
    found = {one: work.trees[one[0]].bearing_of(one[1]) for one in touched}
    return {one: bearing for one, bearing in found.items() if bearing is not None}


def _will_be_there(work: Work, directory: str, hidden: set[str]) -> bool:
    """One that was set aside stays if somebody writes into it."""
    names = work.checkpoint.names(directory) or {}
    left = {f"{directory}/{name}" for name in names} - hidden - set(work.changes.directories)
    return bool(left)


def _told(work: Work, tree: int, path: str) -> dict[str, object] | None:
    found = work.trees[tree].look(path)
    return {"size": found.size, "sha256": found.sha256} if found else None
