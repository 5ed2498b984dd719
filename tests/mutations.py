"""One change for each anomaly, made to a sound history, after which the judge has to name that anomaly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from ckpttool.harness.history import Disk, ObservedCommit, ObservedFailure, ObservedRestart
from tests.history_builders import History, Row

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]
# None: there is nothing to change in a history like this one.
Mutation = Callable[[History, Pick[Any]], History | None]


def _with_after(history: History, **changes: Any) -> History:
    return replace(history, case=replace(history.case, after=replace(history.case.after, **changes)))


def _with_crash(history: History, **changes: Any) -> History:
    crash = replace(history.case.crashes[0], **changes)
    return replace(history, case=replace(history.case, crashes=(crash,)))


def _with_disk(history: History, **changes: Any) -> History:
    return _with_crash(history, disk=replace(history.case.crashes[0].disk, **changes))


def _with_case(history: History, **changes: Any) -> History:
    return replace(history, case=replace(history.case, **changes))


def _visible(history: History) -> list[Row]:
    return [dict(row) for row in history.case.after.visible or ()]


def _crash_disk(history: History) -> Disk:
    return history.case.crashes[0].disk


def _without(items: Sequence[T], item: T) -> tuple[T, ...]:
    index = next(number for number, one in enumerate(items) if one is item)
    return (*items[:index], *items[index + 1 :])


# -- the rows ----------------------------------------------------------------------------------------------------------


def lose_a_row(history: History, pick: Pick[Any]) -> History | None:
    """One that is there once: of a control's duplicates one may go."""
    rows = _visible(history)
    once = [row for row in rows if rows.count(row) == 1]
    return _with_after(history, visible=_without(rows, pick(once))) if once else None


def double_a_row(history: History, pick: Pick[Any]) -> History | None:
    rows = _visible(history)
    return _with_after(history, visible=(*rows, pick(rows))) if rows else None


def alter_a_row(history: History, pick: Pick[Any]) -> History | None:
    rows = _visible(history)
    payload = [name for row in rows for name in row if name not in history.run.identity]
    if not payload:
        return None
    row = pick(rows)
    changed = {**row, pick(sorted(set(payload))): "other"}
    return _with_after(history, visible=(*_without(rows, row), changed))


def invent_a_row(history: History, pick: Pick[Any]) -> History | None:
    rows = _visible(history)
    if not rows:
        return None
    row = {**pick(rows), history.run.identity[0]: "nobody's"}
    return _with_after(history, visible=(*rows, row))


def show_a_row_early(history: History, pick: Pick[Any]) -> History | None:
    disk = _crash_disk(history)
    rows = [row for row in _visible(history) if row not in (disk.visible or ())]
    if not history.shape.has_ledger or not rows:
        return None
    return _with_disk(history, visible=(*(disk.visible or ()), pick(rows)))


# -- the checkpoint's logs ---------------------------------------------------------------------------------------------


def _offset_line(text: str, line: int, change: Callable[[Any], Any]) -> str:
    lines = text.split("\n")
    lines[line] = json.dumps(change(json.loads(lines[line])))
    return "\n".join(lines)


def go_back(history: History, pick: Pick[Any]) -> History | None:
    """Two neighbours that differ change places, so the second ends where the first began."""
    offsets = dict(history.case.after.offsets)
    pairs = [batch for batch in offsets if batch + 1 in offsets and history.shape.sizes[batch + 1]]
    if not pairs:
        return None
    batch = pick(pairs)
    offsets[batch], offsets[batch + 1] = offsets[batch + 1], offsets[batch]
    return _with_after(history, offsets=offsets)


def forget_the_end(history: History, pick: Pick[Any]) -> History | None:  # noqa: ARG001
    last = max(history.case.after.offsets)
    if last < 1 or not history.shape.sizes[last] or last in _crash_disk(history).offsets:
        return None
    offsets = {batch: text for batch, text in history.case.after.offsets.items() if batch != last}
    commits = {batch: text for batch, text in history.case.after.commits.items() if batch != last}
    return _with_after(history, offsets=offsets, commits=commits)


def plan_anew(history: History, pick: Pick[Any]) -> History | None:
    offsets = dict(_crash_disk(history).offsets)
    if not offsets:
        return None
    batch = pick(sorted(offsets))
    offsets[batch] = _offset_line(offsets[batch], 1, lambda fields: {**fields, "batchTimestampMs": 1})
    return _with_disk(history, offsets=offsets)


