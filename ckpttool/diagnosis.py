"""The diagnosis of a scene: what a restart does, what is wrong, what each sink makes of it, and one exit code.

Every command shows a part of it, and none comes to a conclusion of its own. Pure: a plan diagnoses the scene that each
of its repairs would leave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.errors import Refused, exit_code
from ckpttool.laws.afterwards import Afterwards, afterwards
from ckpttool.laws.assumed import assumed
from ckpttool.laws.base import Law, Profile, finding_of
from ckpttool.laws.book import told_by_files
from ckpttool.laws.files import LAWS as OF_ANY_PLACE
from ckpttool.laws.given import Given, not_advised_again
from ckpttool.laws.given import answers as answer_given
from ckpttool.laws.known_bugs import with_causes
from ckpttool.laws.metadata import UNFINISHED
from ckpttool.laws.restart import (
    GOES_ON,
    Choice,
    Restart,
    SourceRange,
    choose_release,
    possible_releases,
    predict_restart,
    stopped,
)
from ckpttool.laws.state_load import count_loadable
from ckpttool.model import Checkpoint, Finding
from ckpttool.releases import Release, spell_release
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import PHASES, Doubt, Failure, NotLookedAt, Scene
from ckpttool.scene.sinks import SinkEvidence, SinkVerdict
from ckpttool.words import enumerated

if TYPE_CHECKING:
    from ckpttool.causes.base import ToldCause
    from ckpttool.kafka.base import Reason, SourceView
    from ckpttool.laws.changes.judge import QueryChanges
    from ckpttool.laws.kafka.judge import KafkaVerdict
    from ckpttool.scene.inputs import TableInput

UNREACHABLE = ("sink-unreachable", "source-unreachable")
# Faults of a Kafka client for which asking again is of no use.
REFUSALS: tuple[Reason, ...] = ("missing_extra", "unsupported")


_BEYOND = (NotLookedAt("fleet", "the checkpoints around"),)  # no scene holds more than one


class Answer(Struct, frozen=True):
    """What one law says of a scene. `why`: what it stops for, leaves open, or would have to look at. It does not apply
    where the query has nothing that it is about."""

    law: Law
    verdict: Literal["sound", "broken", "doubt", "not_looked_at", "not_applicable"]
    findings: tuple[Finding, ...] = ()
    why: str | None = None


class Diagnosis(Struct, frozen=True, dict=True):
    """`prediction`: under the scene's release; `chosen`: why that one, and of "any" what all agree on that may have
    written the files (`possible`). `kafka`: the Kafka sources beside their brokers. `of_health`: how far the laws were
    asked that no restart shows; None: they were not."""

    scene: Scene
    chosen: Choice
    possible: tuple[Release, ...]
    prediction: Restart
    sinks: tuple[SinkVerdict, ...]
    findings: tuple[Finding, ...]
    kafka: KafkaVerdict | None = None
    of_health: Profile | None = None

    @property
    def evidence(self) -> Evidence:
        return self.scene.evidence

    @property
    def checkpoint(self) -> Checkpoint:
        return self.scene.checkpoint

    @property
    def views(self) -> tuple[SourceView, ...]:
        return self.kafka.views if self.kafka else ()

    @cached_property
    def loadable(self) -> Mapping[int, tuple[int | None, int]]:
        """By operator: how many of its partitions the newest release that may have written them loads, and of how
        many. None: that is not known."""
        files = self.scene.needed_state
        if files is None:
            return {}
        counts = count_loadable(files, choose_release(self.evidence, None)[0])
        return {operator.id: (counts[operator.id], operator.partitions) for operator in files.operators}

    @property
    def afterwards(self) -> Afterwards | None:
        """What a start that fails leaves, and what the next one makes of it."""
        return afterwards(self.scene, self.prediction)

    @cached_property
    def changes(self) -> QueryChanges | None:
        """What is another in the query than in the checkpoint; None where no query is described."""
        from ckpttool.laws.changes.judge import deploy_of, judge_changes

        deploy = deploy_of(self.scene)
        return judge_changes(deploy) if deploy else None

    @cached_property
    def causes(self) -> tuple[ToldCause, ...]:
        """What happened, where findings come of one thing; the surest first."""
        from ckpttool.causes.book import causes_of

        return causes_of(self.scene, self.findings)

    @property
    def given(self) -> tuple[Given, ...]:
        """What becomes of each option and setting of the restart."""
        return answer_given(self.scene)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """Of every law in the book: also of those that hold, and of those that could not be asked."""
        from ckpttool.laws import health
        from ckpttool.laws.book import every

        unasked = {law.id for law in health.LAWS if self.of_health not in ("full", law.least)}
        unseen = {one.part: one for one in (*self.scene.not_looked_at, *_BEYOND)}
        if self.scene.query is None:
            unseen["query"] = NotLookedAt("query", "the query that is to be started")
        if self.scene.around is None:
            unseen["around"] = NotLookedAt("around", "what lies around its files")
        if not self.evidence.is_read_back:
            unseen["batches"] = NotLookedAt("batches", "batches older than those that a start opens")
        return tuple(self._answer_of(law, unseen.get(law.needs), unasked) for law in every())

    def _answer_of(self, law: Law, unseen: NotLookedAt | None, unasked: Collection[str]) -> Answer:
        found = tuple(finding for finding in self.findings if finding.id == law.id)
        speaks = self.prediction.law is not None and self.prediction.law.id == law.id
        if found or (speaks and self.prediction.error):
            return Answer(law, "broken", found, "; ".join(self.prediction.why) if speaks else None)
        if speaks or law.id in self.scene.unasked:
            return Answer(law, "doubt", (), "; ".join(self.prediction.why) if speaks else "it could not be asked")
        if not law.applies_to(self.scene) or (self.evidence.mode == "dstreams" and law not in OF_ANY_PLACE):
            return Answer(law, "not_applicable")
        if law.id in unasked:
            return Answer(law, "not_looked_at", (), "what no restart shows")
        if self.scene.around and law.id in self.scene.around.unseen:
            return Answer(law, "doubt", (), self.scene.around.unseen[law.id])
        return Answer(law, "not_looked_at", (), unseen.what) if unseen else Answer(law, "sound")

    @property
    def exit_code(self) -> int:
        """Wrong: an error is predicted, or loss, or a duplicate; unknown: there is no verdict."""
        return exit_code(
            misused=self._has_fault("configuration"),
            refused=self._has_fault(*REFUSALS) or any(isinstance(one.error, Refused) for one in self._asked_for()),
            wrong=self._is_wrong(),
            unreachable=self.is_unreachable,
            unknown=self._is_unknown(),
        )

    def _is_wrong(self) -> bool:
        harmful = any(sink.verdict in ("skipped_rows_lost", "duplicated") for sink in self.sinks)
        lost = any(view.total_lost for view in self.views)
        told = any(finding.severity == "error" for finding in self.findings)
        return told or lost or harmful or self.prediction.outcome == "error"

    @property
    def is_unreachable(self) -> bool:
        state = self.scene.needed_state
        asked_in_vain = any(finding.id in UNREACHABLE for finding in self.findings)
        return self.checkpoint.unreachable or asked_in_vain or bool(state and state.unreachable)

    def _is_unknown(self) -> bool:
        open_at_sources = self.kafka is not None and self.kafka.verdict == "unknown"
        open_at_sinks = any(sink.verdict == "unknown" for sink in self.sinks)
        # Whoever inspects a DStreams checkpoint did not ask for a prediction, which nobody can make.
        unasked = self.evidence.mode == "dstreams" and self.chosen == "any"
        no_answer = self.prediction.outcome == "unknown" and not unasked
        return no_answer or open_at_sinks or open_at_sources

    def _has_fault(self, *reasons: Reason) -> bool:
        return any(fault.reason in reasons for view in self.views for fault in view.faults)

    def _asked_for(self) -> Iterator[SinkEvidence | TableInput]:
        """What the user named: sinks, and the table of a source."""
        yield from self.scene.sinks
        if not self.scene.inputs:
            return
        from ckpttool.scene.inputs import tables_among

        yield from tables_among(self.scene.inputs)


def diagnose(scene: Scene, chosen: Choice = "given") -> Diagnosis:
    """`chosen`: how it came to the scene's release; "any": predict for all that may have written the files."""
    evidence = scene.evidence
    known = evidence.written_by.min or evidence.written_by.max
    possible = tuple(possible_releases(evidence)) if known or chosen == "any" else ()
    judged = _judge_sources(scene)
    prediction = _predict(scene, judged)
    others = {} if chosen == "given" else _under_others(scene, possible_releases(evidence))
    sinks = _judge_sinks(scene, prediction)
    if chosen == "any":
        prediction = _agreed(prediction, others)
    told_there = {(finding.id, finding.path) for finding in judged.findings}
    findings = [
        *_as_raised(prediction, [one for one in told_by_files(scene) if (one.id, one.path) not in told_there]),
        *_about_a_skipped_batch(scene, prediction),
        *judged.findings,
        *(finding for verdict in sinks for finding in verdict.findings),
        *(_other_outcomes(prediction, others) if chosen != "any" else ()),
    ]
    every = [*_untold_failure(prediction, findings), *findings]
    told = worst_first(with_causes(not_advised_again(finding, scene.start), scene) for finding in every)
    return Diagnosis(scene, chosen, possible, prediction, sinks, told, judged.kafka)


