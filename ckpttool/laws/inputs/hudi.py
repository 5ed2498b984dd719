"""The laws of a Hudi source, which reads the instants of a timeline behind the one of its offset. Pure.

It has no `failOnDataLoss`, and none of this was run: what the files show is told, and what comes of it stays open. Read
in HoodieStreamSourceV1 and V2, IncrementalRelationV1 and V2 of Hudi 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.hudi import HudiInput
from ckpttool.scene.scene import Doubt, Scene, Trouble

_GONE, _ARCHIVED, _BEHIND = "hudi-source-table-gone", "hudi-instant-archived", "hudi-timeline-behind"


def met(input: HudiInput, scene: Scene) -> Iterator[Trouble]:
    timeline = input.timeline
    if not input.exists:
        why = "there is no Hudi table here"
        step = "restore the table; if it lies elsewhere, say where: --option path=…"
        yield _open(Finding(_GONE, "warning", input.path, why, next_step=step))
    elif input.start is None or timeline.first is None or timeline.last is None:
        return
    elif input.start.instant < timeline.first and timeline.archived:
        why = (
            f"the next batch reads behind {input.start.instant}, and the timeline begins with {timeline.first}: "
            "what was archived between is passed over by tables up to version 6, and read by later ones as long as its "
            "files were not cleaned"
        )
        step = "look between the two: `commits showarchived` of hudi-cli; rows of then are read by a batch query"
        yield _open(Finding(_ARCHIVED, "warning", input.path, why, next_step=step))
    elif input.start.instant > timeline.last and not scene.is_replay:
        why = (
            f"the newest instant of the table is {timeline.last}, and the query has read up to {input.start.instant}: "
            "the table was restored or made anew, and a batch goes back to there"
        )
        step = "start with a new checkpoint, and see to it that no row is read again"
        yield _open(Finding(_BEHIND, "warning", input.path, why, next_step=step))


def _open(told: Finding) -> Trouble:
    return Trouble("batch", Doubt(told.message), told)


_law = partial(Law, needs="inputs", severities=("warning",))
LAWS = (
    _law(_GONE, "the Hudi table that the query reads is gone"),
    _law(_ARCHIVED, "the instant that a Hudi source goes on from was archived"),
    _law(_BEHIND, "the timeline of a Hudi table ends before the offsets do"),
)
