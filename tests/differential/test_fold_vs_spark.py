"""The judge's reference against real Spark: the same rows from the same batch, the same watermarks, the same state.

Times jump back and forth, so rows come late, windows close and keys are forgotten; and there are duplicates.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness.fold import Folded, fold
from ckpttool.harness.history import Disk, QuerySource, Record, Run, Sink, Transformation
from ckpttool.harness.judge.base import canonical
from ckpttool.harness.judge.state import leaves
from ckpttool.harness.reading import Reading, read_batches
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("fold_queries.py")
EPOCH_MS = 1_700_000_000_000
BATCHES, ROWS = 6, 12
TIMED = {"event_time": "at", "delay_ms": 5_000}
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "count": ("count", {"keys": ["k"], "value": "v"}),
    "windows": ("window", TIMED | {"window_ms": 10_000, "keys": ["k"], "value": "v"}),
    "dedup for ever": ("dedup", {"keys": ["k"], "columns": ["k"]}),
    "dedup by time": ("dedup", TIMED | {"keys": ["k", "at"], "columns": ["k", "at"]}),
    "dedup within the watermark": (
        "dedup",
        TIMED | {"keys": ["k"], "columns": ["k", "at"], "within_watermark": True},
    ),
}


@pytest.fixture(scope="module", params=["3.5.7", "4.2.0"])
def running(request: pytest.FixtureRequest) -> Iterator[SparkProcess]:
    with SparkProcess(request.param, script=SCRIPT, path=[JOBS.parent]) as process:
        yield process


def make_rows(name: str) -> list[list[dict[str, Any]]]:
    """Each batch is about ten seconds after the one before, give or take fifteen."""
    chance = random.Random(name)
    # A duplicate within the watermark is one whatever its time: only the first row's time would tell them apart.
    jitter = 0 if name == "dedup within the watermark" else 15_000
    return [
        [
            {
                "id": batch * ROWS + number,
                "k": chance.choice("abcdefgh"),
                "v": chance.randrange(100),
                "at": EPOCH_MS + batch * 10_000 + chance.randint(-jitter, jitter) // 1000 * 1000,
            }
            for number in range(ROWS)
        ]
        for batch in range(BATCHES)
    ]


def write_input(root: Path, batches: list[list[dict[str, Any]]]) -> tuple[Record, ...]:
    records = []
    (root / "input").mkdir()
    for number, rows in enumerate(batches):
        path = root / "input" / f"{number:03}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (EPOCH_MS // 1000 + number,) * 2)
        records += [Record(source=0, place=path.name, position=line, fields=row) for line, row in enumerate(rows)]
    return tuple(records)


def read_disk(root: Path) -> Disk:
    def texts(folder: str) -> dict[int, str]:
        names = [path for path in (root / "checkpoint" / folder).iterdir() if not path.name.startswith(".")]
        return {int(path.stem): path.read_text() for path in names}

    return Disk(offsets=texts("offsets"), commits=texts("commits"), source_logs={"0": texts("sources/0")})


@pytest.mark.parametrize("name", QUERIES)
def test_the_fold_does_what_spark_does(running: SparkProcess, tmp_path: Path, name: str) -> None:
    kind, settings = QUERIES[name]
    operator = Transformation(kind=kind, settings=settings)
    run = Run(
        scenario=name,
        seed=0,
        spark_version="",
        sources=(QuerySource(index=0, kind="file"),),
        operator=operator,
        sink=Sink(kind="foreachBatch", path="", ledger=False),
        guarantee="at-least-once",
        identity=("k",),
        records=write_input(tmp_path, make_rows(name)),
    )
    answer = running.run({"operator": kind, "settings": settings, "root": str(tmp_path)})
    assert answer["error"] is None

    reading = read_batches(run, read_disk(tmp_path))
    assert isinstance(reading, Reading)
    assert not reading.unread
    folded = fold(operator, reading.batches)
    assert isinstance(folded, Folded)
    assert {batch: count(rows) for batch, rows in folded.rows.items()} == {
        int(batch): count(rows) for batch, rows in answer["rows"].items()
    }
    if folded.watermarks is not None:
        assert folded.watermarks == {batch.batch_id: batch.watermark_ms for batch in reading.batches}
    for batch, pairs in (answer["states"] or {}).items():
        assert folded.state is not None
        expected = {canonical(list(key)): list(value) for key, value in folded.state[int(batch)].items()}
        assert {canonical(leaves(key)): leaves(value) for key, value in pairs} == expected
    assert any(answer["rows"].values())


def count(rows: Any) -> Counter[str]:
    return Counter(map(canonical, rows))
