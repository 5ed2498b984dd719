"""`watermark`: another watermark for the next batch, as after one event from far in the future."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.model import OffsetLogEntry
from ckpttool.plan.conditions import ROWS_LOST, Condition
from ckpttool.plan.cost import Cost
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, replace_file, write
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene

_ID, _CLOSE = "set-watermark", "close-windows"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOWS_TWICE = "windows-twice"
_LATE = Condition(ROWS_LOST, "rows older than the new watermark are late, and dropped: how many come is not known")


class Watermark(Wish, frozen=True, tag="watermark"):
    """Written where Spark takes the higher of two from: the newest offsets, and the commit of the same batch. `closes`:
    where a batch is planned instead that reads nothing, so that what is open is written and dropped in that one."""

    to_ms: int
    closes: bool = False

    def repair(self, scene: Scene) -> Repair | Refusal:
        planned = scene.planned
        entry = scene.entry(planned)
        if planned is None or entry is None or entry.metadata is None or scene.is_continuous:
            return Refusal(_ID, "no batch was planned whose offsets have a watermark")
        if scene.is_replay:
            why = f"batch {planned} is planned and not committed, and runs again with the watermark that it has"
            return Refusal(_ID, f"{why}: let it finish, or ckpt plan drop-batch")
        commit = scene.checkpoint.commits.get(planned)
        if commit is None:
            return Refusal(_ID, f"{layout.commits(planned)} cannot be read")
        now = max(entry.metadata.watermark_ms, commit.next_watermark_ms or 0)
        if not self.to_ms >= 0:
            return Refusal(_ID, "a watermark is never before 1970")
        if self.closes:
            return _closing(scene, entry, self.to_ms, now)
        if now == self.to_ms:
            return Repair(_ID, "Leave the watermark as it is", ())
        why = "Spark goes on with the higher of the two watermarks in offsets and commit of one batch"
        steps: list[Step] = []
        if commit.next_watermark_ms is not None:
            content = encode_commit_log(replace(commit, next_watermark_ms=self.to_ms))
            steps.extend(replace_file(scene.root, layout.commits(planned), content, why))
        metadata = replace(entry.metadata, watermark_ms=self.to_ms)
        content = encode_offset_log(replace(entry, metadata=metadata))
        steps.extend(replace_file(scene.root, layout.offsets(planned), content, why))
        return _raised(self.to_ms, steps) if self.to_ms > now else _lowered(self.to_ms, steps)


def _closing(scene: Scene, entry: OffsetLogEntry, to_ms: int, now: int) -> Repair | Refusal:
    if scene.is_async or scene.is_realtime:
        return Refusal(_CLOSE, f"a batch that is planned and not committed is not run again in the mode {scene.mode}")
    if entry.metadata is None or to_ms < now:
        return Refusal(_CLOSE, f"the watermark is at {_spelled(now)} already, and never falls")
    empty = replace(entry, batch_id=entry.batch_id + 1, metadata=replace(entry.metadata, watermark_ms=to_ms))
    why = "a batch that is planned and not committed is run first, with the offsets that it has: it reads nothing"
    step = write(scene.root, layout.offsets(empty.batch_id), encode_offset_log(empty), why)
    title = f"Plan batch {empty.batch_id}, which reads nothing and closes all before {_spelled(to_ms)}"
    return Repair(_CLOSE, title, (step,), cost=Cost(0, None, 0), conditions=(_LATE,))


def _spelled(time_ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return f"{time_ms} ms"


def _raised(to_ms: int, steps: list[Step]) -> Repair:
    title = f"Raise the watermark to {_spelled(to_ms)}"
    return Repair(_ID, title, tuple(steps), cost=Cost(0, None, 0), conditions=(_LATE,))


def _lowered(to_ms: int, steps: list[Step]) -> Repair:
    text = "windows that were closed, and are opened again by rows that were late before, are told once more"
    return Repair(
        _ID,
        f"Lower the watermark to {_spelled(to_ms)}",
        tuple(steps),
        cost=Cost(0, 0, None),
        conditions=(Condition(WINDOWS_TWICE, text),),
        trap="state that was dropped stays dropped: such a window begins anew, with the rows that come from now on",
    )
