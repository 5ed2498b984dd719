"""The log of a file source, and the offsets that count its entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import findings, next_batch


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


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("file:///lake/orders/c.json", "new_batch"),
        ("file:///lake/orders/late/c.json", "new_batch"),
        ("file:///lake/orders/day=2/c.json", "new_batch"),
        ("file:///lake/returns/c.json", "new_batch"),  # the next in a row of directories, as `path` may be a pattern
        ("file:///pond/orders/c.json", "unknown"),
        ("s3a://bucket/orders/c.json", "unknown"),
    ],
)
def test_an_input_file_that_lies_apart_is_doubted(tmp_path: Path, path: str, outcome: str) -> None:
    """Spark refuses a file outside the source's directory, and no file says where that is."""
    root = build(tmp_path, "f0 c | f1 c | f2 c")
    for number, listed in enumerate(("file:///lake/orders/a.json", "file:///lake/orders/b.json", path)):
        entry = f'{{"path":"{listed}","timestamp":1700000000000,"batchId":{number}}}'
        (root / "sources" / "0" / str(number)).write_text(f"v1\n{entry}")
    assert next_batch(root).outcome == outcome


def test_the_months_of_a_year_are_one_place(tmp_path: Path) -> None:
    root = build(tmp_path, "f0 c | f1 c")
    for number, day in enumerate(("2026/11/30", "2026/12/01")):
        entry = f'{{"path":"s3a://lake/orders/{day}/a.json","timestamp":1700000000000,"batchId":{number}}}'
        (root / "sources" / "0" / str(number)).write_text(f"v1\n{entry}")
    assert next_batch(root).outcome == "new_batch"