def with_health(diagnosis: Diagnosis, profile: Profile) -> Diagnosis:
    """With what no restart shows."""
    from ckpttool.laws.health import told_of_health

    scene = diagnosis.scene
    told = (with_causes(finding, scene) for finding in told_of_health(scene, profile))
    return replace(diagnosis, findings=worst_first((*diagnosis.findings, *told)), of_health=profile)


# -- what the restart does ---------------------------------------------------------------------------------------------


def predict(scene: Scene) -> Restart:
    """The restart as the logs, the state's files, the sinks' own logs and the inputs let it be."""
    return _predict(scene, _judge_sources(scene))


def _predict(scene: Scene, sources: _Sources) -> Restart:
    restart = predict_restart(scene)
    if scene.query is not None:
        from ckpttool.laws.changes.judge import as_changed

        restart = as_changed(scene, restart)
    restart = replace(restart, assumes=(*restart.assumes, *assumed(scene)))
    if restart.outcome == "replay" and scene.inputs:
        restart = replace(restart, sources=tuple(_counted(scene, restart)))
    source = sources.obstacle
    if isinstance(source, Failure) and restart.error and _comes_before(source, restart.error):
        return stopped(restart, source, sources.law)
    law, at_sinks = _at_the_sinks(scene, restart) or (None, None)
    if isinstance(at_sinks, Failure) and restart.error:
        return stopped(restart, at_sinks, law)  # what stops it otherwise comes when the batch is committed
    if restart.outcome not in GOES_ON or restart.batch_id is None:
        return restart
    if source:
        return stopped(restart, source, sources.law)
    return stopped(restart, at_sinks, law) if at_sinks else restart


