"""What Hudi's ledger says of a batch that runs again, beside what its real sink does with it: 1.0.2 and 0.15.0.

Three batches of one file are written, and the commit of the last is removed: as after a crash. Then the query runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.scene.sinks import SinkView
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SPARK, NOW_MS = "3.5.7", 1_795_000_000_000
SCRIPT = Path(__file__).with_name("table_queries.py")
CONF = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
BATCHES, ROWS = 3, 2


class Table:
    def __init__(self, running: SparkProcess, root: Path, sink: str) -> None:
        self.running, self.root, self.sink = running, root, sink

    @property
    def path(self) -> Path:
        return self.root / "sink"

    def ask(self, **request: Any) -> dict[str, Any]:
        answer = self.running.run({"root": str(self.root), "sink": self.sink, "workload": "", **request})
        assert answer["error"] is None, answer["error"]
        return answer

    def rows(self) -> Counter[int]:
        return Counter(self.ask(rows=True)["rows"])

    def crash(self) -> None:
        for name in (f"{BATCHES - 1}", f".{BATCHES - 1}.crc"):
            (self.root / "checkpoint" / "commits" / name).unlink(missing_ok=True)

    def judged(self) -> Diagnosis:
        given = Restarted((3, 5, 7), sinks=[str(self.path)])
        return plan_restart(str(self.root / "checkpoint"), given, now_ms=NOW_MS)[0]


@pytest.mark.parametrize("jars", ["hudi", "hudi-old"])
def test_a_batch_that_runs_again(tmp_path: Path, jars: str) -> None:
    sink = jars.partition("-")[0]
    with SparkProcess(SPARK, (jars,), script=SCRIPT, path=[JOBS.parent], conf=CONF) as running:
        table = Table(running, tmp_path, sink)
        table.ask(count=BATCHES, once=False)
        assert table.rows() == Counter(range(BATCHES * ROWS))
        sound = table.judged()
        assert (sound.sinks[0].kind, sound.sinks[0].verdict, sound.exit_code) == (sink, "written", 0)
        table.crash()
        found = table.judged()
        (view,) = (SinkView(one, found.scene.logs) for one in found.scene.sinks)
        table.ask(count=BATCHES, once=True)
        twice = table.rows() - Counter(range(BATCHES * ROWS))
        assert not twice
        assert found.sinks[0].verdict == "skipped_already_written"
        assert (view.skips(BATCHES - 1), view.skips(BATCHES)) == (True, False)
