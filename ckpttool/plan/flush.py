"""Before windows are changed: the old code writes those that are open, and the new one meets none. Pure.

The batch in which it does so is planned here and reads nothing, behind a watermark that has passed the last window; so
it is the state alone that decides what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.laws.changes.base import Altered
from ckpttool.laws.changes.judge import law_of
from ckpttool.literals import shell_comment
from ckpttool.model import CommitLogEntry
from ckpttool.plan import WayOut, plan_recovery
from ckpttool.plan.repair import Refusal
from ckpttool.plan.simulation import after_steps
from ckpttool.plan.steps import Manual, write
from ckpttool.plan.wishes.watermark import Watermark
from ckpttool.scene.scene import Scene
from ckpttool.scene.windows import StoredWindows

FLUSH = "flush-first"
_DROPPED = "what comes for windows before that is late, and dropped by both codes"


def flush_first(
    scene: Scene, wrong: Sequence[Altered], why_not: Callable[[Scene], str | None], refused: list[Refusal]
) -> Iterator[WayOut]:
    """`why_not`: why the changed query would not go on in a scene. Nothing, where nobody has seen what is open."""
    if not scene.windows or not any(FLUSH in law_of(change).ways_out for change in wrong):
        return
    until_ms = _until_ms(scene)
    if isinstance(until_ms, Refusal):
        refused.append(until_ms)
        return
    wish, before = Watermark(until_ms, closes=True), replace(scene, query=None, was=None)
    plan = plan_recovery(before, diagnose(before).prediction, wish)
    refused.extend(replace(one, id=FLUSH) for one in plan.refused)
    for way in plan.options:
        after = replace(_written(way.after), query=scene.query, was=scene.was, windows=_emptied(scene))
        if why := why_not(after):
            refused.append(Refusal(FLUSH, f"the changed query would not go on after it: {why}"))
        else:
            title = "Have the old code write its open windows, and start the new one then"
            steps, trap = (*way.steps, _once(way.after)), f"{way.title}; {_DROPPED}"
            yield replace(
                way, id=FLUSH, title=title, steps=steps, after=after, traps=(trap,), is_repair=False, wish=wish
            )


def _until_ms(scene: Scene) -> int | Refusal:
    """When the last window ends, old or new: no row that was seen belongs to one that ends later."""
    mode = scene.was.output_mode if scene.was else scene.query.output_mode if scene.query else None
    if mode == "complete":
        return Refusal(FLUSH, "in complete mode the state keeps every window, and none is closed")
    newest = scene.batch(scene.planned)
    if newest is None or not newest.next_watermark_ms:
        return Refusal(FLUSH, "the query has come to no watermark, which would close its windows")
    ends = [one.last_end for one in scene.windows if one.last_end is not None]
    if not ends or any(one.rows is None for one in scene.windows):
        return Refusal(FLUSH, "it keeps more windows than are read here: which of them ends last is not known")
    last_ms = max(newest.next_watermark_ms, -(-max(ends) // 1000))
    lengths = [one.meaning.window_ms for one in scene.query.operators if one.meaning] if scene.query else []
    return max(-(-last_ms // length) * length for length in [*filter(None, lengths), 1])


def _written(planned: Scene) -> Scene:
    """Once the batch is committed."""
    batch_id, newest = planned.next_id, planned.batch(planned.planned)
    before = planned.checkpoint.commits.get(batch_id - 1, CommitLogEntry(batch_id - 1, 1, None))
    commit = replace(before, batch_id=batch_id, next_watermark_ms=newest.watermark_ms if newest else None)
    return after_steps(planned, [write(planned.root, layout.commits(batch_id), encode_commit_log(commit), "by Spark")])


def _emptied(scene: Scene) -> tuple[StoredWindows, ...]:
    return tuple(replace(one, rows=0, newest=(), last_end=None) for one in scene.windows)


def _once(planned: Scene) -> Manual:
    text = f"start the old code with the trigger once, and let it end: it runs batch {planned.next_id}, and no other"
    return Manual(text=text, why="its windows are written, and kept no more", shell=shell_comment(text), target="query")
