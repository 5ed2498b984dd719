"""Offsets written again from the query's progress, where all that is known of them agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.formats.progress import BatchProgress
from ckpttool.plan import Plan
from ckpttool.plan.wishes import RestoreOffsets
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID, build
from tests.take_steps import take_steps
from tests.unit.plan.plans import KAFKA, look
from tests.unit.plan.wishes.asked import why

STORY = "k0-10 c | k10-30 c | k30-60 c"


def at(row: int) -> str:
    return f'{{"t":{{"0":{row}}}}}'


TOLD = BatchProgress(QUERY_ID, 2, EPOCH_MS + 2 * MINUTE_MS, 0, (at(30),), (at(60),))


def asked(root: Path, told: BatchProgress = TOLD) -> Plan:
    return look(root, KAFKA, wish=RestoreOffsets(told))[0]


@pytest.mark.parametrize("torn", [None, b"", b"v1\n{"], ids=["gone", "empty", "cut"])
def test_the_very_bytes_come_back(torn: bytes | None, tmp_path: Path) -> None:
    path = build(tmp_path, STORY) / "offsets" / "2"
    before = path.read_bytes()
    path.unlink()
    if torn is not None:
        path.write_bytes(torn)
    (way,) = asked(tmp_path).options
    assert way.id == "restore-offsets"
    take_steps(tmp_path, way.steps)
    assert path.read_bytes() == before
    assert look(tmp_path, KAFKA)[1].batch_id == 3


def test_of_the_batch_before_the_newest_too(tmp_path: Path) -> None:
    (build(tmp_path, STORY) / "offsets" / "1").unlink()
    told = replace(TOLD, batch_id=1, timestamp_ms=EPOCH_MS + MINUTE_MS, starts=(at(10),), ends=(at(30),))
    (way,) = asked(tmp_path, told).options
    take_steps(tmp_path, way.steps)
    assert look(tmp_path, KAFKA)[1].outcome == "new_batch"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (replace(TOLD, query_id=QUERY_ID.replace("0", "1")), "is of query"),
        (replace(TOLD, ends=(at(60), at(60))), "2 sources"),
        (replace(TOLD, starts=(at(29),)), "begins elsewhere"),
        (replace(TOLD, batch_id=9), "none can be read"),
    ],
)
def test_what_does_not_fit_is_refused(told: BatchProgress, reason: str, tmp_path: Path) -> None:
    (build(tmp_path, STORY) / "offsets" / "2").unlink()
    assert reason in why(asked(tmp_path, told))


def test_the_progress_of_another_time_is_refused(tmp_path: Path) -> None:
    (build(tmp_path, STORY) / "offsets" / "1").unlink()
    told = replace(TOLD, batch_id=1, timestamp_ms=EPOCH_MS + 9 * MINUTE_MS, starts=(at(10),), ends=(at(30),))
    assert "younger" in why(asked(tmp_path, told))


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    assert "stands there already" in why(asked(tmp_path))
    assert "says something else" in why(asked(tmp_path, replace(TOLD, ends=(at(61),))))


def test_of_named_sources_nobody_knows_which_is_which(tmp_path: Path) -> None:
    (build(tmp_path, "k0-10 f0 c | k10-30 f1 c", offsets_version=2) / "offsets" / "1").unlink()
    told = replace(TOLD, batch_id=1, starts=(at(10), '{"logOffset":0}'), ends=(at(30), '{"logOffset":1}'))
    assert "which is which" in why(asked(tmp_path, told))
