"""What the commands ask for: a plan carried out, gone on with, taken back. However it ends, it ends in an `Outcome`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ckpttool.apply import applies, fence, places
from ckpttool.apply.by_hand import Waits
from ckpttool.apply.carry_out import carry_out, finish, start_in_spark, why
from ckpttool.apply.changes import FileChanges
from ckpttool.apply.found_plans import plan_found, remember
from ckpttool.apply.journal import end_of
from ckpttool.apply.lock import remove_what_is_left, unlock
from ckpttool.apply.look import look, seconds_quiet
from ckpttool.apply.outcome import NotApplied, Outcome, StoppedFenced, WhyNot
from ckpttool.apply.plan_file import BadPlan, PlanFile
from ckpttool.apply.sinks import delta
from ckpttool.apply.stores.base import WritableStore, small_body
from ckpttool.apply.stores.opening import open_tree
from ckpttool.apply.undo import check, take_back
from ckpttool.apply.verify import AsItWillBe
from ckpttool.apply.work import ApplySettings, Work, does_not_fit, step_results
from ckpttool.errors import CkptError, NotFound, Unavailable, exit_code
from ckpttool.formats import layout
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.formats.metadata import moved_to
from ckpttool.literals import shell_path
from ckpttool.plan.conditions import QUERY_STOPPED
from ckpttool.report.layout import spell_duration
from ckpttool.words import shown

Storage = Mapping[str, str] | None  # options for whoever opens a URL


def apply_plan(plan: PlanFile, settings: ApplySettings, *, resumes: bool = False, only_looks: bool = False) -> Outcome:
    outcome = Outcome(plan.id, plan.option.id, resumed=resumes, steps=step_results(plan), promise=plan.promise)
    outcome.keeps_state = settings.keeps_state or not any(step.target == "state" for step in plan.steps)
    outcome.conf = [{"k": step.k, "v": step.v} for step in plan.steps if step.k is not None and step.v is not None]

    def do(work: Work) -> None:
        if work.journal.end == "done":
            _applied_before(work)
        elif only_looks:
            look(work, resumes=resumes and work.changes_anything)
        elif not work.changes_anything:
            look(work, resumes=False)  # which predicts it once more
            outcome.kept, outcome.found = True, plan.promise
            if otherwise := start_in_spark(work, AsItWillBe(work.reading, {})):
                raise NotApplied(*otherwise)
            outcome.state = "applied"
        elif work.journal.is_verified and not work.is_fenced and not work.journal.is_undoing:
            finish(work)
        else:
            remember(plan)
            carry_out(work, resumes=resumes)

    return _ended(plan, outcome, settings, do)


def plan_to_resume(url: str, storage: Storage = None, look_at: Sequence[str] = ()) -> PlanFile:
    store = _open(url, storage)
    plan_id = next(iter(applies.unfinished(store)), None)
    if plan_id is None:
        remove_what_is_left(store)
        plan_id = _newest_that_ended(
            store, "done"
        )  # killed after its last record: nothing is left to do, and it says so
    if plan_id is None:
        _mind_a_fence(store)
        raise NotFound("no apply is unfinished here", "ckpt undo PATH --list shows those that were carried out")
    return plan_found(store, plan_id, url, storage or {}, look_at)


def plan_to_undo(
    url: str, plan_id: str | None, storage: Storage = None, look_at: Sequence[str] = ()
) -> PlanFile | None:
    """None: there was nothing but the lock of somebody who is gone, and now it is not there any more."""
    store = _open(url, storage)
    found = plan_id or _newest(store)
    if found is not None:
        return plan_found(store, found, url, storage or {}, look_at)
    if remove_what_is_left(store):
        return None
    found = _newest_that_ended(store, "undone")
    if found is not None:
        return plan_found(store, found, url, storage or {}, look_at)
    _mind_a_fence(store)
    raise NotFound("nothing was applied here that could be taken back")


def _mind_a_fence(store: WritableStore) -> None:
    """One that nothing here belongs to: copied without `_ckpt`, or what was in that is gone; or the checkpoint went to
    another place, and what was carried out is there."""
    body = small_body(store, layout.METADATA) if store.look(layout.METADATA) is not None else b""
    if (place := moved_to(body)) is not None:
        raise NotFound(
            f"the checkpoint goes on at {shown(place, 4096)}", f"ckpt undo {shell_path(place)} brings it back here"
        )
    if fence.is_fence(body):
        raise NotApplied(WhyNot("apply-unfinished", f"{layout.METADATA} is a fence, and of the apply that put it up"
                                f" nothing is in {OWN_DIRECTORY}/ here",
                                next_step=f"bring {OWN_DIRECTORY}/ back from where this was copied from"))  # fmt: skip


def take_back_plan(plan: PlanFile, settings: ApplySettings, *, only_looks: bool = False) -> Outcome:
    outcome = Outcome(plan.id, plan.option.id, undoes=True, steps=step_results(plan))

    def do(work: Work) -> None:
        if work.journal.end == "undone" and not work.is_fenced:
            outcome.state = "nothing_to_do"
            outcome.identical = all(work.now(change) == change.old for change in work.changes.every)
            _say_was_done(outcome)
        elif only_looks:
            check(work)
        else:
            take_back(work)
            if plan.origin is not None:
                _remove(work)

    return _ended(plan, outcome, settings, do)


def quiet_for(plan: PlanFile, storage: Storage = None) -> list[str]:
    """Since when nothing was written, in words."""
    seconds = seconds_quiet(_open(plan.planned_for, storage))
    if seconds is None or seconds < 0:
        return []
    return [f"Nothing was written to its logs for {spell_duration(int(seconds * 1000))}."]


class Applied(Struct, frozen=True):
    """One line of `ckpt undo --list`."""

    id: str
    state: str
    option: str | None
    created_ms: int | None
    bytes: int
    undoable: bool
    why_not: str | None


def listed(url: str, storage: Storage = None, look_at: Sequence[str] = ()) -> list[Applied]:
    """The newest first."""
    store = _open(url, storage)
    found: list[Applied] = []
    stands = None  # the newest that is not taken back
    for plan_id in reversed(applies.all_of(store)):
        end = end_of(store, plan_id)
        size = sum(store.sizes_below(places.apply_of(plan_id)).values())
        state = {"done": "applied", "undone": "undone"}.get(end or "", "unfinished")
        try:
            plan = plan_found(store, plan_id, url, storage or {}, look_at)
        except (BadPlan, NotApplied) as error:
            found.append(Applied(plan_id, state, None, None, size, False, error.message))
            continue
        if end == "undone":
            why_not: str | None = "it is taken back already"
        else:
            why_not = f"a newer apply is not taken back: {stands}" if stands else _why_not(plan, storage)
            stands = stands or plan_id
        found.append(Applied(plan_id, state, plan.option.id, plan.created_ms, size, why_not is None, why_not))
    return found


def forget(url: str, plan_id: str, storage: Storage = None) -> int:
    return applies.forget(_open(url, storage), plan_id)


def remove_lock(url: str, lock_id: str, storage: Storage = None) -> None:
    unlock(_open(url, storage), lock_id)


def _open(url: str, storage: Storage, *, is_born: bool = False) -> WritableStore:
    """The checkpoint, where it can be changed."""
    store = open_tree(url, places.STAGING, storage or {})
    if not is_born and store.names("") is None:
        raise NotFound(f"{url} is not there")
    return store


def _newest(store: WritableStore) -> str | None:
    return next((one for one in reversed(applies.all_of(store)) if end_of(store, one) != "undone"), None)


def _newest_that_ended(store: WritableStore, end: str) -> str | None:
    return next((one for one in applies.all_of(store)[-1:] if end_of(store, one) == end), None)


def _why_not(plan: PlanFile, storage: Storage) -> str | None:
    """In a few words: what `undo` would be refused for."""
    outcome = Outcome(plan.id, plan.option.id, undoes=True)
    _ended(plan, outcome, ApplySettings(accepted=frozenset({QUERY_STOPPED}), storage=storage or {}), check)
    return outcome.reasons[0].text if outcome.reasons else None


def _applied_before(work: Work) -> None:
    is_new = all(work.now(change) == change.new for change in work.changes.every)
    is_new &= all(work.seen(one) in ("new", None) for one in work.by_hand)
    if is_new and delta.all_in(work.tables, "new") and not work.is_fenced:
        work.outcome.state = "nothing_to_do"
        _say_was_done(work.outcome)
        return
    raise NotApplied(
        does_not_fit("the checkpoint", "as the plan left it", "changed since it was carried out", work.plan)
    )


def _say_was_done(outcome: Outcome) -> None:
    for result in outcome.steps:
        result.result = "was_done"


def _remove(work: Work) -> None:
    """Of a checkpoint that came into being, and is taken back, nothing is left."""
    applies.remove(work.checkpoint, work.plan.id)
    for path in (places.APPLIES, OWN_DIRECTORY):
        work.checkpoint.remove_directory(path)
    work.checkpoint.remove_root()


def _ended(plan: PlanFile, outcome: Outcome, settings: ApplySettings, do: Callable[[Work], Any]) -> Outcome:
    """Whatever stops it becomes a part of the outcome."""
    work: Work | None = None
    try:
        checkpoint = _open(plan.checkpoint, settings.storage, is_born=plan.origin is not None)
        origin = open_tree(plan.origin.url, places.STAGING, settings.storage) if plan.origin else None
        sinks = [open_tree(one, places.STAGING_OF_SINKS, settings.storage) for one in FileChanges(plan).roots[1:]]
        work = Work(plan, [checkpoint, *sinks], outcome, settings, origin)
        do(work)
    except (Exception, KeyboardInterrupt) as error:
        outcome.error = error
        outcome.reasons = _reasons(error)
        outcome.changed = outcome.changed and not isinstance(error, NotApplied)
        outcome.fenced = _is_fenced(work, outcome.fenced)
        half_done = isinstance(error, StoppedFenced) or outcome.changed or outcome.fenced
        outcome.state = "stopped" if half_done and not isinstance(error, NotApplied) else "refused"
        outcome.next = _next(plan, error, undoes=outcome.undoes)
    if outcome.state == "refused":
        outcome.next = []
    return _accounted(outcome, work)


def _next(plan: PlanFile, error: BaseException, *, undoes: bool) -> list[str]:
    """The command that goes on, and the one that takes back. Who was told to do something by hand that cannot be seen
    says that it is done."""
    place = shell_path(plan.checkpoint)
    said = f" --done {error.n}" if isinstance(error, Waits) and error.says else ""
    back = f"ckpt undo {place}{said if undoes else ''}"
    return [back] if undoes else [f"ckpt apply --resume {place}{said}", back]


def _reasons(error: BaseException) -> list[WhyNot]:
    if isinstance(error, CkptError):
        return why(error)
    return [] if isinstance(error, KeyboardInterrupt) else [WhyNot("bug", f"a bug in ckpt: {type(error).__name__}")]


def _is_fenced(work: Work | None, before: bool) -> bool:
    """Where that cannot be seen, it is as when we last could."""
    try:
        return work is not None and work.is_fenced
    except CkptError:
        return before


def _accounted(outcome: Outcome, work: Work | None) -> Outcome:
    if work is None:
        return outcome
    with suppress(CkptError):
        files = [one for one in work.inventory() or () if not one.directory]
        path = f"{places.apply_of(outcome.plan_id)}/backup"
        if files:
            outcome.backup = {"path": path, "files": len(files), "bytes": sum(one.size or 0 for one in files)}
    for requests in (*(tree.requests for tree in work.trees), *(table.requests for table in work.tables)):
        for kind, count in requests.items():
            outcome.requests[kind] = outcome.requests.get(kind, 0) + count
    return outcome


def exit_code_of(outcome: Outcome) -> int:
    """Refused says that nothing is changed; stopped, that the fence stands."""
    stopped = outcome.state == "stopped"
    unreachable = stopped and isinstance(outcome.error, Unavailable)
    return exit_code(refused=outcome.state == "refused", wrong=stopped and not unreachable, unreachable=unreachable)
