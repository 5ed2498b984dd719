"""P2, P3, P4, P7 and P8: the checkpoint's own logs. Pure.

Where somebody edited the files, they need not look as Spark leaves them, and most of this does not apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.metadata import parse_metadata
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.harness.fold import Folded
from ckpttool.harness.history import Disk
from ckpttool.harness.judge.base import (
    NEW_ID,
    Anomaly,
    Facts,
    Outcome,
    Unknown,
    conclude,
    is_planned_and_uncommitted,
    some,
)
from ckpttool.harness.reading import last_commit, last_planned, next_watermark
from ckpttool.words import counted


def ranges_tile(facts: Facts) -> Outcome:
    """P2: each batch begins where the one before ended, never further back, and the last reaches the input's end."""
    if facts.is_damaged:
        return None
    reading = facts.reading
    if isinstance(reading, str):
        return Unknown(reading)
    anomalies = list(_went_back(facts))
    if facts.case.drained and reading.unread:
        rows = tuple(record.fields for record in reading.unread)
        anomalies.append(
            Anomaly("input-not-read", f"the query ended by itself, and no batch read {counted(len(rows), 'row')}", rows)
        )
    return conclude(anomalies)


def _went_back(facts: Facts) -> Iterator[Anomaly]:
    ends = {batch: _offsets(facts, text, batch) for batch, text in sorted(facts.case.after.offsets.items())}
    for (_, start), (batch, end) in pairwise(ends.items()):
        for index, offset in end.items():
            before = start.get(index)
            if before is not None and offset.order(before) not in (Order.EQUAL, Order.AFTER):
                message = f"source {index} ends at {offset.summary()} and began at {before.summary()}"
                yield Anomaly("range-went-back", message, batch_id=batch)


def _offsets(facts: Facts, text: str, batch: int) -> dict[int, Offset]:
    kinds = {source.index: source.kind for source in facts.run.sources}
    lines = parse_offset_log(text.encode(), batch).sources
    return {line.index: recognise_offset(line.text, kinds.get(line.index)) for line in lines if line.text is not None}


def replay_is_the_same(facts: Facts) -> Outcome:
    """P3: a batch that was planned before the crash is run with the same offsets, and what the sink logged of it
    stays."""
    if facts.is_damaged:
        return None
    return conclude(
        anomaly
        for crash in facts.case.crashes
        for anomaly in (*_offsets_changed(facts, crash.disk), *_log_rewritten(facts, crash.disk))
    )


def _kept(facts: Facts, batch: int) -> bool:
    return facts.case.rewound_to is None or batch <= facts.case.rewound_to


def _offsets_changed(facts: Facts, before: Disk) -> Iterator[Anomaly]:
    after = facts.case.after.offsets
    for batch, text in before.offsets.items():
        # Older ones may be purged.
        vanished = batch not in after and batch > max(after, default=-1)
        if _kept(facts, batch) and (vanished or after.get(batch, text) != text):
            yield Anomaly("offsets-changed", f"offsets/{batch} is not what it was at the crash", batch_id=batch)


def _log_rewritten(facts: Facts, before: Disk) -> Iterator[Anomaly]:
    after = {commit.version: commit for commit in facts.case.after.sink or ()}
    for commit in before.sink or ():
        if commit.version in after and after[commit.version] != commit and facts.case.way_out is None:
            message = f"version {commit.version} of the sink's log is not what it was at the crash"
            yield Anomaly("sink-log-rewritten", message, commit.rows or (), commit.batch_id, (commit.version,))


def logs_have_their_shape(facts: Facts) -> Outcome:
    """P4: every commit has its offsets, at most one planned batch is not committed, and none is left out."""
    if facts.is_damaged:
        return None
    anomalies = [anomaly for when, disk in facts.disks() for anomaly in _heads(when, disk)]
    anomalies += _holes(facts.case.after) if facts.case.way_out is None else ()
    left = is_planned_and_uncommitted(facts.case.after)
    if facts.case.drained and left is not None:
        message = f"the query ended by itself, and batch {left} is not committed"
        anomalies.append(Anomaly("batch-not-committed", message, batch_id=left))
    return conclude(anomalies)


def _heads(when: str, disk: Disk) -> Iterator[Anomaly]:
    planned, committed = last_planned(disk), last_commit(disk)
    if committed is not None and (planned is None or committed > planned):
        yield Anomaly("commit-without-offsets", f"{when} commits/{committed} has no offsets", batch_id=committed)
    elif planned is not None and planned - (-1 if committed is None else committed) > 1:
        message = f"{when} offsets reach batch {planned}, and commits {committed}"
        yield Anomaly("heads-too-far-apart", message, batch_id=planned)


def _holes(disk: Disk) -> Iterator[Anomaly]:
    for log, batches in ((layout.OFFSETS, disk.offsets), (layout.COMMITS, disk.commits)):
        lacking = sorted(set(range(min(batches, default=0), max(batches, default=0))) - set(batches))
        if lacking:
            yield Anomaly("batch-hole", f"{log} lacks {some(lacking)}", batch_id=lacking[0])


def watermark_is_right(facts: Facts) -> Outcome:
    """P7: the watermark never goes back, and is the latest event time so far less the delay."""
    reading = facts.reading
    if facts.is_damaged:
        return None
    if isinstance(reading, str):
        return Unknown(reading)
    anomalies = [
        Anomaly("watermark-went-back", f"from {one.watermark_ms} to {other.watermark_ms}", batch_id=other.batch_id)
        for one, other in pairwise(reading.batches)
        if other.watermark_ms < one.watermark_ms
    ]
    if isinstance(facts.folded, Folded) and facts.folded.watermarks is not None:
        anomalies += _wrong_watermarks(facts, facts.folded.watermarks)
    return conclude(anomalies)


def _wrong_watermarks(facts: Facts, expected: Mapping[int, int]) -> Iterator[Anomaly]:
    assert not isinstance(facts.reading, str)
    for batch in facts.reading.batches:
        right = expected[batch.batch_id]
        if not batch.is_joint and batch.watermark_ms != right:
            message = f"offsets/{batch.batch_id} has the watermark {batch.watermark_ms}, the input makes it {right}"
            yield Anomaly("watermark-wrong", message, batch_id=batch.batch_id)
        handed = next_watermark(facts.case.after, batch.batch_id - 1)
        if handed is not None and handed != right:
            message = f"commits/{batch.batch_id - 1} hands on the watermark {handed}, the input makes it {right}"
            yield Anomaly("watermark-wrong", message, batch_id=batch.batch_id - 1)


def identity_is_kept(facts: Facts) -> Outcome:
    """P8: the query keeps its id, and every start has a run id of its own."""
    case = facts.case
    anomalies: list[Anomaly] = []
    before = next((crash.disk.metadata for crash in case.crashes if crash.disk.metadata is not None), None)
    if before is not None and case.way_out not in NEW_ID and not facts.is_damaged:
        after = case.after.metadata
        if _query_id(before) != _query_id(after or ""):
            anomalies.append(Anomaly("query-id-changed", f"from {before.strip()} to {(after or 'nothing').strip()}"))
        elif before != after:
            anomalies.append(Anomaly("metadata-changed", "the file was written again"))
    runs = [*case.run_ids, *(restart.run_id for restart in case.restarts if restart.run_id is not None)]
    if twice := sorted({run for run in runs if runs.count(run) > 1}):
        anomalies.append(Anomaly("run-id-kept", f"{twice[0]} is the id of two runs"))
    return conclude(anomalies)


def _query_id(text: str) -> str | None:
    try:
        return parse_metadata(text.encode()).id
    except MalformedFile:
        return json.dumps(text)
