"""What a restart will do, as far as the two logs decide it. Pure.

The rule common to Spark 2.4 and later: only the highest offset file, the one before it and the highest commit are
opened. Equal heads: a new batch. An offset without a commit: exactly that batch again. Everything else is an error or
loses something. Where releases differ, the range of the writing release decides, and an open range says "unknown".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ckpttool.errors import MalformedFile
from ckpttool.evidence import Evidence
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.file_log import compact_interval, live_log_ids
from ckpttool.formats.names import parse_long
from ckpttool.model import Checkpoint, SourceLog

DEFAULT_COMPACT_INTERVAL = 10
UNREAD = ("unreadable", "file-vanished")  # ids of faults that say nothing about what Spark would read
_MISSING_AT_MOST = 1000  # a stray compact file can make the live log two billion entries long

Outcome = Literal["replay", "new_batch", "fresh_start", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class NextBatch:
    """The batch that a restart runs first. For `error`: the batch that is tried, None if none is reached."""

    outcome: Outcome
    batch_id: int | None
    why: tuple[str, ...]


def predict_next_batch(evidence: Evidence) -> NextBatch:
    checkpoint = evidence.checkpoint
    if evidence.mode == "dstreams":
        return NextBatch("unknown", None, ("a DStreams checkpoint restarts only inside the application that wrote it",))
    return (
        _by_metadata(evidence)
        or _by_unreadable_heads(checkpoint)
        or _by_odd_names(checkpoint)
        or _by_source_lines(evidence)
        or _by_source_logs(checkpoint)
        or _by_initial_offsets(evidence)
        or (
            _continuous(checkpoint)
            if evidence.mode == "continuous"
            else _by_what_follows(evidence, _by_heads(evidence))
        )
    )


def _by_metadata(evidence: Evidence) -> NextBatch | None:
    checkpoint = evidence.checkpoint
    for fault in checkpoint.faults:
        if fault.path == "metadata" and fault.id in UNREAD:
            return NextBatch("unknown", None, (f"`metadata`: {fault.message}",))
        if fault.path == "metadata":
            return NextBatch("error", None, ("`metadata` cannot be read: `start()` itself fails",))
    if checkpoint.metadata or not (checkpoint.offset_names.ids or checkpoint.commit_names.ids):
        return None
    low, high = evidence.written_by.min, evidence.written_by.max
    if high is not None and _release(high) < (4, 2):
        return None
    if low is not None and _release(low) >= (4, 2):
        return NextBatch("error", None, ("`metadata` is missing: since Spark 4.2 `start()` refuses that",))
    return NextBatch(
        "unknown", None, ("`metadata` is missing: Spark 4.2 and later refuse to start, earlier ones take a new id",)
    )


def _by_unreadable_heads(checkpoint: Checkpoint) -> NextBatch | None:
    """Spark never falls back to an older file: what it opens must parse."""
    opened = ["offsets", "commits", *(f"offsets/{batch}" for batch in checkpoint.offset_names.ids[-2:])]
    opened += [f"commits/{batch}" for batch in checkpoint.commit_names.ids[-1:]]
    for fault in checkpoint.faults:
        if fault.path in opened:
            outcome: Outcome = "unknown" if fault.id in UNREAD else "error"
            return NextBatch(outcome, None, (f"{fault.path}: {fault.message}",))
    return None


def _by_odd_names(checkpoint: Checkpoint) -> NextBatch | None:
    """`005` and `+5` count as 5; if that is the highest, Spark opens the file `5`, which is not there."""
    for directory, names in (("offsets", checkpoint.offset_names), ("commits", checkpoint.commit_names)):
        last = -1 if names.last is None else names.last
        for name in names.non_canonical:
            if (parse_long(name) or 0) > last:
                why = f"{directory}/{name} counts as batch {parse_long(name)}, and Spark opens it under that name"
                return NextBatch("error", None, (why,))
    return None


def _by_source_lines(evidence: Evidence) -> NextBatch | None:
    """Both files that Spark opens must have one line per source of the query."""
    newest = [batch for batch in evidence.batches if batch.entry and batch.entry.version == 1][-2:]
    counts = {len(batch.sources) for batch in newest if batch.id >= (evidence.checkpoint.last_offset_batch or 0) - 1}
    if len(counts) > 1 or counts == {0}:
        spelled = " and ".join(f"offsets/{batch.id} has {len(batch.sources)}" for batch in newest)
        return NextBatch("error", None, (f"the number of source lines must be the query's: {spelled}",))
    return None


def _by_source_logs(checkpoint: Checkpoint) -> NextBatch | None:
    for fault in checkpoint.faults:
        if fault.id == "source-log-torn":
            return NextBatch("error", None, (f"{fault.path}: {fault.message}",))
    for log in checkpoint.source_logs:
        try:
            missing = missing_live_entries(log)
        except MalformedFile as error:
            return NextBatch("error", None, (f"sources/{log.name}: {error.message}",))
        if missing:
            return NextBatch("error", None, (f"sources/{log.name}/{missing[0]} is missing, and its source reads it",))
    return None


def _by_initial_offsets(evidence: Evidence) -> NextBatch | None:
    """The rate source reads `sources/<n>/0` at every start; the others only while batch 0 is not committed."""
    checkpoint = evidence.checkpoint
    faulty = {fault.path for fault in checkpoint.faults} | {
        f"sources/{name}/0" for name in unusable_initials(checkpoint)
    }
    for source in evidence.newest.sources if evidence.newest else ():
        path = f"sources/{source.name or source.index}/0"
        if path in faulty and source.offset and source.offset.kind in ("rate", "integer"):
            return NextBatch("error", None, (f"{path} is not the time at which the rate source began",))
        if path in faulty and checkpoint.last_commit_batch is None:
            return NextBatch("unknown", None, (f"{path}, where batch 0 begins, cannot be used",))
    return None


def unusable_initials(checkpoint: Checkpoint) -> list[str]:
    """The sources whose initial offset is there and is not JSON."""
    return [log.name for log in checkpoint.source_logs if log.initial and not _is_json(log.initial.text)]


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except MalformedFile:
        return False
    return True


def missing_live_entries(log: SourceLog) -> list[int]:
    """What a file source's log lacks of its live part: the newest compact file and everything after it."""
    last = max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=None)
    if log.kind != "file" or last is None:
        return []
    present = {*log.names.ids, *log.names.compact_ids}
    live = live_log_ids(last, compact_interval(log.names.compact_ids, DEFAULT_COMPACT_INTERVAL))
    return list(islice((number for number in live if number not in present), _MISSING_AT_MOST))


