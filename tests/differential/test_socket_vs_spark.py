"""A query over a socket is started again, with another connection, and what was said of that.

What came over it before a batch runs again would stand for the rows that are gone: there it is silent."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.releases import parse_release
from tests.differential.sweep.kafka_sweep import logs, logs_of, truth_of
from tests.differential.sweep.load import lay
from tests.samples.process import JOBS, SparkProcess

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

Json = dict[str, Any]
HERE = Path(__file__).parent
SCRIPT, REPOSITORY = HERE / "socket_queries.py", HERE.parents[1]
NOW_MS = 1_795_000_000_000


@dataclass(frozen=True)
class Case:
    name: str
    ends: tuple[str, ...]
    committed: int
    partitions: int | None = None  # of continuous processing
    rows: int | None = None  # that the batch gets which runs again

    @property
    def files(self) -> dict[str, str]:
        if self.partitions is None:
            return logs_of(self.ends, self.committed, '{"spark.sql.shuffle.partitions":"1"}')
        found = logs_of((), 0, "{}")
        for epoch, end in enumerate(self.ends):
            found |= {f"offsets/{epoch}": f"v1\n\n{end}", f"commits/{epoch}": 'v1\n{"nextBatchWatermarkMs":0}'}
        return found


CASES = (
    Case("all is done", ("-1", "2"), 2),
    Case("one row is done", ("0",), 1),
    Case("a batch runs again", ("-1", "2"), 1, rows=0),
    Case("a batch of one row runs again", ("-1", "0"), 1, rows=0),
    Case("the first batch runs again", ("2",), 0),
    Case("nothing was read", ("-1",), 1),
    Case("no number", ("-1", "x"), 2),
    Case("no number, runs again", ("-1", "x"), 1),
    Case("continuous", ("[0,0]", "[2,1]"), 2, partitions=2),
    Case("continuous, fewer partitions", ("[0,0]", "[2,1]"), 2, partitions=1),
)


class Silence(socketserver.BaseRequestHandler):
    """Until the other side goes."""

    says = b""

    def handle(self) -> None:
        self.request.sendall(self.says)
        while self.request.recv(64):
            pass


class Rows(Silence):
    says = b"a\nb\nc\n"


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def listening(handler: type[Silence]) -> Iterator[int]:
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module", params=["3.5.7", "4.2.0"])
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, SparkProcess]]:
    with SparkProcess(request.param, script=SCRIPT, path=[JOBS.parent, REPOSITORY]) as process:
        yield request.param, process


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_the_restart_is_the_one_that_was_said(running: tuple[str, SparkProcess], tmp_path: Path, case: Case) -> None:
    lay(case.files, tmp_path)
    with listening(Rows if case.rows is None else Silence) as port:
        compare(*running, tmp_path, case, {"host": "127.0.0.1", "port": str(port)})


def compare(spark: str, process: SparkProcess, root: Path, case: Case, options: dict[str, str]) -> None:
    options |= {} if case.partitions is None else {"numPartitions": str(case.partitions)}
    said, _ = plan_restart(str(root), Restarted(parse_release(spark), options=options), now_ms=NOW_MS)
    before = logs(root)
    done = process.run(
        {
            "workload": "",
            "checkpoint": str(root),
            "options": options,
            "continuous": case.partitions is not None,
        }
    )
    assert done["error"] is None, done
    truth = truth_of(done, before, logs(root))
    shown = json.dumps(truth)
    told = [one.message for one in said.findings if one.id == "socket-begins-anew"]
    if any("it connects only for one" in message for message in told):
        assert truth["outcome"] == "nothing", shown
        return
    assert said.prediction.outcome == truth["outcome"], shown
    assert said.prediction.batch_id == truth["batch_id"], shown
    error = said.prediction.error
    if error is not None:
        assert (error.phase, error.class_name) == (truth["phase"], truth["error"]["class"]), shown
        assert error.message in truth["error"]["message"]
    elif case.rows is not None:
        assert done["batches"][str(truth["batch_id"])]["rows"] == case.rows, shown
    for message in told:
        if "Offsets committed out of order" in message:
            assert truth["later_error"]["message"] in message, shown
