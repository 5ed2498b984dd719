"""Offset logs: sources by their place in version 1, by their names in version 2."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.offsets import encode_offset_log, parse_offset_log
from ckpttool.model import SourceOffset

METADATA = '{"batchWatermarkMs":7,"batchTimestampMs":1700000000000,"conf":{"spark.sql.shuffle.partitions":"200"}}'


def test_version_1_counts_its_lines() -> None:
    entry = parse_offset_log(f'v1\n{METADATA}\n{{"t":{{"0":1}}}}\n-'.encode(), 3)
    assert (entry.batch_id, entry.version) == (3, 1)
    assert entry.metadata
    assert (entry.metadata.watermark_ms, entry.metadata.timestamp_ms) == (7, 1_700_000_000_000)
    assert entry.sources == (SourceOffset(0, None, '{"t":{"0":1}}'), SourceOffset(1, None, None))


def test_version_2_names_its_sources() -> None:
    entry = parse_offset_log(f"v2\n{METADATA}\norders:5\nclicks:-".encode(), 3)
    assert entry.sources == (SourceOffset(0, "orders", "5"), SourceOffset(1, "clicks", None))


def test_an_empty_metadata_line_is_continuous_processing_and_only_of_version_1() -> None:
    assert parse_offset_log(b"v1\n\n5", 0).metadata is None
    with pytest.raises(MalformedFile, match="metadata line is empty"):
        parse_offset_log(b"v2\n\norders:5", 0)


@pytest.mark.parametrize("data", [b"v1", b"v1\n", f"v2\n{METADATA}\norders".encode(), b'v1\n{"conf":[]}\n5'])
def test_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_offset_log(data, 0)


@pytest.mark.parametrize("data", [f"v1\n{METADATA}\n5\n-", f"v2\n{METADATA}\norders:5", "v1\n\n5"])
def test_an_entry_is_written_as_it_was_read(data: str) -> None:
    assert encode_offset_log(parse_offset_log(data.encode(), 0)) == data.encode()
