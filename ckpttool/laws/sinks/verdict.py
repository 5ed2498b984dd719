"""What each sink does with the next batch, as far as its own record decides it: one value, from the laws. Pure.

A sink with a record skips every batch whose number is not above the last recorded one, whatever the batch holds. So
skipping is right only for a batch that was planned before the sink had it, and whose rows are still there; and
writing is right only where those rows are not there yet. Where the record does not tell, the answer is "unknown".
"""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.laws.base import Law, answering
from ckpttool.laws.restart import GOES_ON, Restart
from ckpttool.laws.sinks import file_log, history, record, skipped, skipping, writing
from ckpttool.laws.sinks.base import SinkLaw, said
from ckpttool.laws.sinks.horizon import horizon, interval_set, nothing_there
from ckpttool.releases import NEWEST, Release
from ckpttool.scene.compaction import DEFAULT_COMPACT_INTERVAL
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView

# What a restart comes to at its sinks, in the order of time.
STOPPING = (*record.UNREAD, *file_log.LAWS, *skipped.LAWS)
LAWS: tuple[Law, ...] = (
    *record.UNREAD,
    *skipping.LAWS,
    *writing.LAWS,
    *file_log.LAWS,
    *record.LAWS,
    *history.LAWS,
    *skipped.LAWS,
)
KEEP_NOTHING = {
    "noop": "a noop sink writes nothing",
    "memory": "the memory sink's table is new in every process",
}


def first_at_sinks(scene: Scene) -> tuple[Law, Failure | Doubt] | None:
    """What a sink does to the batch, or to its commit."""
    answers = ((law, law.check(scene)) for law in answering(STOPPING, scene.unasked) if law.check)
    return next(((law, answer) for law, answer in answers if answer), None)


def judge_sinks(scene: Scene, restart: Restart) -> tuple[SinkVerdict, ...]:
    """A restart that fails before its batch asks nothing of the sinks; one that fails after it does so every time."""
    fails_after = restart.error is not None and restart.error.sink_written_first
    stopped = restart.outcome not in GOES_ON and not fails_after
    why = "the restart fails before the sink gets a batch" if restart.outcome == "error" else "see above"
    interval = interval_set(scene)
    verdicts = []
    for view in scene.sink_views:
        if stopped:
            verdict = replace(said(view, "unknown", why), horizon=horizon(view, scene.release, interval))
        else:
            verdict = judge_sink(view, scene.release, interval, scene.unasked)
        verdicts.append(_again_and_again(view, verdict) if fails_after else verdict)
    return tuple(verdicts)


def _again_and_again(view: SinkView, verdict: SinkVerdict) -> SinkVerdict:
    if view.keeps_a_record or view.keeps_nothing or view.sink.error:
        return verdict
    why = "the sink gets the batch at every restart, and then the restart fails"
    return replace(verdict, verdict="duplicated", why=why)


def judge_sink(
    view: SinkView,
    release: Release = NEWEST,
    interval: int = DEFAULT_COMPACT_INTERVAL,
    unasked: frozenset[str] = frozenset(),
) -> SinkVerdict:
    verdict = _settled(view) or _decided(view, unasked)
    if view.sink.error:
        return verdict
    seen = horizon(view, release, interval)
    looks = [law.of_others for law in answering(LAWS, unasked) if isinstance(law, SinkLaw) and law.of_others]
    # Several laws may share one.
    others = (finding for look in dict.fromkeys(looks) for finding in look(view, verdict, seen))
    return replace(verdict, findings=(*view.sink.faults, *verdict.findings, *others), horizon=seen)


def _settled(view: SinkView) -> SinkVerdict | None:
    """What no law has a part in."""
    sink, write = view.sink, view.own_write
    if sink.error:
        return None
    if not sink.exists:
        return said(view, "written", f"{nothing_there(view)} yet")
    if view.keeps_nothing:
        return said(view, "written", KEEP_NOTHING[sink.kind])
    if sink.incomplete:
        return said(view, "unknown", sink.incomplete)
    if not view.logs.reads_nothing:
        return None
    has_it = view.skips(view.logs.batch_id) and view.has(view.logs.batch_id) in ("rows", "perhaps-rows")
    if has_it and write and not write.empty:
        return said(view, "skipped_already_written", f"{write.place} holds it")
    return said(view, "written", "the batch reads nothing")


def _decided(view: SinkView, unasked: frozenset[str]) -> SinkVerdict:
    skips = view.skips(view.logs.batch_id)
    laws = (*record.UNREAD, *(skipping.LAWS if skips else writing.LAWS))
    if left_out := sorted({law.id for law in laws if law.decides} & unasked):
        return said(view, "unknown", f"{left_out[0]} could not be asked")
    spoken = (law.decides(view) for law in laws if law.decides)
    return next(filter(None, spoken), None) or (skipping.skipped if skips else writing.written)(view)
