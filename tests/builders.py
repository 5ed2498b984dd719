"""A tiny language for checkpoints: `build(root, "k0-10 c | k10-20 w5000")` is a Kafka query whose batch 1 is pending.

Batches stand between `|`, oldest first. The words of one batch, in any order but that of its sources:

    b7        its number; else one more than the batch before, beginning at 0
    k10-20    a Kafka source (topic t, partition 0) that reads rows 10 to 20
    f3        a file source that has reached entry 3 of its own log
    r5        a rate source that has reached second 5
    -         a source without an offset yet
    w5000     the watermark it runs with, in milliseconds
    t9000     the time it was planned at; else a minute after the batch before
    c  c5000  committed, with the next watermark; without it the batch is pending
    lost      its offsets are not there (any more)

The pinned configuration is what the Spark of `spark` writes. Files are as old as their batches.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.metadata import encode_metadata
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.model import (
    CommitLogEntry,
    FileLogEntry,
    InitialOffset,
    OffsetLogEntry,
    OffsetMetadata,
    QueryMetadata,
    SinkCommit,
    SourceOffset,
)
from ckpttool.releases import since
from ckpttool.scene.evidence import PINNED_DEFAULTS
from tests.encoders import encode_initial_offset, encode_source_log

QUERY_ID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
EPOCH_MS = 1_700_000_000_000
MINUTE_MS = 60_000


@dataclass
class Planned:
    id: int
    timestamp_ms: int
    sources: list[str] = field(default_factory=list)
    watermark_ms: int = 0
    committed: bool = False
    next_watermark_ms: int = 0
    lost: bool = False


def build(
    root: Path, story: str, *, spark: str = "4.2.0", offsets_version: int = 1, commits_version: int | None = None
) -> Path:
    """Write the checkpoint that `story` tells below `root`, and return `root`."""
    release = tuple(map(int, spark.split(".")))
    for directory in ("offsets", "commits"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    write(root / "metadata", encode_metadata(QueryMetadata(QUERY_ID)), EPOCH_MS)
    for batch in parse_story(story):
        if not batch.lost:
            entry = offset_entry(batch, pinned_conf(release), offsets_version)
            write(root / "offsets" / str(batch.id), encode_offset_log(entry), batch.timestamp_ms)
        if batch.committed:
            commit = commit_entry(batch, release, commits_version or 1)
            write(root / "commits" / str(batch.id), encode_commit_log(commit), batch.timestamp_ms + 500)
        for index, word in enumerate(batch.sources):
            keep_source_files(root / "sources" / str(index), word, batch.timestamp_ms)
    return root


def write(path: Path, data: bytes, time_ms: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


def parse_story(story: str) -> list[Planned]:
    batches: list[Planned] = []
    for words in filter(str.strip, story.split("|")):
        before = batches[-1] if batches else Planned(-1, EPOCH_MS - MINUTE_MS)
        batch = Planned(before.id + 1, before.timestamp_ms + MINUTE_MS)
        for word in words.split():
            _tell(batch, word)
        batches.append(batch)
    return batches


def _tell(batch: Planned, word: str) -> None:
    kind, number = word[0], word[1:]
    if word == "lost":
        batch.lost = True
    elif re.fullmatch(r"k\d+-\d+|f\d+|r\d+|-", word):
        batch.sources.append(word)
    elif re.fullmatch(r"c\d*", word):
        batch.committed, batch.next_watermark_ms = True, int(number or 0)
    elif re.fullmatch(r"[bwt]\d+", word):
        setattr(batch, {"b": "id", "w": "watermark_ms", "t": "timestamp_ms"}[kind], int(number))
    else:
        raise ValueError(f"{word!r} is no word of a batch")


def pinned_conf(release: tuple[int, ...]) -> dict[str, str]:
    """What a session of this release pins when nothing was set."""
    return {key: PINNED_DEFAULTS[key][0] for key, first in since.PINNED.items() if first <= release}


def offset_entry(batch: Planned, conf: dict[str, str], version: int) -> OffsetLogEntry:
    sources = [
        SourceOffset(index, str(index) if version == 2 else None, offset_text(word))
        for index, word in enumerate(batch.sources)
        if version == 1 or word != "-"  # version 2 leaves out what has no offset
    ]
    metadata = OffsetMetadata(batch.watermark_ms, batch.timestamp_ms, conf)
    return OffsetLogEntry(batch.id, version, metadata, tuple(sources))


def offset_text(word: str) -> str | None:
    if word.startswith("k"):
        return f'{{"t":{{"0":{word.partition("-")[2]}}}}}'
    return {"f": f'{{"logOffset":{word[1:]}}}', "r": word[1:]}.get(word[0])


def commit_entry(batch: Planned, release: tuple[int, ...], version: int) -> CommitLogEntry:
    return CommitLogEntry(
        batch_id=batch.id,
        version=version,
        next_watermark_ms=batch.next_watermark_ms if release >= (2, 4) else None,
        state_unique_ids={0: (("e8f1",),)} if version >= 2 else None,
        sinks=(SinkCommit("0", "", "noop", "v2", True),) if version == 3 else (),
    )


def keep_source_files(directory: Path, word: str, time_ms: int) -> None:
    """What the source itself leaves under `sources/`: where it began, or the file source's own log."""
    kind, first = word[0], word[1:].partition("-")[0]
    path = directory / (first if kind == "f" else "0")
    if kind == "-" or path.exists():
        return
    data = {
        "k": lambda: encode_initial_offset(InitialOffset(1, f'{{"t":{{"0":{first}}}}}', 0)),
        "r": lambda: encode_initial_offset(InitialOffset(1, str(EPOCH_MS), None)),
        "f": lambda: encode_source_log([FileLogEntry(f"file:///in/{first}.json", EPOCH_MS, int(first))]),
    }[kind]()
    write(path, data, time_ms)
