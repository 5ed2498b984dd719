"""A query reads a Hudi table, to which something happens between two starts: what was said beside what Spark did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from tests.differential.sweep.kafka_sweep import logs, truth_of
from tests.differential.test_tables_as_sinks_vs_spark import CONF, PATH, SCRIPT, SPARK
from tests.samples.process import SparkProcess

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

Json = dict[str, Any]
NOW_MS = 1_795_000_000_000
BRIEF = {  # instants are archived as soon as Hudi lets them be
    "hoodie.clean.automatic": "true",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.commits.archival.batch": "1",
}


class Query:
    """Two batches, each of one commit to the table."""

    def __init__(self, process: SparkProcess, root: Path) -> None:
        self.process, self.root, self.written = process, root, 0
        for _ in range(2):
            self.write()
            self.read()

    def ask(self, **request: Any) -> Json:
        answer = self.process.run({"root": str(self.root), "sink": "hudi", "workload": "", **request})
        assert answer["error"] is None, answer["error"]
        return answer

    def write(self, **options: str) -> None:
        self.ask(write=self.written, options=options)
        self.written += 1

    def read(self) -> Json:
        before = logs(self.root / "checkpoint")
        done = self.ask(read=True)
        return truth_of(done, before, logs(self.root / "checkpoint"))

    def crash(self) -> None:
        for name in ("1", ".1.crc"):
            (self.root / "checkpoint" / "commits" / name).unlink(missing_ok=True)

    def archive(self) -> None:
        for _ in range(7):
            self.write(**BRIEF)

    def remove(self) -> None:
        shutil.rmtree(self.root / "sink")

    def make_anew(self) -> None:
        self.remove()
        self.write()

    def judged(self) -> Diagnosis:
        given = Restarted((3, 5, 7), options={"path": str(self.root / "sink")})
        return plan_restart(str(self.root / "checkpoint"), given, now_ms=NOW_MS)[0]


HAPPENED: dict[str, tuple[Callable[[Query], None], ...]] = {
    "nothing": (),
    "a commit": (Query.write,),
    "a crash": (Query.crash,),
    "archived": (Query.archive,),
    "archived, crash": (Query.archive, Query.crash),
    "made anew": (Query.make_anew,),
    "made anew, crash": (Query.make_anew, Query.crash),
    "removed": (Query.remove,),
}


@pytest.fixture(scope="module", params=["hudi", "hudi-old"])
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, SparkProcess]]:
    with SparkProcess(SPARK, (request.param,), script=SCRIPT, path=PATH, conf=CONF) as process:
        yield request.param, process


@pytest.mark.parametrize("what", HAPPENED)
def test_the_restart_is_the_one_that_was_said(running: tuple[str, SparkProcess], tmp_path: Path, what: str) -> None:
    query = Query(running[1], tmp_path)
    for step in HAPPENED[what]:
        step(query)
    said = query.judged()
    truth = query.read()
    shown = json.dumps([truth, said.prediction.outcome, [one.message for one in said.findings]])
    if said.prediction.outcome == "unknown":
        assert [one.id for one in said.findings if one.id.startswith("hudi-")], shown
        return
    goes_on = ("new_batch", "nothing") if said.prediction.outcome == "new_batch" else (said.prediction.outcome,)
    assert truth["outcome"] in goes_on, shown
    if said.prediction.error:
        error = said.prediction.error
        assert (error.phase, error.class_name) == (truth["phase"], truth["error"]["class"]), shown