def _continuous(checkpoint: Checkpoint) -> NextBatch:
    last = checkpoint.last_commit_batch
    if last is None:
        return NextBatch("fresh_start", 0, ("no epoch was committed",))
    if last not in checkpoint.offset_names.ids:
        return NextBatch("error", None, (f"epoch {last} was committed without offsets/{last}",))
    return NextBatch("new_batch", last + 1, (f"continuous processing goes on after commits/{last}",))


def _by_heads(evidence: Evidence) -> NextBatch:
    checkpoint = evidence.checkpoint
    planned, committed = checkpoint.last_offset_batch, checkpoint.last_commit_batch
    if planned is None and committed is None:
        return NextBatch("fresh_start", 0, ("offsets/ and commits/ hold no batch",))
    if planned is None:
        return NextBatch("error", None, (f"commits/{committed} is there and offsets/ is empty",))
    if planned and planned - 1 not in checkpoint.offset_names.ids and evidence.mode != "async":
        return NextBatch("error", None, (f"offsets/{planned} is the highest, and offsets/{planned - 1} is not there",))
    if committed is not None and committed > planned:
        why = f"commits/{committed} is ahead of offsets/{planned}: batch {planned} runs again and cannot be committed"
        return NextBatch("error", planned, (why,))
    if committed == planned:
        return NextBatch(
            "new_batch", planned + 1, (f"offsets/{planned} is the highest, and commits/{planned} is there",)
        )
    if evidence.mode == "realtime":
        why = f"real-time mode deletes offsets/{planned}, which has no commit, and plans anew"
        return NextBatch("new_batch", 0 if committed is None else committed + 1, (why,))
    if repartition := _unfinished_repartition(evidence, planned):
        return repartition
    why = f"offsets/{planned} is the highest, commits/{planned} is not there"
    return NextBatch("replay", planned, (why,))


def _by_what_follows(evidence: Evidence, following: NextBatch) -> NextBatch:
    """What stops the batch that the heads promise."""
    checkpoint, batch = evidence.checkpoint, following.batch_id
    if following.outcome in ("error", "unknown"):
        return following
    stale = f".{batch}.crc"
    local = "://" not in checkpoint.url  # only Hadoop's local file system has such checksums, and trips over them
    if local and following.outcome == "new_batch" and stale in checkpoint.offset_names.orphan_crcs:
        why = f"the stale offsets/{stale} stops the writing of offsets/{batch}, once; then the batch is replayed"
        return NextBatch("error", batch, (why,))
    newest = evidence.newest
    for source in newest.sources if newest else ():
        for problem in source.offset.problems() if source.offset else ():
            why = f"source {source.name or source.index} in offsets/{newest.id if newest else ''}: {problem}"
            return NextBatch("unknown", None, (*following.why, why))
    if following.outcome != "fresh_start" and not checkpoint.operators and newest and newest.watermark_ms:
        return NextBatch("unknown", None, (*following.why, "a watermark moves, and there is no state: was it lost?"))
    return following


def _unfinished_repartition(evidence: Evidence, planned: int) -> NextBatch | None:
    """Since 4.2 an uncommitted batch whose partition count differs from the one before stops the start."""
    counts = {partition_count(evidence, batch) for batch in (planned, planned - 1)}
    if planned == 0 or len(counts) < 2 or None in counts:
        return None
    low, high = evidence.written_by.min, evidence.written_by.max
    if high is not None and _release(high) < (4, 2):
        return None
    why = (
        f"offsets/{planned} and offsets/{planned - 1} pin different numbers of partitions, and {planned} has no commit"
    )
    return NextBatch("error" if low is not None and _release(low) >= (4, 2) else "unknown", None, (why,))


def partition_count(evidence: Evidence, batch: int) -> str | None:
    entry = evidence.checkpoint.offsets.get(batch)
    return entry.metadata.conf.get("spark.sql.shuffle.partitions") if entry and entry.metadata else None


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))[:2]
