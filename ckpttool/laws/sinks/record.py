"""A sink's record as such: could it be read, and does it have what the checkpoint says is done? Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.laws.base import Law
from ckpttool.laws.sinks.base import SinkLaw, said
from ckpttool.model import Finding, Severity
from ckpttool.scene.scene import Doubt, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView

_REFILL = "is this the query's sink? if it is, read the missing batches again by other means"


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


def _behind(view: SinkView, _: SinkVerdict) -> Iterator[Finding]:
    """Committed batches that the sink does not have: the checkpoint will not go back for them."""
    sink, committed = view.sink, view.logs.committed
    if committed is None or sink.kind not in ("delta", "file", "iceberg", "unknown"):
        return
    recorded = sink.entry(sink.key)
    if recorded is not None and recorded.native is not False and recorded.batch_id < committed:
        message = f"batch {committed} is committed, and the sink's record ends at batch {recorded.batch_id}"
        yield Finding("sink-behind-checkpoint", "error", sink.path, message, next_step=_REFILL)
    elif recorded is None and not any(entry.native for entry in sink.ledger):
        message = f"batch {committed} is committed, and the sink has no record of this query"
        severity: Severity = "error" if sink.kind == "file" else "warning"
        yield Finding("sink-behind-checkpoint", severity, sink.path, message, next_step=_REFILL)


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
    Law("sink-log-unreadable", "something in the sink's log could not be read", severities=("warning",), needs="sinks"),
    SinkLaw(
        "sink-behind-checkpoint",
        "committed batches are not in the sink",
        severities=("error", "warning"),
        of_others=_behind,
    ),
)
