"""What an Iceberg source refuses of a checkpoint, without its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.laws.inputs.lake import Lake, offset, told

ARGUMENT = "IllegalArgumentException"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize("text", ['{"logOffset":3}', "7", "null", offset(1, version=2), offset(1, position=1.5)])
def test_where_the_source_began_is_read_at_every_start(lake: Lake, text: str) -> None:
    lake.ran(offset(1), offset(2), committed=2)
    lake.began(text)
    outcome, phase, error, ids = told(lake.judge())
    assert (outcome, phase, error) == ("error", "init", ARGUMENT)
    assert "iceberg-beginning-refused" in ids


@pytest.mark.parametrize("text", ['{"logOffset":3}', "7", offset(1, version=2)])
@pytest.mark.parametrize("committed", [1, 2])
def test_a_line_is_parsed_in_the_batch(lake: Lake, text: str, committed: int) -> None:
    lake.ran(offset(1), text, committed=committed)
    assert told(lake.judge())[:3] == ("error", "batch", ARGUMENT)


def test_fields_that_it_does_not_know_are_passed_over(lake: Lake) -> None:
    lake.ran(offset(1), offset(2, more=3), committed=2)
    assert told(lake.judge())[0] == "new_batch"


def test_a_batch_that_ends_as_it_begins_is_not_parsed(lake: Lake) -> None:
    lake.ran("{}", "{}", committed=1)
    assert told(lake.judge())[0] == "replay"
