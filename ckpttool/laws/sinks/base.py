"""What a law of sinks is, and how it speaks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ckpttool.laws.base import Law
from ckpttool.model import Finding, Severity
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.scene import Part
from ckpttool.scene.sinks import HARMFUL, SinkVerdict, SinkView, Verdict

REFILL = "go back with checkpoint and sink together, so that they are written again (`ckpt plan-recovery`)"
LOWER = (
    "do not restart yet: take the rows out of the sink and set its last batch back (ckpt plan sink-ledger), or give the"
    " batches higher numbers (ckpt plan renumber)"
)


class SinkLaw(Law, frozen=True):
    """`decides`: what becomes of the next batch in a sink, where it is this law that counts; the first that speaks
    decides. `of_others`: what it tells of earlier batches and of later ones, beside that verdict, by the horizon."""

    needs: Part = "sinks"
    decides: Callable[[SinkView], SinkVerdict | None] | None = None
    of_others: Callable[[SinkView, SinkVerdict, Horizon], Iterator[Finding]] | None = None


def said(
    view: SinkView, verdict: Verdict, why: str, law: str | None = None, next_step: str | None = None
) -> SinkVerdict:
    """`law`: the id under which it is told, where somebody has to act on it."""
    told: list[Finding] = []
    if law is not None:
        severity: Severity = "error" if verdict in HARMFUL else "warning"
        follows = verdict == "skipped_rows_lost" and view.skips(view.logs.batch_id + 1)
        message = f"{why}. The same goes for every batch up to {view.recorded}" if follows else why
        told.append(Finding(law, severity, view.sink.path, message, next_step=next_step))
    return SinkVerdict(view.sink.kind, view.sink.path, verdict, why, tuple(told))
