"""The watermark over the batches that are there: what it does to rows and to state, and no start minds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.batches import Batch
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, spell_span

_HOUR_MS = 3_600_000
_ENOUGH = 10  # batches that read something
# What they keep goes by nothing but the watermark.
_GROW_WITHOUT = ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin")
_SLOWEST = "with several inputs the slowest holds it back: look for one that is idle or has old times"


def _planned(scene: Scene) -> list[Batch]:
    return [one for one in scene.evidence.batches if one.watermark_ms is not None and one.logged_ms is not None]


def _reading(batches: Sequence[Batch]) -> list[Batch]:
    """Those of which it is known that they read something."""
    return [batch for batch in batches if batch.rows or (batch.rows is None and _moved(batch))]


def _moved(batch: Batch) -> bool:
    return any(source.step is not None and source.step.amount not in (None, 0) for source in batch.sources)


def _standing(batches: Sequence[Batch]) -> list[Batch]:
    """The newest batches that have one watermark."""
    same = [batch for batch in batches if batch.watermark_ms == batches[-1].watermark_ms]
    first = next((at for at, batch in enumerate(batches) if batch is same[0]), 0)
    return same if len(same) == len(batches) - first else []


def _stands_still(batches: Sequence[Batch]) -> bool:
    """Long enough for rows to have come with later times."""
    span = (batches[-1].logged_ms or 0) - (batches[0].logged_ms or 0) if batches else 0
    return len(_reading(batches[1:])) >= _ENOUGH and span >= _HOUR_MS


def _stuck(scene: Scene) -> Iterator[Finding]:
    batches = _planned(scene)
    same = _standing(batches) if batches else []
    if not _stands_still(same) or not same[-1].watermark_ms or _jumps(batches):
        return
    span = spell_span((same[-1].logged_ms or 0) - (same[0].logged_ms or 0))
    yield Finding(
        "watermark-stuck",
        "warning",
        layout.offsets(same[-1].id),
        f"the watermark has not moved for {counted(len(same), 'batch')} and {span}, while"
        " rows came: nothing is given out in append mode, and state is never cleared",
        expected="a watermark that follows the rows",
        next_step=_SLOWEST,
    )


def _never_set(scene: Scene) -> Iterator[Finding]:
    batches = _planned(scene)
    growing = [one for one in scene.checkpoint.operators if one.name in _GROW_WITHOUT]
    if not growing or any(batch.watermark_ms for batch in batches) or len(_reading(batches)) < _ENOUGH:
        return
    yield Finding(
        "watermark-never-set",
        "warning",
        layout.operator(growing[0].id),
        f"{growing[0].name} keeps all that it ever saw: no batch has a watermark",
        expected="withWatermark on its input",
        next_step="add withWatermark, which begins to clear the state that is there, unless its keys are few",
    )


def _jumps(batches: Sequence[Batch]) -> list[tuple[Batch, Batch]]:
    """Pairs of batches between which it went further than time, and to where no row came after it."""
    found = []
    for before, after in pairwise(batches):
        advance, gap = (after.watermark_ms or 0) - (before.watermark_ms or 0), _gap(before, after)
        ahead = (after.watermark_ms or 0) - (after.logged_ms or 0)
        if before.watermark_ms and advance > 10 * gap + _HOUR_MS and ahead > _HOUR_MS:
            found.append((before, after))
    return found


def _gap(before: Batch, after: Batch) -> int:
    return max(0, (after.logged_ms or 0) - (before.logged_ms or 0))


def _jump(scene: Scene) -> Iterator[Finding]:
    jumps = _jumps(_planned(scene))
    if not jumps:
        return
    before, after = jumps[-1]
    advance, gap = (after.watermark_ms or 0) - (before.watermark_ms or 0), _gap(before, after)
    ahead = spell_span((after.watermark_ms or 0) - (after.logged_ms or 0))
    later = [batch.rows for batch in scene.evidence.batches if batch.id >= after.id and batch.rows]
    yield Finding(
        "watermark-jump",
        "warning",
        layout.offsets(after.id),
        f"the watermark went on by {spell_span(advance)} within {spell_span(gap)}, and is {ahead} ahead of the clock: a"
        f" row of the future in batch {before.id}"
        + (f". What was read since, up to {counted(sum(later), 'row')}, is late and dropped" if later else ""),
        expected="times that are not ahead of the clock",
        next_step="filter such rows before withWatermark. ckpt plan watermark puts it back",
    )


HEALTH = (
    Law(
        "watermark-stuck",
        "the watermark does not move while rows come",
        look=_stuck,
        severities=("warning",),
        needs="batches",
    ),
    Law(
        "watermark-never-set",
        "state that only a watermark clears has none",
        look=_never_set,
        severities=("warning",),
        needs="batches",
    ),
    Law(
        "watermark-jump",
        "a row of the future has moved the watermark",
        look=_jump,
        severities=("warning",),
        needs="batches",
    ),
)
