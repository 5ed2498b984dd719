"""The log of a file source, and the offsets that count its entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.health import told_of_health
from ckpttool.scene.around import Around
from tests.builders import build
from tests.unit.laws.scenes import findings, next_batch, scene_of


def test_an_offset_beyond_the_log_of_its_source(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c")
    (tmp_path / "sources" / "0" / "1").unlink()
    assert findings(tmp_path)["source-log-missing"].expected == "sources/0/1"


@pytest.mark.parametrize(("story", "severity"), [("f0 c | f1 c", "error"), ("f0 c | f1", "warning")])
def test_an_entry_of_a_file_sources_log_that_forgot_its_files(tmp_path: Path, story: str, severity: str) -> None:
    """They are read again; that harms where the batch which read them is done."""
    build(tmp_path, story)
    (tmp_path / "sources" / "0" / "1").write_text("v1")
    found = findings(tmp_path)["source-log-entry-empty"]
    assert (found.severity, found.path) == (severity, "sources/0/1")


def test_a_hole_in_the_live_log_of_a_file_source_stops_its_start(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c | f2 c")
    (tmp_path / "sources" / "0" / "1").unlink()
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize(("size", "told"), [(100 * 2**20, True), (2**20, False)])
def test_a_log_that_fills_the_driver(tmp_path: Path, size: int, told: bool) -> None:
    around = Around(log_bytes={"sources/0/9.compact": size})
    found = told_of_health(replace(scene_of(build(tmp_path, "f0 c | f1 c")), around=around))
    assert ("source-log-large" in [one.id for one in found]) is told
