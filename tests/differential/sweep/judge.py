"""The recorded truths held against our predictions, in seconds and without Spark.

    python -m tests.differential.sweep.judge [4.2.0 …] [--show]

prints, per version, how many outcomes, batches, offsets and errors are right, how many are unknown, and how many were
wrongly fine: a normal restart was promised, and Spark failed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.api import look_at_states
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.kafka.base import BrokerAnswer, PartitionAnswer, Subscription, TopicAnswer
from ckpttool.kafka.diff import KafkaEvidence
from ckpttool.kafka.positions import is_subscribed, positions, questions, starting_offsets, subscription_of
from ckpttool.laws.restart import GOES_ON, Restart, SourceRange
from ckpttool.reading.inputs import load_inputs
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import Evidence, gather_evidence
from ckpttool.scene.inputs import InputEvidence, PathInput
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Scene, Start, Trigger
from ckpttool.scene.sinks import SinkEvidence, SinkKind
from ckpttool.storage.doors import Doors
from tests.differential.sweep.load import CASES, SUITES, cases_in_turn, lay, read_cases, recorded_versions, tables_file

WITH_A_RECORD: dict[str, SinkKind] = {"json": "file", "parquet": "file", "delta": "delta"}
NOW_MS = 1_795_000_000_000  # the day on which the cases were recorded


@dataclass(frozen=True)
class Verdict:
    """One case: what Spark did, what we said, and in which respects the two agree."""

    case: dict[str, Any]
    outlook: Diagnosis

    @property
    def said(self) -> Restart:
        return self.outlook.prediction

    @property
    def truth(self) -> dict[str, Any]:
        truth: dict[str, Any] = self.case["truth"]
        return truth

    @property
    def unknown(self) -> bool:
        return self.said.outcome == "unknown"

    @property
    def right_outcome(self) -> bool:
        """A new batch, or the first, comes as soon as there is data: where there was none, nothing happened."""
        said, happened = self.said.outcome, self.truth["outcome"]
        return said == happened or (said in ("new_batch", "fresh_start") and happened == "nothing")

    @property
    def wrongly_fine(self) -> bool:
        return self.said.outcome in GOES_ON and self.truth["outcome"] == "error"

    @property
    def rows_silently_wrong(self) -> bool:
        """Rows are lost or doubled in the sink, and neither its verdict nor a finding says so."""
        sink = self.truth.get("sink") or {}
        if self.said.outcome not in GOES_ON or not (sink.get("missing") or sink.get("repeated")):
            return False
        told = {sink.verdict for sink in self.outlook.sinks} - {"written", "skipped_already_written"}
        return not told and not any(finding.severity == "error" for finding in self.outlook.findings)

    @property
    def right_batch(self) -> bool:
        waited = self.truth["outcome"] == "nothing"
        return self.right_outcome and (waited or self.said.batch_id == self.truth["batch_id"])

    @property
    def right_error(self) -> bool:
        theirs, ours = self.truth["error"], self.said.error
        if theirs is None or ours is None:
            return theirs is None and ours is None
        return (ours.class_name, ours.condition) == (theirs["class"], theirs["condition"])

    @property
    def right_about_the_sink(self) -> bool:
        """Whether the sink gets the batch before the failure, where both of us say that it fails in one."""
        error = self.said.error
        if error is None or error.phase != "batch" or "sink_written_first" not in self.truth:
            return True
        return error.sink_written_first == self.truth["sink_written_first"]

    @property
    def right(self) -> bool:
        agrees = self.right_batch and self.right_offsets and self.right_error and self.right_phase
        return agrees and self.right_about_the_sink and not self.rows_silently_wrong

    @property
    def right_phase(self) -> bool:
        return self.said.error is None or self.said.error.phase == self.truth["phase"]

    @property
    def is_skipped(self) -> bool:
        """A sink that has the batch already has nothing read."""
        return any(sink.verdict.startswith("skipped") for sink in self.outlook.sinks)

    @property
    def right_offsets(self) -> bool:
        """Starts, and the ends that the log has fixed, of the first batch that ran."""
        first = self.truth.get("first")
        if not first or self.said.outcome not in ("replay", "new_batch"):
            return True
        theirs = first["sources"]
        if len(theirs) != len(self.said.sources):
            return False
        return all(
            ours.start == source["start"]
            and (ours.end is None or ours.end == source["end"])
            and (self.is_skipped or rows_of(ours) in (None, source["rows"]))
            for ours, source in zip(self.said.sources, theirs, strict=True)
        )


def rows_of(source: SourceRange) -> int | None:
    """What a table's log was said to hold for the range."""
    counted = source.kind == "delta" and source.step is not None and source.step.unit == "rows"
    return source.step.amount if counted and source.step else None


