"""What a restart is written down as; and a Spark that is there again after it hung."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness.jdwp import Controller
from ckpttool.harness.place import JobPlace
from ckpttool.harness.recover import failure_of, recover
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Died, Late, Session, WarmSession
from ckpttool.harness.victim import await_jvm
from ckpttool.harness.witness import stores_of

# Answers with its own number and what it was asked; hangs, or ends, where it is told to.
PROGRAM = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request.get("hang"): time.sleep(600)
    if request.get("end"): sys.exit("out of memory")
    for name in request.get("commit", []):
        open(name, "w").close()
    print(json.dumps({"pid": os.getpid(), "started": True, "run_id": "run", "failed": None}), flush=True)
"""


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path / "scratch")


def spark_in(scratch: Scratch) -> WarmSession:
    return WarmSession(lambda: Session(scratch, [sys.executable, "-c", PROGRAM], os.environ))


def test_the_next_request_after_a_hang_has_a_new_process(scratch: Scratch) -> None:
    with scratch, spark_in(scratch) as spark:
        first = spark.ask({}, 30)["pid"]
        assert spark.ask({}, 30)["pid"] == first
        with pytest.raises(Late):
            spark.ask({"hang": True}, 0.2)
        second = spark.ask({}, 30)["pid"]
        assert second != first
        assert not Path(f"/proc/{first}").exists()
        with pytest.raises(Died, match="out of memory"):
            spark.ask({"end": True}, 30)
        assert spark.ask({}, 30)["pid"] != second


def test_the_first_batch_is_that_of_the_first_new_commit(scratch: Scratch, tmp_path: Path) -> None:
    place = JobPlace(tmp_path)
    commits = place.checkpoint / "commits"
    commits.mkdir(parents=True)
    (commits / "1").touch()
    with scratch, spark_in(scratch) as spark:
        request = {"seconds": 30, "commit": [str(commits / "3"), str(commits / "2"), str(commits / ".2.crc")]}
        found = recover(spark.ask, request, place)
        assert [(one.first_batch, one.failure, one.run_id) for one in found] == [(2, None, "run")]
        nothing = recover(spark.ask, {"seconds": 30}, place)
        assert [one.first_batch for one in nothing] == [None]


def test_a_process_that_dies_is_a_failure(scratch: Scratch, tmp_path: Path) -> None:
    with scratch, spark_in(scratch) as spark:
        found = recover(spark.ask, {"seconds": 30, "end": True}, JobPlace(tmp_path))
    assert [one.failure and one.failure.class_name for one in found] == ["ProcessDied"] * 2


def cause(class_name: str, condition: str | None = None, where: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"class": class_name, "condition": condition, "message": f"in {class_name}", "in": list(where)}


@pytest.mark.parametrize(
    ("where", "started", "phase", "batch"),
    [
        (("addBatch", "runBatch"), True, "batch", 3),
        (("populateStartOffsets",), True, "init", None),
        ((), True, None, None),
        (("addBatch",), False, "start", None),
    ],
)
def test_a_failure_is_its_root_cause(
    tmp_path: Path, where: tuple[str, ...], started: bool, phase: str | None, batch: int | None
) -> None:
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    for name in ("2", "3", ".3.crc"):
        (offsets / name).touch()
    chain = [cause("Outer", "STREAM_FAILED"), cause("Middle", "STATE_LOST", where), cause("java.io.Inner")]
    found = failure_of({"failed": chain, "started": started}, JobPlace(tmp_path))
    assert found
    assert (found.class_name, found.condition, found.phase, found.batch_id) == (
        "java.io.Inner",
        "STATE_LOST",
        phase,
        batch,
    )
    assert failure_of({"failed": None, "started": True}, JobPlace(tmp_path)) is None


def test_stores_are_found_by_their_directories() -> None:
    files = ["0/0/1.delta", "0/1/1.delta", "0/_metadata/metadata", "1/0/1.zip"]
    assert [store["options"] for store in stores_of(files)] == [{"operatorId": "0"}, {"operatorId": "1"}]
    assert stores_of(files[:1], "totals")[0]["options"] == {"operatorId": "0", "stateVarName": "totals"}


def test_a_process_that_ends_before_its_jvm_is_there(scratch: Scratch) -> None:
    program = "import sys; sys.exit('JAVA_GATEWAY_EXITED')"
    with (
        scratch,
        Controller([]) as controller,
        Session(scratch, [sys.executable, "-c", program], os.environ) as session,
        pytest.raises(Died, match="JAVA_GATEWAY_EXITED"),
    ):
        await_jvm(session, controller)


def test_a_jvm_that_never_comes(scratch: Scratch) -> None:
    with (
        scratch,
        Controller([]) as controller,
        Session(scratch, [sys.executable, "-c", PROGRAM], os.environ) as session,
        pytest.raises(Late, match=r"within 0\.1 s"),
    ):
        await_jvm(session, controller, 0.1)
