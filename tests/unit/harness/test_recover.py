"""What a restart is written down as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness.place import JobPlace
from ckpttool.harness.recover import failure_of, recover
from ckpttool.harness.scratch import Scratch
from tests.unit.harness.sessions import spark_in


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
