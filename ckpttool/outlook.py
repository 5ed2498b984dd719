"""`look_ahead`: what a restart under one release of Spark does, and what that does to the sinks, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.errors import Refused
from ckpttool.frozen import frozen, replace
from ckpttool.laws.checks import check_checkpoint, worst_first
from ckpttool.laws.checks.logs import FIRST_PLACE_TAKEN
from ckpttool.laws.checks.sources import EMPTY_ENTRY
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.laws.restart import GOES_ON, Choice, Restart, possible_releases, predict_restart, stopped, untold_failure
from ckpttool.laws.sinks.failures import skips, what_stops
from ckpttool.laws.sinks.findings import KEEPS_NOTHING
from ckpttool.laws.sinks.judge import judge_sink
from ckpttool.laws.sinks.skipped import fails_once, never_committed
from ckpttool.laws.state_verdict import TABLES_UNREAD, check_state_files
from ckpttool.model import Checkpoint, Finding
from ckpttool.plan.states import by_version, obstacle
from ckpttool.releases import Release, spell_release
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.inputs import DeltaInput, InputEvidence
from ckpttool.scene.scene import PHASES, Conditions, Doubt, Failure, Scene
from ckpttool.scene.sinks import RestartFacts, SinkEvidence, SinkVerdict
from ckpttool.scene.state_chain import StateFiles
from ckpttool.words import listed

if TYPE_CHECKING:
    from ckpttool.kafka.base import Reason, SourceView
    from ckpttool.kafka.diff import KafkaEvidence
    from ckpttool.laws.kafka import KafkaVerdict

HAVE_A_RECORD = ("delta", "file", "iceberg")
STATE_NOT_READ = "state bodies not read"
KAFKA_NOT_ASKED = "Kafka still has what the query reads next"
UNREACHABLE = ("sink-unreachable", "source-unreachable")
# Faults of a Kafka client for which asking again is of no use.
REFUSALS: tuple[Reason, ...] = ("missing_extra", "unsupported")


@frozen
class Outlook:
    """What is shown of a restart. `chosen`: why this release; `possible`: those that may have written the files.

    `unreachable`: something that was asked for; `refused`: a sink or a table that we cannot read, a missing extra;
    `misused`: settings of the Kafka client that cannot be. `kafka`: the Kafka sources beside their brokers.
    `loses_rows`, `rows_unknown`: what they come to."""

    evidence: Evidence
    conditions: Conditions
    chosen: Choice
    possible: tuple[Release, ...]
    restart: Restart
    sinks: tuple[SinkVerdict, ...]
    findings: tuple[Finding, ...]
    unreachable: bool = False
    refused: bool = False
    misused: bool = False
    kafka: tuple[SourceView, ...] = ()
    loses_rows: bool = False
    rows_unknown: bool = False

    @property
    def checkpoint(self) -> Checkpoint:
        return self.evidence.checkpoint

    @property
    def exit_code(self) -> int:
        """2: what was given cannot be; 6: what we cannot read was asked for; 1: an error is predicted, or loss, or a
        duplicate; 5: something was out of reach; 3: no verdict."""
        if self.misused or self.refused:
            return 2 if self.misused else 6
        verdicts = {sink.verdict for sink in self.sinks}
        wrong = any(finding.severity == "error" for finding in self.findings) or self.restart.outcome == "error"
        if wrong or self.loses_rows or verdicts & {"skipped_rows_lost", "duplicated"}:
            return 1
        if self.unreachable:
            return 5
        return 3 if self.restart.outcome == "unknown" or "unknown" in verdicts or self.rows_unknown else 0


@frozen
class Seen:
    """What was looked at besides the logs. `states`: that of the next batch first, then those one could go back to."""

    sinks: Sequence[SinkEvidence] = ()
    states: Sequence[StateFiles] = ()
    inputs: Sequence[InputEvidence] = ()
    kafka: KafkaEvidence | None = None


NOTHING_SEEN = Seen()


def look_ahead(
    evidence: Evidence, conditions: Conditions, chosen: Choice = "given", *, seen: Seen = NOTHING_SEEN, now_ms: int
) -> Outlook:
    restart = predict(evidence, conditions, seen)
    in_kafka = _look_at_kafka(Scene(evidence, conditions), seen)
    views = in_kafka.views if in_kafka else ()
    verdicts = tuple(_judge(sink, evidence, restart, now_ms) for sink in seen.sinks)
    findings = (
        *_in_view_of(restart, verdicts, check_checkpoint(evidence, now_ms)),
        *_another_place(evidence),
        *(finding for files in seen.states[:1] for finding in check_state_files(files)),
        *_about_a_skipped_batch(seen, Scene(evidence, conditions), restart),
        *judge_inputs(seen.inputs, Scene(evidence, conditions))[1],
        *(in_kafka.findings if in_kafka else ()),
        *(finding for verdict in verdicts for finding in verdict.findings),
        *(_other_releases(evidence, conditions, seen, restart) if chosen != "given" else ()),
    )
    ordered = worst_first([*untold_failure(restart, findings), *findings])
    possible = tuple(possible_releases(evidence)) if evidence.written_by.min or evidence.written_by.max else ()
    unreachable = evidence.checkpoint.unreachable or any(finding.id in UNREACHABLE for finding in ordered)
    return Outlook(
        evidence,
        conditions,
        chosen,
        possible,
        restart,
        verdicts,
        ordered,
        unreachable=unreachable or any(files.unreachable for files in seen.states[:1]),
        refused=any(isinstance(one.error, Refused) for one in _asked_for(seen)) or _has_fault(views, *REFUSALS),
        misused=_has_fault(views, "configuration"),
        kafka=views,
        loses_rows=any(view.total_lost for view in views),
        rows_unknown=in_kafka is not None and in_kafka.verdict == "unknown",
    )


def _has_fault(views: Sequence[SourceView], *reasons: Reason) -> bool:
    return any(fault.reason in reasons for view in views for fault in view.faults)


def _in_view_of(restart: Restart, verdicts: Sequence[SinkVerdict], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Files that look new again double their rows in a sink that has the batch which read them. And what stops later
    releases only is no error under one that goes on."""
    held = [sink.path or sink.kind for sink in verdicts if sink.verdict == "skipped_already_written"]
    for finding in findings:
        if finding.id == EMPTY_ENTRY and finding.severity == "warning" and held:
            message = f"{finding.message}; {listed(held)} has their rows already, and gets them twice"
            finding = replace(finding, severity="error", message=message)
        elif finding.id == FIRST_PLACE_TAKEN and restart.outcome in GOES_ON:
            finding = replace(finding, severity="warning")
        yield finding