def commit_ahead(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    commits = dict(history.case.after.commits)
    return _with_after(history, commits=commits | {max(commits) + 1: commits[max(commits)]})


def plan_too_far(history: History, pick: Pick[Any]) -> History | None:  # noqa: ARG001
    disk = _crash_disk(history)
    commits = {batch: text for batch, text in disk.commits.items() if batch < max(disk.offsets, default=0) - 1}
    return _with_disk(history, commits=commits) if len(disk.offsets) > 1 else None


def lose_a_commit(history: History, pick: Pick[Any]) -> History | None:
    commits = dict(history.case.after.commits)
    inner = [batch for batch in commits if min(commits) < batch < max(commits)]
    if not inner:
        return None
    del commits[pick(inner)]
    return _with_after(history, commits=commits)


def lose_the_last_commit(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    commits = dict(history.case.after.commits)
    del commits[max(commits)]
    return _with_after(history, commits=commits)


def lower_a_watermark(history: History, pick: Pick[Any]) -> History | None:
    offsets = dict(history.case.after.offsets)
    marks = {batch: json.loads(text.split("\n")[1])["batchWatermarkMs"] for batch, text in offsets.items()}
    later = [batch for batch in marks if batch > 0 and marks[batch - 1] > 0]
    if not later:
        return None
    batch = pick(later)
    offsets[batch] = _offset_line(offsets[batch], 1, lambda fields: {**fields, "batchWatermarkMs": 0})
    return _with_after(history, offsets=offsets)


def raise_a_watermark(history: History, pick: Pick[Any]) -> History | None:
    if history.shape.operator != "window":
        return None
    offsets = dict(history.case.after.offsets)
    batch = pick(sorted(offsets))
    offsets[batch] = _offset_line(offsets[batch], 1, lambda fields: {**fields, "batchWatermarkMs": 10**9})
    return _with_after(history, offsets=offsets)


def hand_on_another_watermark(history: History, pick: Pick[Any]) -> History | None:
    commits = dict(history.case.after.commits)
    if history.shape.operator != "window" or len(commits) < 2:
        return None
    batch = pick([batch for batch in commits if batch != max(commits)])
    return _with_after(history, commits=commits | {batch: 'v1\n{"nextBatchWatermarkMs":123456789}'})


def change_the_id(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    return _with_after(history, metadata='{"id":"00000000-0000-0000-0000-000000000000"}')


def rewrite_metadata(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    return _with_after(history, metadata=(history.case.after.metadata or "") + "\n")


def keep_the_run_id(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    return _with_case(history, restarts=tuple(replace(one, run_id="run-0") for one in history.case.restarts))


# -- the sink's log ----------------------------------------------------------------------------------------------------


def _log(history: History) -> tuple[ObservedCommit, ...]:
    return history.case.after.sink or ()


def _next_version(history: History) -> int:
    return max((commit.version for commit in _log(history)), default=-1) + 1


def repeat_a_batch(history: History, pick: Pick[Any]) -> History | None:
    if not _log(history):
        return None
    again = replace(pick(_log(history)), version=_next_version(history), files=("part-again.parquet",))
    return _with_after(history, sink=(*_log(history), again))


def drop_a_batch(history: History, pick: Pick[Any]) -> History | None:
    full = [commit for commit in _log(history) if commit.rows]
    return _with_after(history, sink=_without(_log(history), pick(full))) if full else None


def plan_nothing_for(history: History, pick: Pick[Any]) -> History | None:  # noqa: ARG001
    if not _log(history):
        return None
    ahead = replace(_log(history)[-1], version=_next_version(history), batch_id=99, files=(), rows=())
    return _with_after(history, sink=(*_log(history), ahead))


def swap_batches(history: History, pick: Pick[Any]) -> History | None:
    log = list(_log(history))
    if len(log) < 2:
        return None
    index = pick(range(len(log) - 1))
    log[index], log[index + 1] = (
        replace(log[index + 1], version=log[index].version),
        replace(log[index], version=log[index + 1].version),
    )
    return _with_after(history, sink=tuple(log))


def add_a_path_twice(history: History, pick: Pick[Any]) -> History | None:
    log = list(_log(history))
    if len(log) < 2:
        return None
    log[-1] = replace(log[-1], files=(*log[-1].files, pick(log[:-1]).files[0]))
    return _with_after(history, sink=tuple(log))


def move_rows(history: History, pick: Pick[Any]) -> History | None:
    log = list(_log(history))
    full = [number for number, commit in enumerate(log) if commit.rows]
    if not full or len(log) < 2 or history.shape.operator == "job":
        return None
    index = pick(full)
    other = index + 1 if index + 1 < len(log) else index - 1
    rows = log[index].rows
    assert rows
    row, *rest = rows
    log[index] = replace(log[index], rows=tuple(rest))
    log[other] = replace(log[other], rows=(*(log[other].rows or ()), row))
    return _with_after(history, sink=tuple(log))


def write_beside(history: History, pick: Pick[Any]) -> History | None:
    if history.shape.sink != "delta":
        return None
    stray = ObservedCommit(version=_next_version(history), operation="WRITE", rows=(pick(_visible(history) or [{}]),))
    return _with_after(history, sink=(*_log(history), stray))


def write_as_another(history: History, pick: Pick[Any]) -> History | None:
    log = list(_log(history))
    if history.shape.sink != "delta" or not log:
        return None
    index = pick(range(len(log)))
    log[index] = replace(log[index], app_id="somebody-else")
    return _with_after(history, sink=tuple(log))


def rewrite_the_log(history: History, pick: Pick[Any]) -> History | None:
    log = list(_crash_disk(history).sink or ())
    if not log:
        return None
    index = pick(range(len(log)))
    log[index] = replace(log[index], files=("part-gone.parquet",))
    return _with_disk(history, sink=tuple(log))


# -- state and recovery ------------------------------------------------------------------------------------------------


def change_state(history: History, pick: Pick[Any]) -> History | None:
    states = {batch: rows for batch, rows in (history.case.state or {}).items() if rows}
    if not states:
        return None
    batch = pick(sorted(states))
    row = pick(states[batch])
    left = _without(states[batch], row)
    changed: Mapping[str, tuple[Any, ...]] = {
        "lacks": left,
        "alters": (*left, replace(row, value=dict.fromkeys(row.value, 12345))),
        "adds": (*states[batch], replace(row, key=dict.fromkeys(row.key, "nobody's"))),
        "doubles": (*states[batch], row),
    }
    return _with_case(history, state={**(history.case.state or {}), batch: changed[pick(sorted(changed))]})


def fail_once(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    failure = ObservedFailure(class_name="java.lang.IllegalStateException", condition=None, message="no")
    failed = ObservedRestart(run_id="run-x", first_batch=None, failure=failure)
    return _with_case(history, restarts=(failed, *history.case.restarts))


def leave_garbage(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
    return _with_after(history, garbage=("sink/part-00007-orphan.parquet",))


def release_early(history: History, pick: Pick[Any]) -> History | None:
    released = list(history.case.released or ())
    if not released:
        return None
    index = pick(range(len(released)))
    batch = released[index].batch_id
    released[index] = replace(released[index], committed=batch - 1 if batch else None)
    return _with_case(history, released=tuple(released))


def _doubt(**changes: Any) -> Mutation:
    def mutation(history: History, pick: Pick[Any]) -> History:  # noqa: ARG001
        return _with_crash(history, proof=replace(history.case.crashes[0].proof, **changes))

    return mutation


def let_it_live(history: History, pick: Pick[Any]) -> History:
    return _with_crash(
        history, mode=pick(["kill", "executor"]), proof=replace(history.case.crashes[0].proof, dead=False)
    )


# -- controls ----------------------------------------------------------------------------------------------------------


def silence_the_control(history: History, pick: Pick[Any]) -> History | None:  # noqa: ARG001
    rows = _visible(history)
    once = [row for number, row in enumerate(rows) if row not in rows[:number]]
    if history.run.control != "duplicates" or len(once) == len(rows):
        return None
    return _with_after(history, visible=tuple(once))


def bite_elsewhere(history: History, pick: Pick[Any]) -> History | None:
    rows = _visible(history)
    return _with_after(history, visible=(*rows, pick(rows))) if history.run.control == "duplicates" and rows else None


def plant_and_keep(history: History, pick: Pick[Any]) -> History | None:
    rows = _visible(history)
    return _with_case(history, planted=(pick(rows),)) if rows else None


MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "row-lost": (lose_a_row,),
    "row-duplicated": (double_a_row,),
    "row-altered": (alter_a_row,),
    "row-unexpected": (invent_a_row,),
    "range-went-back": (go_back,),
    "input-not-read": (forget_the_end,),
    "offsets-changed": (plan_anew,),
    "sink-log-rewritten": (rewrite_the_log,),
    "commit-without-offsets": (commit_ahead,),
    "heads-too-far-apart": (plan_too_far,),
    "batch-hole": (lose_a_commit,),
    "batch-not-committed": (lose_the_last_commit,),
    "batch-twice-in-ledger": (repeat_a_batch,),
    "batch-missing-in-ledger": (drop_a_batch,),
    "batch-never-planned": (plan_nothing_for,),
    "ledger-out-of-order": (swap_batches,),
    "path-twice-in-ledger": (add_a_path_twice,),
    "rows-not-of-batch": (move_rows,),
    "write-without-batch": (write_beside,),
    "write-of-another-query": (write_as_another,),
    "state-differs": (change_state,),
    "watermark-went-back": (lower_a_watermark,),
    "watermark-wrong": (raise_a_watermark, hand_on_another_watermark),
    "query-id-changed": (change_the_id,),
    "metadata-changed": (rewrite_metadata,),
    "run-id-kept": (keep_the_run_id,),
    "uncommitted-visible": (show_a_row_early,),
    "restart-failed": (fail_once,),
    "garbage-grows": (leave_garbage,),
    "released-too-early": (release_early,),
    "never-armed": (_doubt(armed=False),),
    "not-reached": (_doubt(hit=False),),
    "not-dead": (let_it_live,),
    "not-witnessed": (_doubt(witness=False), _doubt(witness=None)),
    "control-silent": (silence_the_control,),
    "control-bites-elsewhere": (bite_elsewhere,),
    "planted-loss-not-found": (plant_and_keep,),
}


def with_planted_loss(history: History, pick: Pick[Any]) -> History | None:
    """Not an anomaly: the judge has to find it."""
    rows = _visible(history)
    if not rows:
        return None
    row = pick(rows)
    if rows.count(row) > 1:
        return None
    return _with_case(_with_after(history, visible=_without(rows, row)), planted=(row,))