def judge(version: str, suite: str = CASES) -> Iterator[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        for case, lay in cases_in_turn(version, Path(folder), suite=suite):
            path = lay()
            if path.is_dir():  # a place that is not there yet is refused by every command
                yield judge_case(version, suite, case, path)


def judge_case(version: str, suite: str, case: dict[str, Any], path: Path) -> Verdict:
    """`path`: the case's checkpoint, laid out."""
    store = open_store(str(path))
    evidence = gather_evidence(load_checkpoint(store, any_place=True))
    trigger = trigger_of(case) if suite == CASES else case["restart"]["trigger"]
    start = Start(parse_release(version), trigger, case["restart"]["conf"], options(case, path))
    scene = Scene(evidence, start, sinks=(sink(case, path, evidence),), now_ms=NOW_MS)
    doors = Doors([str(path)], look_at=[str(path.parent)])
    inputs = tuple(as_recorded(case, one) for one in load_inputs(scene, doors))
    scene = replace(scene, states=look_at_states(store, scene, "full"), inputs=inputs)
    return Verdict(case, diagnose(scene))


def judge_kafka(version: str, asked: bool) -> Iterator[Verdict]:
    """`asked`: the broker was, and said what was recorded; else nobody named one."""
    cases = list(read_cases(version, "kafka"))
    topics = topics_of(cases)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            path = Path(folder) / case["id"].replace("/", "-")
            lay(case["files"], path)
            evidence = gather_evidence(load_checkpoint(open_store(str(path)), any_place=True))
            given = case["restart"]
            start = Start(parse_release(version), trigger_of(case), given["conf"], given["options"])
            scene = Scene(evidence, start, now_ms=NOW_MS)
            kafka = KafkaEvidence(answers_to(scene, case["kafka"], topics)) if asked else None
            yield Verdict(case, diagnose(replace(scene, kafka=kafka)))


def goes_on_with_sound_topics(one: Verdict) -> bool:
    """Whether the same files and options start the same batch, by the laws that are right wherever a broker was asked,
    where the topics have all that is read: no partition more, no record less. Then no file tells what a topic has."""
    told = diagnose(replace(one.outlook.scene, kafka=KafkaEvidence(sound_topics(one.outlook.scene)))).prediction
    return told.outcome in GOES_ON and (told.outcome, told.batch_id) == (one.said.outcome, one.said.batch_id)


def sound_topics(scene: Scene) -> dict[int, BrokerAnswer]:
    """Of each source: from 0 up to the highest offset that its line, the one before or `startingOffsets` names."""
    options, answers = scene.start.options, {}
    assigned = subscription_of(options).assigned or {}
    for position, question in zip(positions(scene), questions(positions(scene), scene.start, {}), strict=True):
        named = [one for one in (position.start, position.end, starting_offsets(options)) if one]
        topics = {}
        for topic in {*question.topics, *(topic for one in named for topic in one)}:
            ends: dict[int, int] = dict.fromkeys(assigned.get(topic, ()), 0)
            for number, offset in (at for one in named for at in one.get(topic, {}).items()):
                ends[number] = max(offset, ends.get(number, 0))
            parts = {number: PartitionAnswer(0, end, end) for number, end in (ends or {0: 0}).items() if number >= 0}
            topics[topic] = TopicAnswer(partitions=parts)
        answers[question.index] = BrokerAnswer("broker:9092", topics, isolation=question.isolation)
    return answers


def judge_iceberg(version: str) -> Iterator[Verdict]:
    """The table is looked at as with `--option path=`. What found nothing to read may have been about to do anything
    but fail."""
    tables = json.loads(tables_file(version).read_text())
    with tempfile.TemporaryDirectory() as folder:
        for case in read_cases(version, "iceberg"):
            table = Path(folder) / "tables" / case["table"]
            lay_table(tables[case["table"]], table)
            yield judge_iceberg_case(version, case, table)


def lay_table(kept: dict[str, Any], table: Path) -> None:
    lay({f"metadata/{name}": text for name, text in kept["files"].items()}, table)


def judge_iceberg_case(version: str, case: dict[str, Any], table: Path) -> Verdict:
    root = table.parents[1]
    path = root / case["id"].replace("/", "-")
    lay(case["files"], path)
    given = case["restart"]
    named = {"path": str(table)} | given["options"]
    evidence = gather_evidence(load_checkpoint(open_store(str(path)), any_place=True))
    scene = Scene(evidence, Start(parse_release(version), given["trigger"], given["conf"], named), now_ms=NOW_MS)
    outlook = diagnose(replace(scene, inputs=load_inputs(scene, Doors([str(path)], look_at=[str(root)]))))
    said = outlook.prediction
    if case["truth"]["outcome"] == "nothing" and said.outcome in GOES_ON:
        case["truth"] |= {"outcome": said.outcome, "batch_id": said.batch_id}
    return Verdict(case, outlook)


def topics_of(cases: Iterable[dict[str, Any]]) -> dict[str, TopicAnswer]:
    """What the broker said of each topic: all cases read the same ones, and none writes."""
    told = [convert(case["kafka"], dict[int, BrokerAnswer], strict=False) for case in cases]
    return {topic: one for answers in told for answer in answers.values() for topic, one in answer.topics.items()}


def answers_to(scene: Scene, recorded: Any, topics: Mapping[str, TopicAnswer]) -> dict[int, BrokerAnswer]:
    """What was recorded, and of the other topics that the command asks for what the broker said in other cases."""
    kept = convert(recorded, dict[int, BrokerAnswer], strict=False)
    for question in questions(positions(scene), scene.start, {}):
        by_pattern = Subscription(pattern=question.pattern or "$^")
        asked = {
            name: one for name, one in topics.items() if name in question.topics or is_subscribed(by_pattern, name)
        }
        answer = kept.get(question.index, BrokerAnswer("broker:9092", isolation=question.isolation))
        kept[question.index] = replace(answer, topics={**asked, **answer.topics})
    return kept


def as_recorded(case: dict[str, Any], one: InputEvidence) -> InputEvidence:
    """Whether the path was there that the restart was given, if that was recorded: here it never is."""
    if not isinstance(one, PathInput) or "there" not in case["restart"]:
        return one
    return PathInput(one.path, Lookup(1, frozenset() if case["restart"]["there"] else frozenset({one.path})))


def options(case: dict[str, Any], path: Path) -> dict[str, str]:
    """The Delta source's table is looked at, as with `--option path=`; and what else the restart was given."""
    table = path.parent / "source"
    named = {"path": str(table)} if case["group"].startswith("delta") else {}
    reader = case["restart"].get("reader", {})
    places = {"{checkpoint}": str(path), "{root}": case["restart"].get("root", "")}
    for name, place in places.items():
        reader = {key: value.replace(name, place) for key, value in reader.items()}
    return named | reader


def sink(case: dict[str, Any], path: Path, evidence: Evidence) -> SinkEvidence:
    output, kind = path.parent / "output", case["group"].split("/")[1]
    if kind not in WITH_A_RECORD:
        return load_sink({"each": "foreachBatch"}.get(kind, kind), query_id=None)
    if not output.exists():
        return SinkEvidence(WITH_A_RECORD[kind], str(output), exists=False)
    metadata = evidence.checkpoint.metadata
    return load_sink(str(output), query_id=metadata.id if metadata else None)


def trigger_of(case: dict[str, Any]) -> Trigger | None:
    """Only what changes how a query runs; the others are alike to what judges a checkpoint."""
    given = case["restart"]["trigger"]
    return given if given in ("continuous", "real-time") else None


@dataclass(frozen=True)
class Score:
    """How often we were right about some cases."""

    cases: int
    outcome: int
    batch: int
    offsets: int
    error: int
    phase: int
    sink_first: int
    unknown: int
    wrongly_fine: int
    rows: int


def score(verdicts: Sequence[Verdict]) -> Score:
    return Score(
        cases=len(verdicts),
        outcome=sum(verdict.right_outcome for verdict in verdicts),
        batch=sum(verdict.right_batch for verdict in verdicts),
        offsets=sum(verdict.right_offsets for verdict in verdicts),
        error=sum(verdict.right_error for verdict in verdicts),
        phase=sum(verdict.right_phase for verdict in verdicts),
        sink_first=sum(verdict.right_about_the_sink for verdict in verdicts),
        unknown=sum(verdict.unknown for verdict in verdicts),
        wrongly_fine=sum(verdict.wrongly_fine for verdict in verdicts),
        rows=sum(verdict.rows_silently_wrong for verdict in verdicts),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge the predictions by the recorded truths.")
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--show", action="store_true", help="print the cases that are not right")
    parser.add_argument("--suite", default=CASES, choices=(*SUITES, "kafka-asked"), help="which recorded cases")
    options = parser.parse_args()
    for version in options.versions or recorded_versions(options.suite.removesuffix("-asked")):
        if options.suite == "iceberg":
            verdicts = list(judge_iceberg(version))
        elif options.suite.startswith("kafka"):
            verdicts = list(judge_kafka(version, asked=options.suite.endswith("-asked")))
        else:
            verdicts = list(judge(version, options.suite))
        print(version, *(f"{name} {count}" for name, count in asdict(score(verdicts)).items()), sep="  ")
        if options.show:
            print(*(_spell(verdict) for verdict in verdicts if not verdict.right), sep="\n")


def _spell(verdict: Verdict) -> str:
    mark = "WRONGLY FINE" if verdict.wrongly_fine else "unknown" if verdict.unknown else "differs"
    said, truth = verdict.said, verdict.truth
    ours = (said.error.phase, said.error.class_name, said.error.condition) if said.error else said.why
    error = truth["error"]
    theirs = (
        (truth["phase"], error["class"], error["condition"], error["message"][:100]) if error else truth.get("first")
    )
    return (
        f"  {mark} {verdict.case['id']} {verdict.case['told']}\n     said {said.outcome} {said.batch_id} {ours}\n"
        f"     was  {truth['outcome']} {truth['batch_id']} {theirs}"
    )


if __name__ == "__main__":
    main()
