"""The sources' lines, and where they began."""

from __future__ import annotations

from pathlib import Path

from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings, next_batch


def test_a_sentinel_of_kafka_is_no_position(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    newest = tmp_path / "offsets" / "3"
    newest.write_text(newest.read_text().replace('{"0":40}', '{"0":-1}'))
    assert findings(tmp_path)["sentinels-in-checkpoint"].severity == "error"


def test_a_partition_that_is_no_longer_read(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    before = tmp_path / "offsets" / "2"
    before.write_text(before.read_text().replace('{"0":30}', '{"0":30,"1":5}'))
    assert "t-1" in findings(tmp_path)["partitions-gone"].message


def test_where_kafka_began_matters_until_the_first_commit(tmp_path: Path) -> None:
    (build(tmp_path / "a", "k0-5 c | k5-9 c") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    assert next_batch(tmp_path / "a").outcome == "new_batch"
    (build(tmp_path / "b", "k0-5") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    refused = next_batch(tmp_path / "b")
    assert (refused.outcome, refused.law and refused.law.id) == ("error", "kafka-beginning-refused")
