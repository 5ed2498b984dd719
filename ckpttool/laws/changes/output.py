"""What the query writes and where, how it is run, and the rest of its plan. The checkpoint holds nothing of that but
whether it was run continuously."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckpttool.laws.changes.base import Altered, Answer, Assumption, ChangeLaw, Deploy, RowsMeant, Spot
from ckpttool.laws.changes.meeting import config_refused, operator_of
from ckpttool.laws.changes.operators import keeps_windows
from ckpttool.laws.changes.schemas import fits, unlike
from ckpttool.query.model import QuerySink
from ckpttool.releases import since
from ckpttool.scene.scene import Failure

_OPEN = "windows that are open, and get no more rows, are never written"
_TWICE = "windows that were written before are written once more when they are closed"
_EVICTED = "what was removed from the state is missing in what is called complete"
_ELSEWHERE = "what was written before stays where it is: the rows are in two places"
_NEW_ROWS = "new rows only. What was written stays"
# Sinks that have a schema of their own, which decides.
_TABLES = ("delta", "iceberg", "hudi", "paimon", "jdbc")
_IDENTITIES = ("txnappid", "hoodie.datasource.write.streaming.checkpoint.identifier")
_CONTINUOUS = ("kafka", "rate", "socket", "rate-continuous", "socket-continuous")


# -- what is written ---------------------------------------------------------------------------------------------------


def look_at_mode(deploy: Deploy) -> Iterator[Altered | Assumption]:
    new = deploy.new.output_mode
    if new is None or deploy.new.spark_says:
        yield from _refused_by_mode(deploy)
        return
    if kept := _kept_mode(deploy, new):
        yield kept
        return
    kept_in = [one.id for one in deploy.new.operators if keeps_windows(one)]
    windows = bool(kept_in)
    if not deploy.compares("output_mode") or deploy.was is None:
        if windows:
            yield Assumption(f"the output mode was {new} before")
        return
    old = deploy.was.output_mode
    if old != new:
        answer, why = _mode_answer(old, new, windows, is_evicted=_is_evicted(deploy))
        if why in (_OPEN, _TWICE) and all(map(deploy.is_emptied, kept_in)):
            answer, why = "harmless", "no window is open"
        if why == _OPEN:
            why = _open_windows(deploy)
        rows = RowsMeant(why) if answer == "rows_differ" else None
        yield Altered("output-mode-changed", Spot(), old, new, "was", answer, why, rows=rows)


def _kept_mode(deploy: Deploy, new: str) -> Altered | None:
    """transformWithState alone keeps its output mode with its state."""
    for operator in deploy.scene.checkpoint.operators if deploy.scene and not deploy.begins_anew else ():
        kept = operator.metadata.properties.get("outputMode") if operator.metadata else None
        if isinstance(kept, str) and operator_of(deploy, operator.id) and kept.lower() != new:
            failure = config_refused(deploy, operator.id, "outputMode", kept.lower(), new)
            spot = Spot(operator=operator.id)
            return Altered(
                "output-mode-changed", spot, kept.lower(), new, "checkpoint", "refused", failure.why, failure
            )
    return None


def _refused_by_mode(deploy: Deploy) -> Iterator[Altered]:
    said, was = deploy.new.spark_says, deploy.was
    if said and was and was.output_mode != deploy.new.output_mode:
        failure = refusal_of_start(deploy)
        before, after = was.output_mode, deploy.new.output_mode
        yield Altered("output-mode-changed", Spot(), before, after, "was", "refused", said.message, failure)


def refusal_of_start(deploy: Deploy) -> Failure | None:
    """What `start()` has against the query, whatever the checkpoint."""
    said = deploy.new.spark_says
    return (
        None
        if said is None
        else Failure("start", said.class_name, said.condition, said.message, f"start() refuses: {said.message}")
    )


def _open_windows(deploy: Deploy) -> str:
    counts = [one.rows for operator in deploy.new.operators if (one := deploy.windows_in(operator.id))]
    if not counts or None in counts:
        return _OPEN
    return f"of {sum(filter(None, counts))} rows of windows that are open each that gets no more rows is never written"


def _is_evicted(deploy: Deploy) -> bool:
    """Whether anything was ever removed from the state: without a watermark nothing is."""
    was = deploy.was
    return bool(deploy.new.watermarks) or was is None or bool(was.watermarks) or "watermarks" in was.not_told


def _mode_answer(old: str | None, new: str | None, windows: bool, *, is_evicted: bool) -> tuple[Answer, str]:
    if not windows:
        return "harmless", "without an aggregation these modes are the same"
    if new == "complete" and not is_evicted:
        return "harmless", "from here on all is written that is in the state, of which nothing was removed"
    if new == "complete":
        return "rows_differ", _EVICTED
    if old == "append":
        return "rows_differ", _OPEN
    if new == "append":
        return "rows_differ", _TWICE
    return "harmless", "from here on what changes is written, and not all"


def look_at_schema(deploy: Deploy) -> Iterator[Altered | Assumption]:
    was, new = deploy.was, deploy.new
    if was is None or not deploy.compares("output_schema"):
        return
    old, now = was.output_schema, new.output_schema
    found = [] if fits(old, now) and fits(now, old) else [one for one in unlike(old, now) if not one.fits]
    decides = new.sink is not None and new.sink.kind in _TABLES
    why = "the table decides whether it takes this schema" if decides else _NEW_ROWS
    for one in found:
        where = Spot(field=one.place)
        answer: Answer = "unknown" if decides else "harmless"
        yield Altered("output-schema-changed", where, one.before, one.after, "was", answer, why)


# -- where -------------------------------------------------------------------------------------------------------------


def look_at_sink(deploy: Deploy) -> Iterator[Altered | Assumption]:
    new = deploy.new.sink
    if new is None:
        return
    old = deploy.was.sink if deploy.was and deploy.compares("sink") else None
    if old is None:
        yield Assumption(f"it wrote to {spelled_sink(new)} before")
        return
    if old.kind != new.kind:
        rows = RowsMeant(_ELSEWHERE)
        before, after = spelled_sink(old), spelled_sink(new)
        yield Altered("sink-kind-changed", Spot(), before, after, "was", "rows_differ", _ELSEWHERE, rows=rows)
    elif old.place != new.place:
        rows = RowsMeant(_ELSEWHERE)
        yield Altered("sink-place-changed", Spot(), old.place, new.place, "was", "rows_differ", _ELSEWHERE, rows=rows)
    else:
        yield from _identity(deploy, old.options, new.options)
        yield from _function(old, new)


def _identity(deploy: Deploy, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Altered]:
    for name in _IDENTITIES:
        before, after = (_option(options, name) for options in (old, new))
        if before == after:
            continue
        why = "the sink does not know a batch that was written already by this name"
        replays = deploy.scene is None or deploy.scene.is_replay
        answer: Answer = "rows_differ" if replays else "harmless"
        rows = RowsMeant("a batch that runs again is written twice") if replays else None
        yield Altered("sink-identity-changed", Spot(field=name), before, after, "was", answer, why, rows=rows)


def _option(options: Mapping[str, str], name: str) -> str | None:
    return {key.lower(): value for key, value in options.items()}.get(name)


def _function(old: QuerySink, new: QuerySink) -> Iterator[Altered]:
    before, after = old.function, new.function
    if before and after and (before.name, before.sha256) != (after.name, after.sha256):
        told = [f"{one.name} {(one.sha256 or '')[:12]}".strip() for one in (before, after)]
        yield Altered("batch-function-changed", Spot(), told[0], told[1], "was", "harmless", _NEW_ROWS)


def spelled_sink(sink: QuerySink) -> str:
    function = f" {sink.function.name}" if sink.function else ""
    return f"{sink.kind}{function}{f' {sink.place}' if sink.place else ''}"


# -- how it is run -----------------------------------------------------------------------------------------------------


def look_at_trigger(deploy: Deploy) -> Iterator[Altered | Assumption]:
    new = deploy.new.trigger
    if new is None:
        return
    was_continuous = deploy.held.trigger is not None and deploy.held.trigger.kind == "continuous"
    if was_continuous != (new.kind == "continuous"):
        yield _other_mode(deploy, was_continuous)
        return
    old = deploy.was.trigger if deploy.was and deploy.compares("trigger") else None
    if old is not None and old != new:
        ignores = ", and once ignores rate limits" if new.kind == "once" else ""
        why = f"it counts from the next batch on{ignores}"
        yield Altered("trigger-changed", Spot(), old.kind, new.kind, "was", "harmless", why)


def _other_mode(deploy: Deploy, was_continuous: bool) -> Altered:
    before, after = ("continuous", "micro-batches") if was_continuous else ("micro-batches", "continuous")
    if not was_continuous and deploy.new.sink is not None and deploy.new.sink.kind == "foreachBatch":
        why = "foreachBatch takes batches, and no epochs of continuous processing"
        condition = "_LEGACY_ERROR_TEMP_1195" if deploy.release >= since.LEGACY_CONDITIONS else None
        message = "'foreachBatch' is not supported with continuous trigger."
        failure = Failure("start", "org.apache.spark.sql.AnalysisException", condition, message, why)
        return Altered("mode-changed", Spot(), before, after, "checkpoint", "refused", why, failure)
    unsupported = [source.kind for source in deploy.new.sources if source.kind not in _CONTINUOUS]
    if not was_continuous and (unsupported or deploy.new.operators):
        what = unsupported[0] if unsupported else "stateful operators"
        why = f"continuous processing does not support {what}"
        condition = "_LEGACY_ERROR_TEMP_3102" if deploy.release >= since.STATE_CONDITIONS else None
        class_name = "org.apache.spark.sql.catalyst.ExtendedAnalysisException"
        failure = Failure("start", class_name, condition, "Continuous processing does not support", why)
        return Altered("mode-changed", Spot(), before, after, "checkpoint", "refused", why, failure)
    why = "what becomes of the offsets of the other mode is told as the restart"
    return Altered("mode-changed", Spot(), before, after, "checkpoint", "harmless", why)


def look_at_plan(deploy: Deploy) -> Iterator[Altered | Assumption]:
    was, new = deploy.was, deploy.new
    if was is None or not deploy.compares("plan") or was.plan_sha256 is None or was.plan_sha256 == new.plan_sha256:
        return
    before, after = (sha and sha[:12] for sha in (was.plan_sha256, new.plan_sha256))
    yield Altered("plan-changed", Spot(), before, after, "was", "harmless", _NEW_ROWS)


def look_at_name(deploy: Deploy) -> Iterator[Altered | Assumption]:
    was, new = deploy.was, deploy.new
    if was is not None and deploy.compares("name") and was.name != new.name:
        why = "no file holds it"
        yield Altered("query-renamed", Spot(), was.name, new.name, "was", "harmless", why)


_AS_MEANT = "as the query means them, from the next batch on"
_GOES_ON = "It goes on."
LAWS = (
    ChangeLaw(
        "output-mode-changed",
        "another output mode",
        look_at_mode,
        "It goes on without a word, or refuses in `start()` what no query may have.",
        "of aggregations: windows are never written, or twice, or are missing",
        "real restarts: append, update and complete, of windows and without state",
        ("flush-first", "old-code-first"),
    ),
    ChangeLaw(
        "output-schema-changed",
        "other columns come out",
        look_at_schema,
        "It goes on. A table decides for itself.",
        _AS_MEANT,
        "real restarts: columns more and fewer",
    ),
    ChangeLaw(
        "sink-kind-changed",
        "another kind of sink",
        look_at_sink,
        "It goes on without a word. The memory sink refuses a checkpoint, unless its output is complete.",
        "what was written before stays where it was, and batch ids go on",
        "real restarts: functions, files, memory, noop",
        ("old-code-first", "new-query-beside"),
    ),
    ChangeLaw(
        "sink-place-changed",
        "the sink writes to another place",
        look_at_sink,
        "It goes on without a word.",
        "what was written before stays where it was. A directory whose log has these batches takes none of them",
        "real restarts: an empty directory, and another query's",
        ("old-code-first", "new-query-beside"),
    ),
    ChangeLaw(
        "sink-identity-changed",
        "the sink is to know the query by another name",
        look_at_sink,
        "It goes on without a word.",
        "a batch that runs again is written twice",
        "the sinks' own records: txnAppId, Hudi's identifier",
        ("old-code-first",),
    ),
    ChangeLaw(
        "batch-function-changed",
        "another function of `foreachBatch`",
        look_at_sink,
        _GOES_ON,
        _AS_MEANT,
        "real restarts: the same in other words",
    ),
    ChangeLaw("trigger-changed", "another trigger", look_at_trigger, _GOES_ON, _AS_MEANT, "real restarts"),
    ChangeLaw(
        "mode-changed",
        "continuous where it was batches, or the other way round",
        look_at_trigger,
        "Continuous processing refuses files and state in `start()`. Otherwise the restart tells of the offsets.",
        "as the restart says",
        "real restarts of continuous queries, and of a file source made continuous",
        ("old-code-first",),
    ),
    ChangeLaw(
        "plan-changed",
        "something else is another: a filter, an expression, a function",
        look_at_plan,
        _GOES_ON,
        _AS_MEANT,
        "real restarts: filters, projections, columns",
    ),
    ChangeLaw("query-renamed", "another name of the query", look_at_name, _GOES_ON, _AS_MEANT, "real restarts"),
)