def _about_a_skipped_batch(seen: Seen, scene: Scene, restart: Restart) -> Iterator[Finding]:
    if restart.outcome in GOES_ON and restart.batch_id is not None:
        finding = fails_once(seen.sinks, scene, restart.batch_id)
        yield from [finding] if finding else []


def _asked_for(seen: Seen) -> Iterator[SinkEvidence | DeltaInput]:
    """What the user named: sinks, and the table of a Delta source."""
    yield from seen.sinks
    yield from (one for one in seen.inputs if isinstance(one, DeltaInput))


def _another_place(evidence: Evidence) -> Iterator[Finding]:
    """Spark begins a query wherever it is told to; where something else lies, that is hardly meant."""
    checkpoint = evidence.checkpoint
    names = [name for name in checkpoint.root_names if not name.startswith(".")]
    if names and not set(names) & {"metadata", "offsets", "commits", "sources", "state"}:
        yield Finding(
            id="not-a-checkpoint",
            severity="warning",
            path=".",
            message=f"nothing here is a query's, but {listed(names)}: Spark would begin a new query among that",
            next_step="give the directory that the query has as checkpointLocation",
        )


def predict(evidence: Evidence, conditions: Conditions, seen: Seen = NOTHING_SEEN) -> Restart:
    """The restart as the logs, the state's files, the sinks' own logs and the inputs let it be."""
    scene = Scene(evidence, conditions)
    state = _state_obstacle(seen, scene)
    if not _asks_for_rows(seen, scene):
        state = None  # no task opens the state
    restart = predict_restart(evidence, conditions, state, kafka_asked=seen.kafka is not None)
    restart = replace(restart, assumes=(*restart.assumes, *_more_assumed(scene, seen)))
    source = _at_the_sources(seen, scene)
    if isinstance(source, Failure) and restart.error and _comes_before(source, restart.error):
        return stopped(restart, source)
    skipped = never_committed(seen.sinks, scene, restart.batch_id) if restart.batch_id is not None else None
    if skipped and restart.error and restart.error.sink_written_first:
        return stopped(restart, skipped)  # what stops it otherwise comes when the batch is committed
    if restart.outcome not in GOES_ON or restart.batch_id is None:
        return restart
    sinks = (what_stops(sink, restart.batch_id, conditions.release) for sink in seen.sinks)
    return next((stopped(restart, spoken) for spoken in (source, *sinks, skipped) if spoken), restart)


def _asks_for_rows(seen: Seen, scene: Scene) -> bool:
    """A sink that has the batch already does not ask, so no task of the batch runs."""
    return not seen.sinks or not all(skips(sink, scene.next_id) for sink in seen.sinks)


def _at_the_sources(seen: Seen, scene: Scene) -> Failure | Doubt | None:
    """What is certain comes before what is not; then what comes first."""
    spoken = [judge_inputs(seen.inputs, scene)[0]]
    if judged := _look_at_kafka(scene, seen):
        spoken.append(judged.obstacle)
    failures = [one for one in spoken if isinstance(one, Failure)]
    if failures:
        return min(failures, key=lambda failure: PHASES.index(failure.phase))
    return next((one for one in spoken if one), None)


def _look_at_kafka(scene: Scene, seen: Seen) -> KafkaVerdict | None:
    if seen.kafka is None:
        return None
    from ckpttool.laws.kafka import judge_kafka

    return judge_kafka(seen.kafka, scene, reads=_asks_for_rows(seen, scene))


