"""The first look, which only reads: everything for which a plan is refused before anything is changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from ckpttool.api import plan_restart
from ckpttool.apply import applies, by_hand, places
from ckpttool.apply.brokers import broker_changes
from ckpttool.apply.fingerprints import Mismatch, differences, mark_sink
from ckpttool.apply.journal import Journal
from ckpttool.apply.make_plan import choose, planned_steps, promise_of, what_it_does
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.plan_file import SinkMark, restarted_of
from ckpttool.apply.stores.base import WritableStore
from ckpttool.apply.verify import AsItWillBe, broken
from ckpttool.apply.work import Work, does_not_fit, like_siblings
from ckpttool.diagnosis import diagnose
from ckpttool.errors import CkptError, Refused
from ckpttool.formats import layout
from ckpttool.plan.conditions import QUERY_STOPPED
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import parse_release
from ckpttool.scene.sinks import SinkEvidence

_QUIET_S = 60  # since anything was written to the logs
_ROOM = 16 * 2**20  # beside the copies


def look(work: Work, *, resumes: bool) -> None:
    """Raises NotApplied with all reasons that there are. Whoever goes on in the middle is looked at by the second look:
    what lies there then is half of two checkpoints."""
    look_around(work, resumes=resumes)
    if work.is_fenced:
        return
    relied = work.plan.relies_on
    found = [*differences(work.reading, relied.files, relied.names, {}), *differences_at_origin(work)]
    if found:
        raise NotApplied(*(does_not_fit(one.path, one.expected, one.found, work.plan) for one in found))
    if reasons := [*not_accepted(work), *_alive(work), *_not_possible(work), *_predicted_otherwise(work)]:
        raise NotApplied(*reasons)


def differences_at_origin(work: Work) -> Iterator[Mismatch]:
    """What is copied has to stay as it was, to its end."""
    if work.origin is not None and work.plan.origin is not None:
        work.origin.look_anew()
        origin, becomes = work.plan.origin, work.changes.becomes_in(work.plan.origin.url)
        yield from differences(work.origin.reading(), origin.files, origin.names, becomes, [places.STAGING_OF_SINKS])


def look_around(work: Work, *, resumes: bool) -> None:
    """Whether somebody else is at it: asked once more by whoever has waited for the lock."""
    work.journal = Journal(work.checkpoint, work.plan.id)
    if reasons := list(_in_the_way(work, resumes=resumes)):
        raise NotApplied(*reasons)


def _in_the_way(work: Work, *, resumes: bool) -> Iterator[WhyNot]:
    url = work.plan.checkpoint
    for plan_id in applies.unfinished(work.checkpoint):
        if plan_id != work.plan.id or not resumes:
            yield applies.why_unfinished(plan_id, url)
            return
    if work.plan.asked.kafka and work.settings.given.brokers is None:
        yield WhyNot("broker-changed", "this was planned with what Kafka's brokers said, and they are not asked now",
                     next_step="give them again: --bootstrap-server HOST:PORT")  # fmt: skip
    if work.is_fenced and not resumes:
        yield WhyNot(
            "apply-unfinished", f"{layout.METADATA} is a fence, and not of this plan", next_step=applies.ways(url)
        )
    if work.journal.is_undoing and work.journal.end is None:
        yield WhyNot("apply-unfinished", "it is being taken back", next_step=f"ckpt undo {url}")


def not_accepted(work: Work, *ids: str) -> Iterator[WhyNot]:
    """`ids`: only these are asked for."""
    for condition in work.plan.conditions:
        if ids and condition.id not in ids:
            continue
        if condition.who == "you" and condition.id not in work.settings.accepted:
            yield WhyNot(
                "condition-not-accepted",
                f"{condition.id}: {condition.text}",
                next_step=f"if that is so: --accept {condition.id}",
            )


def _alive(work: Work) -> Iterator[WhyNot]:
    """By the times of the newest files of the logs; a query that waits shows at the wires."""
    if QUERY_STOPPED in work.settings.accepted or not work.changes_anything:
        return
    quiet = seconds_quiet(work.origin or work.checkpoint)
    if quiet is not None and -_QUIET_S < quiet < _QUIET_S:
        yield WhyNot(
            "looks-alive",
            f"the newest batch was written {max(0, int(quiet))} s ago: the query seems to run",
            next_step="stop it; if it is stopped: --accept query-stopped",
        )


def seconds_quiet(store: WritableStore) -> float | None:
    """How long nothing was written to the logs."""
    times: dict[str, int] = {}
    for folder in (layout.OFFSETS, layout.COMMITS):
        names = [name for name in store.names(folder) or () if name.isdecimal()]
        newest = max(names, key=int, default=None)
        found = store.bearing_of(f"{folder}/{newest}") if newest else None
        if found is not None and found.modified_ns is not None:
            times[f"{folder}/{newest}"] = found.modified_ns
    if not times:
        return None
    newest_path = max(times, key=lambda path: times[path])
    clock = store.clock_s(newest_path)
    return None if clock is None else clock - times[newest_path] / 1e9


def _not_possible(work: Work) -> Iterator[WhyNot]:
    for table in work.tables:
        yield from table.not_possible()
    for one in work.by_hand:
        yield from by_hand.not_possible(one, "new", work.settings.storage, work.named)
    yield from by_hand.elsewhere(work.by_hand, work.named)
    by_us = {step.table for step in work.plan.steps if step.kind in ("delta_restore", "delta_txn")}
    in_tables = by_us - {table.change.table for table in work.tables}
    for path in sorted(filter(None, in_tables)):
        yield WhyNot("sink-changed", f"{path}: what its record said is not in the plan", next_step="plan anew")
    if (work.checkpoint.names("") or {}).get(layout.METADATA):
        yield WhyNot("not-writable", f"{layout.METADATA} is a directory: nothing replaces it in one go",
                     next_step="set it aside by hand, and plan anew")  # fmt: skip
    for path in (path for tree, path in work.changes.bodies if not tree and path in work.changes.directories):
        yield WhyNot("not-writable", f"{path} is a directory: no file takes its place while anything is half done",
                     next_step="set it aside by hand, and plan anew")  # fmt: skip
    free = work.checkpoint.free_bytes()
    if free is not None and free < (needed := work.bytes_to_keep + _ROOM):
        yield WhyNot("not-enough-room", "there is no room for the copies of what is changed", f"{needed:,} bytes",
                     f"{free:,} bytes", "make room; --backup logs keeps no state, and cannot be undone")  # fmt: skip
    yield from _owners(work)


def _owners(work: Work) -> Iterator[WhyNot]:
    if "owner-would-differ" in work.settings.accepted:
        return
    if work.origin is not None:
        kept = work.origin.bearing_of(layout.METADATA) or work.origin.bearing_of("")
        if kept is not None and not work.checkpoint.may_give(kept):
            yield WhyNot("owner-would-differ", "the copies would belong to this user", f"user {kept.owner}",
                         next_step="run as that user")  # fmt: skip
        return
    written = [change.path for change in work.changes.every if change.new is not None]
    for path in [*written, *([layout.METADATA] if work.changes_anything else [])]:
        bearing = work.checkpoint.bearing_of(path) or like_siblings(work.checkpoint, path)
        if not work.checkpoint.may_give(bearing):
            yield WhyNot("owner-would-differ", f"{path} would belong to this user", f"user {bearing.owner}",
                         next_step="run as that user")  # fmt: skip


def _predicted_otherwise(work: Work) -> Iterator[WhyNot]:
    """Planned once more, it must be the same: the same steps, and the same promise."""
    plan = work.plan
    restarted = restarted_of(plan, work.settings.given)
    now_ms = int(time.time() * 1000)
    try:
        reading = AsItWillBe(work.origin.reading() if work.origin else work.reading, {})
        diagnosis, planned = plan_restart(
            plan.planned_for,
            restarted,
            work.settings.storage,
            now_ms=now_ms,
            store=reading,
            sinks=work.sinks,
            beside=not restarted.sinks,  # what lies there matters where no sink is named
        )
    except CkptError as error:
        yield WhyNot("not-writable", error.message, next_step=error.next_step)
        return
    if changed := [*_sinks_changed(plan.relies_on.sinks, diagnosis.scene.sinks), *broker_changes(plan, diagnosis)]:
        yield from changed
        return
    try:
        option = choose(planned, plan.option.id)
    except Refused as error:
        yield WhyNot("plan-does-not-fit", f"it cannot be planned any more: {error.message}", next_step=error.next_step)
        return
    if diagnosis.scene.release != parse_release(plan.spark_version["assumed"]):
        yield does_not_fit("the release", plan.spark_version["assumed"], str(diagnosis.scene.release), plan)
    steps = planned_steps(diagnosis.scene, option)
    if [what_it_does(step) for step in steps] != [what_it_does(step) for step in plan.steps]:
        yield does_not_fit("what has to be done", f"{len(plan.steps)} steps", f"{len(steps)} steps, or others", plan)
    for name, promised, found in broken(plan.promise, promise_of(diagnose(option.after))):
        yield WhyNot(
            "plan-does-not-fit", f"{name}: another outcome is predicted", str(promised), str(found), "plan anew"
        )


def sinks_otherwise(work: Work, *, is_begun: bool) -> Iterator[WhyNot]:
    """By their own records; but for what is asked for by hand, and, once it is begun, for tables, which are told by our
    marks, and files, of which some are changed already. Where nothing tells what was done by hand, it may have been
    this."""
    if not all(one.is_seen for one in work.by_hand):
        return
    asked = restarted_of(work.plan, work.settings.given)
    told = {one.sink for one in work.by_hand}
    told |= {*work.changes.roots, *(table.change.table for table in work.tables)} if is_begun else set()
    for mark, sink, app_id in zip(work.plan.relies_on.sinks, asked.sinks, asked.app_ids, strict=False):
        if mark.path not in told:
            opened = work.sinks.get(mark.path)
            now = load_sink(sink, work.settings.storage, query_id=None, txn_app_id=app_id, opened=opened)
            yield from _sinks_changed([mark], [now])


def _sinks_changed(marks: Iterable[SinkMark], found: Iterable[SinkEvidence]) -> Iterator[WhyNot]:
    for mark, now in zip(marks, map(mark_sink, found), strict=False):
        if mark != now:
            yield WhyNot("sink-changed", f"{mark.path} is not as it was when this was planned",
                         _spell(mark), _spell(now), "plan anew")  # fmt: skip


def _spell(mark: SinkMark) -> str:
    """What tells one from another, in words."""
    said = [f"{name} {value}" for name, value in (("table", mark.table_id), ("version", mark.version),
                                                   ("snapshot", mark.snapshot)) if value is not None]  # fmt: skip
    said += [f"batch {batch} of {app_id}" for app_id, batch in sorted(mark.ledger.items())]
    return ", ".join([mark.kind, *said, *([f"{mark.names.count} names in its log"] if mark.names else [])])
