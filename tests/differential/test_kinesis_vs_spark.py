"""A query reads a Kinesis stream of two shards through qubole's connector, and is started again without what its tasks
had left of a batch: what was said beside what Spark did."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from tests.differential.sweep.kafka_sweep import logs, truth_of
from tests.parts.stores import S3Server
from tests.samples.process import JOBS, SparkProcess

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

Json = dict[str, Any]
SPARK, NOW_MS = "3.5.7", 1_795_000_000_000
SCRIPT = Path(__file__).with_name("kinesis_queries.py")
QUICKLY = {"kinesis.executor.maxFetchTimeInMs": "1000", "kinesis.executor.metadata.hdfs.retryIntervalMs": "10"}
# The server speaks JSON, and the connector's client CBOR unless it is told otherwise; its classes are its own copies.
IN_JSON = "-Dorg.apache.spark.sql.kinesis.shaded.amazonaws.sdk.disableCbor=true -Dcom.amazonaws.sdk.disableCbor=true"


class Stream:
    """Records, each with its own value, spread over both shards."""

    def __init__(self, server: S3Server, name: str) -> None:
        self.address, self.name, self.client = server.address, name, server.client("kinesis")
        self.client.create_stream(StreamName=name, ShardCount=2)
        self.count = 0

    def fill(self, count: int) -> None:
        for number in range(self.count, self.count + count):
            self.client.put_record(StreamName=self.name, Data=f"{number}".encode(), PartitionKey=f"key {number}")
        self.count += count

    @property
    def options(self) -> dict[str, str]:
        own = {"streamName": self.name, "endpointUrl": self.address, "startingPosition": "trim_horizon"}
        return own | {"awsAccessKeyId": "testing", "awsSecretKey": "testing"} | QUICKLY


class Query:
    """Two batches, of which each read what had come."""

    def __init__(self, process: SparkProcess, root: Path, stream: Stream) -> None:
        self.process, self.root, self.stream = process, root, stream
        for count in (10, 6):
            stream.fill(count)
            assert self.run()["error"] is None

    def ask(self, **request: Any) -> Json:
        answer = self.process.run({"root": str(self.root), "workload": "", **request})
        assert answer["error"] is None, answer["error"]
        return answer

    def run(self) -> Json:
        before = logs(self.root / "checkpoint")
        return truth_of(self.ask(options=self.stream.options), before, logs(self.root / "checkpoint"))

    def rows(self) -> Counter[str]:
        return Counter(self.ask(rows=True)["rows"])

    def judged(self) -> Diagnosis:
        given = Restarted((3, 5, 7), options=self.stream.options, sinks=[str(self.root / "output")])
        return plan_restart(str(self.root / "checkpoint"), given, now_ms=NOW_MS)[0]

    # -- what may happen to it --

    @property
    def ends(self) -> Path:
        return self.root / "checkpoint" / "sources" / "0" / "shard-commit" / "1"

    def end_of(self, shard: int) -> list[Path]:
        name = f"shardId-{shard:012}"
        return [self.ends / name, self.ends / f".{name}.crc"]

    def lose_one(self) -> None:
        for path in self.end_of(0):
            path.unlink(missing_ok=True)

    def lose_all(self) -> None:
        shutil.rmtree(self.ends)

    def empty(self) -> None:
        self.lose_all()
        self.ends.mkdir()

    def cut_one(self) -> None:
        path, checksum = self.end_of(0)
        checksum.unlink(missing_ok=True)
        path.write_text(path.read_text()[:-10])

    def crash(self) -> None:
        for name in ("1", ".1.crc"):
            (self.root / "checkpoint" / "commits" / name).unlink(missing_ok=True)

    def lose_older(self) -> None:
        shutil.rmtree(self.ends.with_name("0"))


HAPPENED: dict[str, tuple[Callable[[Query], None], ...]] = {
    "nothing": (),
    "a crash": (Query.crash,),
    "an older batch is gone": (Query.lose_older,),
    "all ends are gone": (Query.lose_all,),
    "all ends are gone, crash": (Query.lose_all, Query.crash),
    "the directory is empty": (Query.empty,),
    "an end is gone": (Query.lose_one,),
    "an end is cut": (Query.cut_one,),
}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture(scope="module")
def running() -> Iterator[SparkProcess]:
    path = [JOBS.parent, SCRIPT.parents[2]]
    with SparkProcess(SPARK, ("kinesis",), IN_JSON, script=SCRIPT, path=path) as process:
        yield process


@pytest.mark.parametrize("what", HAPPENED)
def test_the_restart_is_the_one_that_was_said(
    running: SparkProcess, server: S3Server, tmp_path: Path, what: str
) -> None:
    query = Query(running, tmp_path, Stream(server, what.replace(" ", "-").replace(",", "")))
    assert query.rows() == Counter(map(str, range(16)))
    for step in HAPPENED[what]:
        step(query)
    said = query.judged()
    told = [(one.id, one.message) for one in said.findings if one.id.startswith("kinesis-")]
    query.stream.fill(4)
    truth = query.run()
    shown = json.dumps([truth, told])
    assert (said.prediction.outcome, said.prediction.batch_id) == (truth["outcome"], truth["batch_id"]), shown
    if said.prediction.error:
        error = said.prediction.error
        assert (error.phase, error.class_name) == (truth["phase"], truth["error"]["class"]), shown
        assert error.message in truth["error"]["message"], shown
        return
    if truth["outcome"] == "replay":  # by Trigger.Once no more than that
        truth = query.run()
        shown = json.dumps([truth, told])
        assert (truth["error"] is not None) == ("kinesis-shard-commits-missing" in dict(told)), shown
        if truth["error"]:
            return
    read, wanted = query.rows(), Counter(map(str, range(query.stream.count)))
    assert bool(told) == (read != wanted), shown
    for of_a_shard, message in told:
        assert (of_a_shard, "begin anew" in message) == ("kinesis-shard-commit-missing", True), shown
        assert set(read) == set(wanted), "it begins anew where the options say: at the first"
