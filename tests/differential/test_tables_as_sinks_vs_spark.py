"""What the ledgers of Hudi, Iceberg and Paimon say of a batch that runs again, beside what their real sinks do with it.

Three batches of one file are written, and the commit of the last is removed: as after a crash. Then the query runs."""

from __future__ import annotations

import json
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
PATH = [JOBS.parent, SCRIPT.parents[2]]
CONF = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
CATALOGS = {
    "iceberg": {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop"},
    "paimon": {"": "org.apache.paimon.spark.SparkCatalog"},
}
BATCHES, ROWS = 3, 2
WHERE = {"iceberg": "warehouse/db/sink", "paimon": "warehouse/db.db/sink"}


def conf(sink: str, root: Path) -> dict[str, str]:
    """A catalog of files below the root, under the first letters of what it is of."""
    catalog = CATALOGS.get(sink, {})
    placed = catalog | ({".warehouse": f"file://{root}/warehouse"} if catalog else {})
    return CONF | {f"spark.sql.catalog.{sink[:3]}{key}": value for key, value in placed.items()}


class Table:
    def __init__(self, running: SparkProcess, root: Path, sink: str) -> None:
        self.running, self.root, self.sink = running, root, sink

    @property
    def path(self) -> Path:
        return self.root / WHERE.get(self.sink, "sink")

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


@pytest.mark.parametrize("jars", ["hudi", "hudi-old", "iceberg", "paimon"])
def test_a_batch_that_runs_again(tmp_path: Path, jars: str) -> None:
    sink = jars.partition("-")[0]
    with SparkProcess(SPARK, (jars,), script=SCRIPT, path=PATH, conf=conf(sink, tmp_path)) as running:
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
        if sink == "paimon":
            assert (found.sinks[0].verdict, bool(twice)) == ("duplicated", True)
            return
        assert not twice
        assert found.sinks[0].verdict == "skipped_already_written"
        assert (view.skips(BATCHES - 1), view.skips(BATCHES)) == (True, False)


PAIMON = {"spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"}


@pytest.mark.at_length
@pytest.mark.parametrize("rolled_back", [False, True])
def test_paimon_snapshots_that_are_gone(tmp_path: Path, *, rolled_back: bool) -> None:
    """The oldest expired; and if the newest was taken back, the batch that it was of is not there."""
    settings = conf("paimon", tmp_path) | PAIMON
    with SparkProcess(SPARK, ("paimon",), script=SCRIPT, path=PATH, conf=settings) as running:
        table = Table(running, tmp_path, "paimon")
        table.ask(count=BATCHES, once=False)
        snapshots = [json.loads(path.read_text()) for path in (table.path / "snapshot").glob("snapshot-*")]
        assert len({one["commitUser"] for one in snapshots}) == BATCHES, "no user is the query's own"
        assert {one["commitIdentifier"] for one in snapshots} == {2**63 - 1}, "nor any number a batch's"
        if rolled_back:
            table.ask(sql=f"CALL pai.sys.rollback(table => 'db.sink', version => '{BATCHES - 1}')")
        table.ask(sql="CALL pai.sys.expire_snapshots(table => 'db.sink', retain_max => 1)")
        assert len(list((table.path / "snapshot").glob("snapshot-*"))) == 1
        assert table.judged().exit_code == 0
        table.crash()
        (verdict,) = table.judged().sinks
        table.ask(count=BATCHES, once=True)
        twice = table.rows() - Counter(range(BATCHES * ROWS))
        assert (verdict.verdict, bool(twice)) == (("written", False) if rolled_back else ("unknown", True))


def test_iceberg_rows_that_were_taken_out(tmp_path: Path) -> None:
    with SparkProcess(SPARK, ("iceberg",), script=SCRIPT, path=PATH, conf=conf("iceberg", tmp_path)) as running:
        table = Table(running, tmp_path, "iceberg")
        table.ask(count=BATCHES, once=False)
        table.ask(sql="DELETE FROM {table}")
        emptied = table.judged()
        table.ask(count=BATCHES + 1, once=True)
        assert table.rows() == Counter(range(BATCHES * ROWS, (BATCHES + 1) * ROWS)), "they do not come again"
    (seen,) = (one.horizon for one in emptied.sinks)
    assert seen
    assert [one.batches for one in seen.missing] == [(0, 1, 2)]
    assert emptied.exit_code == 1