def _counted(scene: Scene, restart: Restart) -> Iterator[SourceRange]:
    """With the rows of each range, where the input tells them."""
    from ckpttool.laws.inputs.judge import count_rows

    steps = count_rows(scene)
    for source in restart.sources:
        yield replace(source, step=steps.get(source.name or str(source.index), source.step))


def _at_the_sinks(scene: Scene, restart: Restart) -> tuple[Law, Failure | Doubt] | None:
    """What stops a batch that gets to its sinks, in one of them or in the commit that follows."""
    if not scene.sinks or restart.batch_id is None or (restart.error and not restart.error.sink_written_first):
        return None
    from ckpttool.laws.sinks.verdict import first_at_sinks

    return first_at_sinks(scene)


class _Sources(Struct, frozen=True):
    """What the query's inputs and brokers come to. `law`: whose obstacle it is, if it is one about Kafka."""

    obstacle: Failure | Doubt | None = None
    law: Law | None = None
    findings: tuple[Finding, ...] = ()
    kafka: KafkaVerdict | None = None


def _judge_sources(scene: Scene) -> _Sources:
    """What is certain comes before what is not; then what comes first."""
    obstacle, findings = _judge_inputs(scene)
    kafka = _judge_kafka(scene)
    spoken = [one for one in (obstacle, kafka.obstacle if kafka else None) if one]
    failures = [one for one in spoken if isinstance(one, Failure)]
    first = min(failures, key=lambda one: PHASES.index(one.phase)) if failures else next(iter(spoken), None)
    law = kafka.stopped_by if kafka and first is kafka.obstacle else None
    told = (*findings, *(kafka.findings if kafka else ()))
    return _Sources(first, law, told, kafka if scene.kafka is not None else None)


def _judge_inputs(scene: Scene) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    if not scene.inputs:
        return None, ()
    from ckpttool.laws.inputs.judge import judge_inputs

    return judge_inputs(scene)


