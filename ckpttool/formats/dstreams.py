"""What the names and first bytes of a DStreams checkpoint tell (`StreamingContext.checkpoint`, Spark 1.x to 4.x).

Writers: `CheckpointWriter` (`checkpoint-<ms>[.bk]`) and `FileBasedWriteAheadLog` (`log-<start>-<stop>`). The contents
are Java objects that carry the application's own classes: nothing here, or anywhere else, deserialises them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ckpttool.formats.envelope import LONG_MAX
from ckpttool.model import DStreamCheckpoint, WalSegment

Codec = Literal["lz4", "snappy", "zstd", "lzf", "java"]  # "java": serialised without compression

_MAGICS: tuple[tuple[bytes, Codec], ...] = (
    (b"LZ4Block", "lz4"),
    (b"\x82SNAPPY\x00", "snappy"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"ZV\x00", "lzf"),
    (b"ZV\x01", "lzf"),
    (b"\xac\xed", "java"),
)
_LONGEST_LONG = len(str(LONG_MAX))


def parse_dstream_names(names: Iterable[str]) -> DStreamCheckpoint:
    """The batch times in `checkpoint-<ms>` and `checkpoint-<ms>.bk`; other names are not ours to judge."""
    times: set[int] = set()
    backups: set[int] = set()
    for name in names:
        time = _time(name.removeprefix("checkpoint-").removesuffix(".bk")) if name.startswith("checkpoint-") else None
        if time is not None:
            times.add(time)
            if name.endswith(".bk"):
                backups.add(time)
    return DStreamCheckpoint(tuple(sorted(times)), tuple(sorted(backups)))


def parse_wal_names(names: Iterable[str]) -> tuple[WalSegment, ...]:
    """The spans in `log-<start>-<stop>`, ascending."""
    spans: set[tuple[int, int]] = set()
    for name in names:
        prefix, _, span = name.partition("-")
        start_text, _, stop_text = span.partition("-")
        start, stop = _time(start_text), _time(stop_text)
        if prefix == "log" and start is not None and stop is not None:
            spans.add((start, stop))
    return tuple(WalSegment(start, stop) for start, stop in sorted(spans))


def sniff_codec(head: bytes) -> Codec | None:
    """The compression of a checkpoint or state file by its first 8 bytes."""
    return next((codec for magic, codec in _MAGICS if head.startswith(magic)), None)


def _time(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_LONG):
        return None
    time = int(text)
    return time if time <= LONG_MAX else None
