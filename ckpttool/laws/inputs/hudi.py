"""The laws of a Hudi source, which reads the instants of a timeline behind the one of its offset. Pure.

Spark asks it for the range of the newest batch at every start, and for what comes behind that in a new one; it has no
`failOnDataLoss`. Read in HoodieStreamSourceV1 and V2, IncrementalRelationV1 and V2 of Hudi 1; what is told as a failure
was seen with Hudi 1.0.2. Of tables up to version 6 it stays open what comes of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ckpttool.formats.hudi import LAYOUT_2
from ckpttool.laws.base import FILE_NOT_FOUND, Law, reads
from ckpttool.laws.state_errors import NO_SUCH_ELEMENT
from ckpttool.model import Finding, SparkError
from ckpttool.scene.hudi import HudiInput
from ckpttool.scene.scene import Doubt, Failure, Phase, Scene, Trouble

_GONE, _ARCHIVED, _BEHIND = "hudi-source-table-gone", "hudi-instant-archived", "hudi-timeline-behind"
_READ_BY_HAND = "look between the two: `commits showarchived` of hudi-cli. Rows of then are read by a batch query"
_ANEW = "start with a new checkpoint, and see to it that no row is read again"


def met(input: HudiInput, scene: Scene) -> Iterator[Trouble]:
    timeline = input.timeline
    if not input.exists:
        why = "there is no Hudi table here"
        step = "restore the table. If it lies elsewhere, say where: --option path=…"
        yield _open(Finding(_GONE, "warning", input.path, why, next_step=step))
    elif timeline.version is not None and timeline.version >= LAYOUT_2:
        yield from _asked_again(input, scene)
    else:
        yield from _archived(input, scene)
    if timeline.last is not None and input.until.instant > timeline.last and not scene.is_replay:
        why = (
            f"the newest instant of the table is {timeline.last}, and the query has read up to {input.until.instant}: "
            "the table was restored or recreated, and a batch goes back to there"
        )
        yield _open(Finding(_BEHIND, "warning", input.path, why, next_step=_ANEW))


def _asked_again(input: HudiInput, scene: Scene) -> Iterator[Trouble]:
    """The source finds archived instants, too, and opens them where only those that are not archived lie."""
    timeline, since, until = input.timeline, input.since, input.until.instant
    begins = "" if since is None else since.instant
    if since is not None and begins == until:
        return
    phase: Phase = "batch" if scene.is_replay else "init"
    asked = f"Spark asks for the instants {f'behind {begins}' if since else 'from the first'} to {until}"
    left = [one for one in timeline.instants if begins < one <= until]
    if timeline.archived and (since is None or not left):
        why = f"{asked}, and {'some' if left else 'all'} of them were archived"
        yield _stop(input, scene, phase, _ARCHIVED, FILE_NOT_FOUND, "does not exist", why)
    elif timeline.archived_to is not None and begins < timeline.archived_to:
        why = f"{asked}, and the archive reaches to {timeline.archived_to}: whether one of them is in it is not known"
        yield _open(Finding(_ARCHIVED, "warning", input.path, why, next_step=_READ_BY_HAND))
    elif not left and timeline.instants:
        why = f"{asked}, and the table has none of them: it was restored or recreated"
        yield _stop(input, scene, phase, _BEHIND, NO_SUCH_ELEMENT, "No value present in Option", why)


def _archived(input: HudiInput, scene: Scene) -> Iterator[Trouble]:
    start, timeline = input.since if scene.is_replay else input.until, input.timeline
    if start is None or timeline.first is None or start.instant >= timeline.first or not timeline.archived:
        return
    why = (
        f"the next batch reads behind {start.instant}, and the timeline begins with {timeline.first}: "
        "what was archived between is passed over"
    )
    yield _open(Finding(_ARCHIVED, "warning", input.path, why, next_step=_READ_BY_HAND))


def _stop(
    input: HudiInput, scene: Scene, phase: Phase, told_as: str, class_name: str, message: str, why: str
) -> Trouble:
    batch = scene.next_id if phase == "batch" else None
    failure = Failure(phase, class_name, None, message, why, batch)
    told = Finding(told_as, "error", input.path, why, next_step=_ANEW, spark=SparkError(class_name))
    return Trouble(phase, failure, told)


def _open(told: Finding) -> Trouble:
    return Trouble("batch", Doubt(told.message), told)


_law = partial(Law, needs="inputs", applies=reads("hudi"))
LAWS = (
    _law(_GONE, "the Hudi table that the query reads is gone", severities=("warning",)),
    _law(
        _ARCHIVED,
        "an instant that a Hudi source is asked for was archived",
        severities=("error", "warning"),
        errors=("FileNotFoundException…/.hoodie/",),
    ),
    _law(
        _BEHIND,
        "the timeline of a Hudi table ends before the offsets do",
        severities=("error", "warning"),
        errors=("No value present in Option",),
        often=1,
    ),
)