def _judge_kafka(scene: Scene) -> KafkaVerdict | None:
    if scene.kafka is None and KAFKA not in scene.kinds:
        return None
    from ckpttool.laws.kafka.judge import judge_kafka

    return judge_kafka(scene)


def _comes_before(source: Failure, other: Failure) -> bool:
    """A source is loaded before `start()`, asked for the last range at the end of `init`, and for what is new before
    a batch is logged."""
    if source.phase == other.phase == "init":
        return False
    return PHASES.index(source.phase) <= PHASES.index(other.phase)


def _under_others(scene: Scene, releases: Iterable[Release]) -> dict[Release, Restart]:
    return {one: predict(replace(scene, start=replace(scene.start, release=one))) for one in releases}


def _agreed(newest: Restart, others: Mapping[Release, Restart]) -> Restart:
    """What the newest release does, if all others do the same: fail, or run the same batch."""
    if len({(one.outcome, None if one.outcome == "error" else one.batch_id) for one in others.values()}) == 1:
        return newest
    why = ("releases of Spark differ here, and the files do not say which one it is", *newest.why)
    return replace(newest, outcome="unknown", batch_id=None, error=None, why=why)


def _other_outcomes(restart: Restart, others: Mapping[Release, Restart]) -> Iterator[Finding]:
    """Other releases that may have written the files and would do something else."""
    unlike: dict[str, list[str]] = {}
    for release, other in others.items():
        if (other.outcome, other.batch_id) != (restart.outcome, restart.batch_id):
            unlike.setdefault(_in_words(other), []).append(spell_release(release))
    if unlike:
        told = ", and ".join(f"{enumerated(releases)}: {outcome}" for outcome, releases in unlike.items())
        yield Finding(
            id="outcome-depends-on-version",
            severity="warning",
            path="offsets",
            message=f"another release that may have written this would do something else. {told}",
            next_step="name the release that will start the query: --spark-version X.Y.Z",
        )


def _in_words(restart: Restart) -> str:
    if restart.outcome == "error":
        return "it fails before any batch" if restart.batch_id is None else f"it fails in batch {restart.batch_id}"
    batch = "" if restart.batch_id is None else f", batch {restart.batch_id}"
    return f"{restart.outcome.replace('_', ' ')}{batch}"


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """After what is half done: the rest may come of that."""
    rank = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings, key=lambda finding: (finding.id != UNFINISHED, rank[finding.severity])))


# -- what is wrong -----------------------------------------------------------------------------------------------------


def _as_raised(restart: Restart, findings: Sequence[Finding]) -> Iterator[Finding]:
    """One start raises one error, and that as this release has it: nothing else that is wrong comes to be raised."""
    about = _about(restart, findings)
    # Where a law leaves it open, what it tells of may come to be raised.
    tells = restart.law.tells if restart.law and restart.outcome == "unknown" else ()
    doubted = [finding for finding in findings if finding.id in tells]
    for finding in findings:
        if restart.error and finding in about:
            yield replace(finding, severity="error", spark=restart.error.spark)
        elif finding in doubted:
            yield finding
        else:
            yield replace(finding, spark=None) if finding.spark else finding


def _about(restart: Restart, findings: Sequence[Finding]) -> list[Finding]:
    """What tells of the failure: of several files with the same damage the one that stops Spark, or where it lies."""
    law, error = restart.law, restart.error
    if law is None or error is None:
        return []
    telling = [finding for finding in findings if finding.id == law.id or finding.id in law.tells]
    exactly = [finding for finding in telling if f"{error.path}/".startswith(f"{finding.path}/")]
    named = [finding for finding in telling if finding.id == law.id or finding.path in error.why]
    return exactly or named or [finding for finding in telling if finding.severity == "error"]


def _untold_failure(restart: Restart, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The failure that is predicted, where no finding is about it. What an input or a broker does is told with it."""
    if restart.law and restart.error and not _about(restart, findings):
        yield finding_of(restart.law, restart.error)


def _about_a_skipped_batch(scene: Scene, restart: Restart) -> Iterator[Finding]:
    if scene.sinks and restart.outcome in GOES_ON:
        from ckpttool.laws.sinks.skipped import fails_once

        yield from fails_once(scene)


def _judge_sinks(scene: Scene, restart: Restart) -> tuple[SinkVerdict, ...]:
    if not scene.sinks:
        return ()
    from ckpttool.laws.sinks.verdict import judge_sinks

    return judge_sinks(scene, restart)
