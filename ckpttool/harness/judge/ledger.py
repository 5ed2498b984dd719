"""P5: the sink's own record of batches, version by version. Pure.

Delta: each batch id of the query is in exactly one commit, with its txn, in order, and the commit adds exactly the
rows of that batch; nothing else adds rows. File sink: the ids of the manifest have no gap, and no path is in it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ckpttool.errors import MalformedFile
from ckpttool.formats.metadata import parse_metadata
from ckpttool.harness.fold import Folded
from ckpttool.harness.history import Fields, ObservedCommit
from ckpttool.harness.judge.base import (
    NEW_ID,
    UNREADABLE,
    Anomaly,
    Facts,
    Outcome,
    Unknown,
    Valid,
    canonical,
    conclude,
    live_commits,
    some,
)
from ckpttool.harness.reading import last_planned


def ledger_has_each_batch_once(facts: Facts) -> Outcome:
    """P5: the sink's log has every committed batch exactly once, in order, with exactly its rows."""
    if not facts.run.sink.ledger:
        return None
    if facts.has_torn_sink:
        return Valid(UNREADABLE)
    if facts.case.after.sink is None:
        return Unknown("the sink's log was not read") if facts.case.after.offsets else None
    own = _own_commits(facts, facts.case.after.sink)
    anomalies = [
        *_strangers(facts, facts.case.after.sink),
        *_order(facts, own),
        *_missing(facts, own),
        *_paths_twice(own),
        *_rows_of_others(facts, own),
    ]
    unread = [commit.version for commit in own if commit.rows is None]
    if unread and not anomalies:
        return Unknown(f"the rows of version {some(unread)} of the sink were not read")
    return conclude(anomalies)


def _app_ids(facts: Facts) -> set[str]:
    """Under which the query writes; a way out may have given it another one."""
    if facts.run.sink.app_id is not None:
        return {facts.run.sink.app_id}
    texts = [disk.metadata for _, disk in facts.disks() if disk.metadata is not None]
    found = set()
    for text in texts:
        try:
            found.add(parse_metadata(text.encode()).id)
        except MalformedFile:
            continue
    return found


def _own_commits(facts: Facts, commits: Sequence[ObservedCommit]) -> list[ObservedCommit]:
    """The batches whose rows are in the table. A commit without rows that only lowers the record is none."""
    live = [commit for commit in live_commits(commits) if commit.batch_id is not None]
    if facts.case.way_out is None:
        return live
    return [commit for commit in live if commit.rows or commit.files or not _is_in_another(commit, live)]


def _is_in_another(commit: ObservedCommit, commits: Sequence[ObservedCommit]) -> bool:
    return any(one is not commit and one.batch_id == commit.batch_id for one in commits)


def _strangers(facts: Facts, commits: Sequence[ObservedCommit]) -> Iterator[Anomaly]:
    if facts.run.sink.kind == "file":
        return
    known = _app_ids(facts)
    for commit in live_commits(commits):
        rows, versions = commit.rows or (), (commit.version,)
        if commit.batch_id is None and (rows or commit.files):
            message = f"version {commit.version} adds rows and names no batch"
            yield Anomaly("write-without-batch", message, rows, None, versions)
        elif commit.app_id is not None and known and commit.app_id not in known and facts.case.way_out not in NEW_ID:
            message = f"version {commit.version} is a batch of {commit.app_id}, which is not this query"
            yield Anomaly("write-of-another-query", message, rows, commit.batch_id, versions)


def _order(facts: Facts, commits: Sequence[ObservedCommit]) -> Iterator[Anomaly]:
    seen: dict[int, ObservedCommit] = {}
    highest: ObservedCommit | None = None
    for commit in commits:
        assert commit.batch_id is not None
        if first := seen.get(commit.batch_id):
            versions = (first.version, commit.version)
            message = f"batch {commit.batch_id} is in versions {versions[0]} and {versions[1]} of the sink"
            yield Anomaly("batch-twice-in-ledger", message, commit.rows or (), commit.batch_id, versions)
        elif highest and commit.batch_id < (highest.batch_id or 0) and facts.case.way_out is None:
            versions = (highest.version, commit.version)
            message = f"batch {commit.batch_id} comes after batch {highest.batch_id} in the sink's log"
            yield Anomaly("ledger-out-of-order", message, (), commit.batch_id, versions)
        seen.setdefault(commit.batch_id, commit)
        highest = commit if highest is None or commit.batch_id > (highest.batch_id or 0) else highest


def _missing(facts: Facts, commits: Sequence[ObservedCommit]) -> Iterator[Anomaly]:
    recorded = {commit.batch_id for commit in commits}
    rows = facts.folded.rows if isinstance(facts.folded, Folded) else {}
    for batch in sorted(set(facts.case.after.commits) - recorded):
        if facts.case.way_out is not None or (batch in rows and not rows[batch]):
            continue
        message = f"batch {batch} is committed, and the sink's log does not have it"
        yield Anomaly("batch-missing-in-ledger", message, tuple(rows.get(batch, ())), batch)
    planned = last_planned(facts.case.after)
    for commit in commits:
        if planned is not None and (commit.batch_id or 0) > planned and not facts.is_damaged:
            message = f"the sink's log has batch {commit.batch_id}, and the query has planned {planned} at most"
            yield Anomaly("batch-never-planned", message, commit.rows or (), commit.batch_id, (commit.version,))


def _paths_twice(commits: Sequence[ObservedCommit]) -> Iterator[Anomaly]:
    places: dict[str, int] = {}
    for commit in commits:
        for path in commit.files:
            if path in places:
                message = f"{path} is added in {places[path]} and in {commit.version}"
                versions = (places[path], commit.version)
                yield Anomaly("path-twice-in-ledger", message, commit.rows or (), commit.batch_id, versions)
            places.setdefault(path, commit.version)


def _rows_of_others(facts: Facts, commits: Sequence[ObservedCommit]) -> Iterator[Anomaly]:
    """What a version adds is what the batch of its number gives, no more and no less. What a way out has changed in
    the offset log no longer tells what the batches were made of."""
    if not isinstance(facts.folded, Folded) or facts.run.sink.effect == "upsert":
        return
    for commit in commits:
        batch = facts.batch(commit.batch_id)
        if facts.case.rewound_to is not None and (commit.batch_id or 0) > facts.case.rewound_to:
            continue
        expected = facts.folded.rows.get(commit.batch_id if commit.batch_id is not None else -1)
        if commit.rows is None or expected is None or batch is None or batch.is_joint:
            continue
        differing = _difference(expected, commit.rows)
        if differing:
            message = f"version {commit.version} of the sink does not have exactly the rows of batch {commit.batch_id}"
            yield Anomaly("rows-not-of-batch", message, tuple(differing), commit.batch_id, (commit.version,))


def _difference(expected: Sequence[Fields], found: Sequence[Fields]) -> list[Fields]:
    names = sorted({name for row in expected for name in row} or {name for row in found for name in row})
    wanted, there = Counter(_key(row, names) for row in expected), Counter(_key(row, names) for row in found)
    keys = (wanted - there) + (there - wanted)
    by_key: Mapping[str, Fields] = {_key(row, names): row for row in (*expected, *found)}
    return [by_key[key] for key in keys]


def _key(row: Fields, names: Sequence[str]) -> str:
    return canonical([row.get(name) for name in names])
