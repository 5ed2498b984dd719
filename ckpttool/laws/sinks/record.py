"""A sink's record as such: could it be read, and does it have what the checkpoint says is done? Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.laws.sinks.base import REFILL, SinkLaw, said
from ckpttool.laws.sinks.horizon import spell_missing, spell_unreadable
from ckpttool.model import Finding
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.scene import Doubt, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView

_IS_IT_THE_SINK = f"is this the query's sink? if it is, {REFILL}"


def _unreachable(view: SinkView) -> SinkVerdict | None:
    return _unread(view, "sink-unreachable") if isinstance(view.sink.error, Unavailable) else None


def _unreadable(view: SinkView) -> SinkVerdict | None:
    return _unread(view, "sink-unreadable") if view.sink.error else None


def _unread(view: SinkView, finding: str) -> SinkVerdict:
    assert view.sink.error
    why = f"the sink could not be read: {view.sink.error.message}"
    return said(view, "unknown", why, finding, view.sink.error.next_step)


def _damaged(scene: Scene) -> Doubt | None:
    for sink in scene.sinks:
        if isinstance(sink.error, MalformedFile):
            return Doubt(f"the log of the sink {sink.path} is damaged: {sink.error.message}")
    return None


def _behind(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    """Committed batches that the sink never got: the checkpoint will not go back for them."""
    for missing in (one for one in seen.missing if not view.has_written(one.batches[0])):
        also = f"; if a file sink writes here, {_of_files(seen)}" if seen.if_files and seen.failure else ""
        message = f"{spell_missing(missing)}{also}"
        yield Finding("sink-behind-checkpoint", "error", view.sink.path, message, next_step=_IS_IT_THE_SINK)


def _gap(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    if view.sink.gap is not None and seen.failure:
        message = f"{seen.failure.why}: no Delta puts the table together, neither for the query nor for readers"
        path = f"{view.sink.path}/{seen.failure.path}"
        yield Finding("sink-log-unreadable", "error", path, message, next_step="restore it from a backup")


def _of_files(seen: Horizon) -> str:
    told = [spell_unreadable(seen.unreadable)] if seen.unreadable else []
    told += [f"batch {seen.failure.batch_id} fails: {seen.failure.why}"] if seen.failure else []
    return ", and ".join(told)


UNREAD = (
    SinkLaw("sink-unreachable", "the sink could not be reached", severities=("warning",), decides=_unreachable),
    SinkLaw(
        "sink-unreadable",
        "the sink's own record could not be read",
        check=_damaged,
        severities=("warning",),
        decides=_unreadable,
    ),
)
LAWS = (
    # What is found while the log is read comes with it, as the faults of a checkpoint do.
    SinkLaw(
        "sink-log-unreadable",
        "something in the sink's log could not be read",
        severities=("error", "warning"),
        of_others=_gap,
    ),
    SinkLaw(
        "sink-behind-checkpoint",
        "committed batches are not in the sink",
        of_others=_behind,
    ),
)
