"""The sources' lines, and where they began."""

from __future__ import annotations

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("text", ["{}", '{"t":{}}', '{"t":null}', "null"])
def test_committed_offsets_without_a_partition_have_everything_read_once_more(tmp_path: Path, text: str) -> None:
    build(tmp_path, SOUND)
    newest = tmp_path / "offsets" / "3"
    newest.write_text(newest.read_text().replace('{"t":{"0":40}}', text))
    told = findings(tmp_path)["offset-regression"]
    assert (told.severity, told.path) == ("error", "offsets/3")
    assert "a second time" in told.message
    assert "source-kind-changed" not in findings(tmp_path)


def test_a_committed_line_without_an_offset_has_its_batch_read_again(tmp_path: Path) -> None:
    told = findings(build(tmp_path, "k0-10 c | k10-20 c | - c"))["offset-regression"]
    assert "reads the rows of batch 2 again" in told.message


def test_a_partition_that_is_not_named_any_more_begins_with_its_earliest_row(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    before = tmp_path / "offsets" / "2"
    before.write_text(before.read_text().replace('{"0":30}', '{"0":30,"1":5}'))
    assert "comes a second time" in findings(tmp_path)["partitions-gone"].message
