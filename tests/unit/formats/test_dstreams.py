"""Names and first bytes in a DStreams checkpoint."""

from __future__ import annotations

import pytest

from ckpttool.formats.dstreams import parse_dstream_names, parse_wal_names, sniff_codec
from ckpttool.model import WalSegment


def test_batch_times_and_backups() -> None:
    checkpoint = parse_dstream_names(
        ["checkpoint-1700000004000", "checkpoint-1700000002000.bk", "checkpoint-1700000002000", "temp", "receivedData"]
    )
    assert checkpoint.times_ms == (1700000002000, 1700000004000)
    assert checkpoint.backup_times_ms == (1700000002000,)
    assert checkpoint.last_ms == 1700000004000


def test_a_backup_alone_is_a_batch_time_too() -> None:
    assert parse_dstream_names(["checkpoint-5.bk"]).times_ms == (5,)


def test_interval_is_the_smallest_step() -> None:
    assert parse_dstream_names(["checkpoint-1000", "checkpoint-9000", "checkpoint-3000"]).interval_ms == 2000


@pytest.mark.parametrize("names", [[], ["checkpoint-1000"], ["checkpoint-1000", "checkpoint-1000.bk"]])
def test_one_time_has_no_interval(names: list[str]) -> None:
    assert parse_dstream_names(names).interval_ms is None


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint-",
        "checkpoint-x",
        "checkpoint--1",
        "checkpoint-1.bk.bk",
        "checkpoint-.bk",
        "checkpoint-1.tmp",
        ".checkpoint-1.crc",
        "checkpoint-9223372036854775808",
        "checkpoint-" + "1" * 5000,
        "checkpoint-١",
        "1",
        "",
    ],
)
def test_other_names_are_not_checkpoints(name: str) -> None:
    checkpoint = parse_dstream_names([name])
    assert (checkpoint.times_ms, checkpoint.last_ms) == ((), None)


def test_write_ahead_log_spans_ascend() -> None:
    names = ["log-1700000060000-1700000120000", "log-1700000000000-1700000060000", ".log-1-2.crc"]
    assert parse_wal_names(names) == (
        WalSegment(1700000000000, 1700000060000),
        WalSegment(1700000060000, 1700000120000),
    )


@pytest.mark.parametrize("name", ["log", "log-", "log-1", "log-1-", "log--1", "log-1-2-3", "log-1-x", "xlog-1-2", ""])
def test_other_names_are_not_write_ahead_logs(name: str) -> None:
    assert parse_wal_names([name]) == ()


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("4C 5A 34 42 6C 6F 63 6B 25", "lz4"),
        ("28 B5 2F FD", "zstd"),
        ("82 53 4E 41 50 50 59 00", "snappy"),
        ("5A 56 00", "lzf"),
        ("5A 56 01", "lzf"),
        ("5A 56 02", None),
        ("AC ED 00 05", "java"),
        ("4C 5A 34", None),
        ("", None),
    ],
)
def test_codec_by_first_bytes(head: str, codec: str | None) -> None:
    assert sniff_codec(bytes.fromhex(head)) == codec
