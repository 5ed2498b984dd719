"""`ckpt scan`: a line for each checkpoint that was found."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.fleet.scan import Scan, Sighting
from ckpttool.report.document import Document, Fields, Records, Section, Table
from ckpttool.report.layout import spell_duration

_WORST_FIRST = ("error", "no access", "unknown", "warning", "sound")
_VERDICTS = {1: "error", 3: "unknown"}


def scan_document(scan: Scan, now_ms: int) -> Document:
    records = Records("checkpoints", lambda: (_fields(one, now_ms) for one in scan.sightings))
    return Document("scan", scan.url, dict, lambda: _blocks(scan, now_ms), records)


def _fields(sighting: Sighting, now_ms: int) -> Fields:
    """`error` where the directory could not be looked at; then nothing else is known."""
    blind = sighting.error is not None
    following = {
        "outcome": sighting.next_outcome,
        "batch_id": sighting.next_batch_id,
        "not_looked_at": list(sighting.not_looked_at),
    }
    return {
        "checkpoint": sighting.url,
        "query_id": sighting.query_id,
        "mode": sighting.mode,
        "last_offset_batch": sighting.last_offset_batch,
        "last_commit_batch": sighting.last_commit_batch,
        "newest_ms": sighting.newest_ms,
        "age_ms": _age_ms(sighting, now_ms),
        "next_batch": None if blind else following,
        "verdict": _verdict(sighting),
        "exit_code": sighting.exit_code,
        "findings": [{"id": one.id, "severity": one.severity, "path": one.path} for one in sighting.findings],
        "error": {"message": sighting.error, "next_step": sighting.next_step} if blind else None,
    }


def _blocks(scan: Scan, now_ms: int) -> Iterator[Section]:
    if not scan.sightings:
        yield [f"No checkpoint below {scan.url}."]
        return
    verdicts = [_verdict(one) for one in scan.sightings]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in _WORST_FIRST if word in verdicts)
    said = [f"{len(verdicts)} {'checkpoint' if len(verdicts) == 1 else 'checkpoints'}: {counts}."]
    if any(one.not_looked_at for one in scan.sightings):
        said.append("Not looked at: what is inside state files, sinks, and what is read; ckpt plan-recovery PATH does.")
    yield said
    head = ("Verdict", "Checkpoint", "Query", "Last batch", "Age", "Findings")
    yield [Table(head, [_row(one, scan.url, now_ms) for one in scan.sightings], {3, 4})]


def _row(sighting: Sighting, root: str, now_ms: int) -> tuple[str, ...]:
    last = [number for number in (sighting.last_offset_batch, sighting.last_commit_batch) if number is not None]
    told = [finding.id for finding in sighting.findings if finding.severity != "info"]
    age_ms = _age_ms(sighting, now_ms)
    return (
        _verdict(sighting),
        sighting.url.removeprefix(root.rstrip("/")).lstrip("/") or ".",
        (sighting.query_id or "-")[:8],
        str(max(last)) if last else "-",
        "-" if age_ms is None else spell_duration(age_ms),
        ", ".join(dict.fromkeys(told)) if sighting.error is None else sighting.error,
    )


def _age_ms(sighting: Sighting, now_ms: int) -> int | None:
    return None if sighting.newest_ms is None else max(0, now_ms - sighting.newest_ms)


def _verdict(sighting: Sighting) -> str:
    if sighting.exit_code == 0:
        return "warning" if any(one.severity == "warning" for one in sighting.findings) else "sound"
    return _VERDICTS.get(sighting.exit_code, "no access")
