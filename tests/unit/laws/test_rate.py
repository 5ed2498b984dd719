"""The rate source."""

from __future__ import annotations

from pathlib import Path

import pytest

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
