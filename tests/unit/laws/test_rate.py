"""The rate source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckpttool import Diagnosis, Scene, Start, diagnose, gather_evidence, open_checkpoint
from tests.builders import build
from tests.unit.laws.scenes import next_batch


@pytest.mark.parametrize("content", [b"", b"v1\nxx", b"v1"])
def test_the_rate_source_cannot_start_without_its_beginning(tmp_path: Path, content: bytes) -> None:
    build(tmp_path, "r5 c | r9 c")
    (tmp_path / "sources" / "0" / "0").write_bytes(content)
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize(("text", "outcome"), [("7", "new_batch"), ("g", "error"), ("", "error")])
def test_the_rate_source_reads_a_number(tmp_path: Path, text: str, outcome: str) -> None:
    root = build(tmp_path, "r3 c | r5 c")
    head, _, _ = (root / "offsets" / "1").read_text().rpartition("\n")
    (root / "offsets" / "1").write_text(f"{head}\n{text}")
    assert next_batch(root).outcome == outcome


def without_beginning(tmp_path: Path, recipe: str) -> Path:
    root = build(tmp_path, recipe)
    shutil.rmtree(root / "sources")
    return root


def test_an_option_of_its_own_tells_a_rate_source_that_has_lost_its_beginning(tmp_path: Path) -> None:
    root = without_beginning(tmp_path, "r3 c | r5 c")
    unsaid, said = (restarted(root, **options) for options in ({}, {"rowsPerSecond": "5"}))
    assert unsaid.prediction.outcome == "unknown"
    assert "--option rowsPerSecond=" in unsaid.prediction.why[0]
    assert (said.prediction.outcome, said.prediction.batch_id) == ("error", 2)
    assert [finding.id for finding in said.findings if finding.severity == "error"] == ["beginning-lost"]


def test_a_batch_that_runs_again_has_its_ends_and_the_next_one_has_not(tmp_path: Path) -> None:
    said = restarted(without_beginning(tmp_path, "r3 c | r5"), rampUpTime="1s")
    assert (said.prediction.outcome, said.prediction.batch_id) == ("replay", 1)
    assert ["the one after it fails" in finding.message for finding in said.findings] == [True]
    assert said.exit_code == 1


@pytest.mark.parametrize(
    ("options", "outcome"),
    [({}, "unknown"), ({"rowsPerSecond": "5"}, "new_batch"), ({"host": "h", "port": "9"}, "error")],
)
def test_the_first_second_may_be_the_first_row_of_a_socket(
    tmp_path: Path, options: dict[str, str], outcome: str
) -> None:
    """A rate source begins there anew, and a socket is told to let go of its row."""
    assert restarted(without_beginning(tmp_path, "r0 c"), **options).prediction.outcome == outcome


def restarted(root: Path, **options: str) -> Diagnosis:
    return diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start((3, 5, 7), options=options)))
