"""Sinks as they were read, and what is said of the next batch in them."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.formats.names import parse_log_names
from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.scene.sinks import LedgerEntry, Logs, SinkEvidence, SinkVerdict, SinkView, SinkWrite

Q, NOW = "q", 100_000
REPLAY = Logs(5, is_replay=True, committed=4, planned=5, planned_ms=50_000, query_id=Q, now_ms=NOW)
NEXT = Logs(5, committed=4, planned=4, query_id=Q, now_ms=NOW)
FRESH = Logs(0, now_ms=NOW)


def table(last: int | None, *writes: SinkWrite, **fields: object) -> SinkEvidence:
    ledger = () if last is None else (LedgerEntry(Q, last, 51_000),)
    base = SinkEvidence("delta", "t", key=Q, ledger=ledger, writes=writes, seen_from_ms=0)
    return replace(base, **fields)


def write(batch: int | None = 5, at: int | None = 51_001, app_id: str | None = Q, **fields: object) -> SinkWrite:
    base = SinkWrite("version 9", at, app_id, batch)
    return replace(base, **fields)


def other(batch: int, native: bool | None = True) -> tuple[LedgerEntry, ...]:
    return (LedgerEntry("other", batch, 51_000, native),)


def output(*names: str) -> SinkEvidence:
    listed = parse_log_names(names)
    last = max([*listed.ids, *listed.compact_ids], default=None)
    ledger = () if last is None else (LedgerEntry(None, last),)
    return SinkEvidence("file", "out", ledger=ledger, names=listed)


def at(batch: int) -> Logs:
    return Logs(batch, committed=batch - 1, planned=batch - 1, query_id=Q, now_ms=NOW)


def said(evidence: SinkEvidence, facts: Logs = REPLAY) -> tuple[str, list[str]]:
    verdict = judge_sink(SinkView(evidence, facts))
    return verdict.verdict, [f"{one.id} {one.severity}" for one in verdict.findings]


def told(verdict: SinkVerdict) -> list[str]:
    return [one.id for one in verdict.findings]