def _state_obstacle(seen: Seen, scene: Scene) -> Failure | Doubt | None:
    return obstacle(by_version(seen.states), scene.next_id, scene.conditions)


def _more_assumed(scene: Scene, seen: Seen) -> Iterator[str]:
    conditions = scene.conditions
    if conditions.conf:
        yield "the rest of the session's configuration as it was, or Spark's defaults"
    rest = "other options" if conditions.options else "options"
    yield f"the sources' {rest} as they were, or Spark's defaults"
    yield from _not_looked_at(scene.checkpoint)
    if any(files.mode == "quick" for files in seen.states):
        yield STATE_NOT_READ
    if any(files.has_unread_tables for files in seen.states[:1]):
        yield TABLES_UNREAD
    if _reads_kafka(scene.evidence) and seen.kafka is None:
        yield KAFKA_NOT_ASKED
    elif seen.kafka is not None:
        from ckpttool.kafka.diff import views_of

        yield from dict.fromkeys(said for view in views_of(scene, seen.kafka) for said in view.assumes)


def _not_looked_at(checkpoint: Checkpoint) -> Iterator[str]:
    """What few requests leave open: names of a log too long to list, and entries of sources' logs."""
    for directory, names in (("offsets", checkpoint.offset_names), ("commits", checkpoint.commit_names)):
        if names.unlisted_below is not None:
            yield f"no log file above id {names.last} in {directory}/ (probed; --listing full proves it)"
    for log in checkpoint.source_logs:
        if log.unread:
            yield f"{log.unread} older {'entries' if log.unread > 1 else 'entry'} of sources/{log.name} sound"


def _reads_kafka(evidence: Evidence) -> bool:
    newest = evidence.newest
    return newest is not None and any(source.offset and source.offset.kind == KAFKA for source in newest.sources)


def _comes_before(source: Failure, other: Failure) -> bool:
    """A source is loaded before `start()`, asked for the last range at the end of `init`, and for what is new before
    a batch is logged."""
    if source.phase == other.phase == "init":
        return False
    return PHASES.index(source.phase) <= PHASES.index(other.phase)


def _judge(sink: SinkEvidence, evidence: Evidence, restart: Restart, now_ms: int) -> SinkVerdict:
    """A restart that fails before its batch asks nothing of the sink; one that fails after it does so every time."""
    if restart.error and restart.error.sink_written_first and restart.batch_id is not None:
        verdict = judge_sink(sink, _facts(evidence, restart, now_ms))
        if sink.kind in (*HAVE_A_RECORD, *KEEPS_NOTHING) or sink.error:
            return verdict
        why = "the sink gets the batch at every restart, and then the restart fails"
        return replace(verdict, verdict="duplicated", why=why)
    if restart.outcome not in GOES_ON:
        reason = "the restart fails before the sink gets a batch" if restart.outcome == "error" else "see above"
        return SinkVerdict(sink.kind, sink.path, "unknown", reason)
    return judge_sink(sink, _facts(evidence, restart, now_ms))


def _facts(evidence: Evidence, restart: Restart, now_ms: int) -> RestartFacts:
    newest = evidence.newest
    steps = [source.step for source in restart.sources]
    counted = [step.amount for step in steps if step and step.unit == "rows" and step.amount is not None]
    outcome = restart.outcome
    if outcome == "error":
        outcome = "replay" if restart.batch_id == evidence.checkpoint.last_offset_batch else "new_batch"
    replayed = outcome == "replay"
    assert outcome in ("replay", "new_batch", "fresh_start")
    assert restart.batch_id is not None
    return RestartFacts(
        outcome=outcome,
        batch_id=restart.batch_id,
        now_ms=now_ms,
        committed=evidence.checkpoint.last_commit_batch,
        planned=evidence.checkpoint.last_offset_batch,
        planned_ms=newest.planned_ms if newest and replayed else None,
        query_id=evidence.checkpoint.metadata.id if evidence.checkpoint.metadata else None,
        rows=sum(counted) if replayed and steps and len(counted) == len(steps) else None,
        empty=all(step is not None and step.amount == 0 for step in steps) if replayed and steps else None,
    )


def _other_releases(evidence: Evidence, conditions: Conditions, seen: Seen, restart: Restart) -> Iterator[Finding]:
    """Other releases that may have written the files and would do something else."""
    others = []
    for release in possible_releases(evidence):
        other = predict(evidence, replace(conditions, release=release), seen)
        if (other.outcome, other.batch_id) != (restart.outcome, restart.batch_id):
            others.append(f"{spell_release(release)}: {_in_words(other)}")
    if others:
        yield Finding(
            id="outcome-depends-on-version",
            severity="warning",
            path="offsets",
            message="another release that may have written this would do something else: " + "; ".join(others),
            next_step="name the release that will start the query: --spark-version X.Y.Z",
        )


def _in_words(restart: Restart) -> str:
    if restart.outcome == "error":
        return "it fails before any batch" if restart.batch_id is None else f"it fails in batch {restart.batch_id}"
    batch = "" if restart.batch_id is None else f", batch {restart.batch_id}"
    return f"{restart.outcome.replace('_', ' ')}{batch}"
