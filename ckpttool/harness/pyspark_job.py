"""A job that is a Python file with `build`: a scenario that ships, or one of the user's own. It runs in a warm session,
which is asked to start the query again and again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.contract import check_input
from ckpttool.harness.disk import spark_format
from ckpttool.harness.history import QuerySource, Run
from ckpttool.harness.job import as_seen
from ckpttool.harness.job_sink import JobSink, SinkDirectory
from ckpttool.harness.judge.base import UNKNOWN_JOB, canonical
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch, clear
from ckpttool.harness.session import Answer, Ask, Session
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.sources import given_input, input_of, reader_of
from ckpttool.harness.topics import SinkTopic

READER = "source.json"  # how the job reads its input, kept for replays
SECONDS = 120.0  # for a request that is not a run of the job


class PySparkJob:
    starts_anew = False

    def __init__(self, scratch: Scratch, scenario: Scenario, settings: TrialSettings) -> None:
        self.scratch, self.scenario, self.settings = scratch, scenario, settings
        self.seconds = settings.seconds
        self.place = JobPlace(scratch.folder("work", scenario.name))
        self.sink: JobSink = SinkDirectory(self.place)
        if scenario.sink.kind == "kafka":
            if settings.broker is None:
                raise Refused("the job writes to Kafka, and no broker is given", "give --bootstrap-server")
            self.sink = SinkTopic(self.place, settings.broker)

    def start(self, name: str, java_options: Sequence[str] = ()) -> Session:
        return self.settings.driver.start(self.scratch, name, java_options)

    def prepare(self, ask: Ask) -> Run:
        """Make the input, and say what is put on trial."""
        job = {"job": str(self.scenario.job), "seed": self.settings.seed, "batches": self.scenario.batches}
        described = ask({"do": "describe", **job}, SECONDS)
        if described["error"]:
            raise Refused(f"{self.scenario.job.name}: {described['error'][-1]['message']}", "mend the job's file")
        clear(self.scratch.inside(self.place.root))
        rows = self._rows(described)
        made = input_of(self.scenario.source, self.place, rows, described["schema"], self.settings.broker)
        made.make(ask)
        (self.place.root / READER).write_text(json.dumps(made.reader()), encoding="utf-8")
        return Run(
            scenario=self.scenario.name,
            seed=self.settings.seed,
            spark_version=self.settings.release,
            sources=(QuerySource(index=0, kind=self.scenario.source),),
            operator=self.scenario.operator,
            sink=replace(self.scenario.sink, path=str(self.place.sink)),
            guarantee=self.scenario.guarantee,
            control=self.scenario.control,
            identity=tuple(described["identity"]),
            conf=self.scenario.conf,
            records=tuple(made.records()),
        )

    def _rows(self, described: Answer) -> Sequence[Sequence[Mapping[str, Any]]]:
        """By batch: what the user gave, else what the job makes."""
        rows = given_input(self.settings.input) if self.settings.input else described["input"]
        if rows is None:
            raise Refused(f"{self.scenario.job.name} has no make_input, and no input is given", "give --input")
        checked = [check_input(some, batch) for batch, some in enumerate(rows)]
        batches, count = self.settings.only or (None, None)
        return [some[:count] for some in checked[:batches]]

    def request(self, run: Run) -> dict[str, Any]:
        source = reader_of(self.place, (self.place.root / READER).read_bytes(), self.settings.broker)
        inferred = source["format"] == "json" and not source["schema"]
        return {
            "do": "run",
            "job": str(self.scenario.job),
            "conf": dict(run.conf) | ({"spark.sql.streaming.schemaInference": "true"} if inferred else {}),
            "source": source,
            "sink": self.sink.target,
            "checkpoint": str(self.place.checkpoint),
            "seconds": self.seconds,
        }

    def check(self, run: Run, ask: Ask) -> Run:
        if run.operator.kind == UNKNOWN_JOB:
            run = as_seen(run, self)
        self._compare_readers(run, ask)
        return run

    def _compare_readers(self, run: Run, ask: Ask) -> None:
        """We read the sink of every crash ourselves, since that is quick. Once, Spark says whether we can."""
        kind = spark_format(self.place.sink, run.sink.kind)
        if kind is None:
            return
        answer = ask({"do": "sink", "kind": kind, "path": str(self.place.sink)}, SECONDS)
        if answer["error"]:
            raise Refused(f"Spark cannot read the sink of {run.scenario}: {answer['error'][-1]['message'][:200]}")
        visible = self.sink.read(run.sink.kind).visible or ()
        ours, theirs = (Counter(map(canonical, rows)) for rows in (visible, answer["rows"]))
        if ours != theirs:
            raise Refused(f"the sink of {run.scenario} has {theirs.total()} rows, and we read {ours.total()}")
