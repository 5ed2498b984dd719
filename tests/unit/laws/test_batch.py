"""What stops a batch where it writes."""

from __future__ import annotations

from pathlib import Path

from tests.builders import build
from tests.unit.laws.scenes import next_batch


def test_a_stale_checksum_stops_the_batch_that_takes_its_place(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c")
    (tmp_path / "offsets" / ".2.crc").write_bytes(b"crc\0")
    assert (next_batch(tmp_path).outcome, next_batch(tmp_path).batch_id) == ("error", 2)
