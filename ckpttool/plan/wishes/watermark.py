"""`watermark`: another watermark for the next batch, as after one event from far in the future."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.plan.conditions import ROWS_LOST, Condition
from ckpttool.plan.cost import Cost
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, replace_file
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene

_ID = "set-watermark"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOWS_TWICE = "windows-twice"


class Watermark(Wish, frozen=True, tag="watermark"):
    """Written where Spark takes the higher of two from: the newest offsets, and the commit of the same batch."""

    to_ms: int

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


def _spelled(time_ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return f"{time_ms} ms"


def _raised(to_ms: int, steps: list[Step]) -> Repair:
    late = Condition(ROWS_LOST, "rows older than the new watermark are late, and dropped: how many come is not known")
    title = f"Raise the watermark to {_spelled(to_ms)}"
    return Repair(_ID, title, tuple(steps), cost=Cost(0, None, 0), conditions=(late,))


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
