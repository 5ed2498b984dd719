"""What a scan found: a line for each checkpoint, as text and as JSON."""

from __future__ import annotations

from typing import Any

from ckpttool.fleet.scan import Scan, Sighting
from ckpttool.report.json import header
from ckpttool.report.layout import printable, spell_duration, table
from ckpttool.report.style import Style

_WORST_FIRST = ("error", "no access", "unknown", "warning", "sound")
_VERDICTS = {1: "error", 3: "unknown"}


def scan_fields(scan: Scan, now_ms: int) -> dict[str, Any]:
    return {**header("scan", scan.url), "checkpoints": [sighting_fields(one, now_ms) for one in scan.sightings]}


def sighting_fields(sighting: Sighting, now_ms: int) -> dict[str, Any]:
    """`error` where the directory could not be looked at; then nothing else is known."""
    newest_ms, blind = sighting.newest_ms, sighting.error is not None
    following = {"outcome": sighting.next_outcome, "batch_id": sighting.next_batch_id}
    return {
        "checkpoint": sighting.url,
        "query_id": sighting.query_id,
        "mode": sighting.mode,
        "last_offset_batch": sighting.last_offset_batch,
        "last_commit_batch": sighting.last_commit_batch,
        "newest_ms": newest_ms,
        "age_ms": None if newest_ms is None else max(0, now_ms - newest_ms),
        "next_batch": None if blind else following,
        "verdict": _verdict(sighting),
        "exit_code": sighting.exit_code,
        "findings": [{"id": one.id, "severity": one.severity, "path": one.path} for one in sighting.findings],
        "error": {"message": sighting.error, "next_step": sighting.next_step} if blind else None,
    }


def render_scan(scan: Scan, now_ms: int, style: Style) -> str:
    if not scan.sightings:
        return f"No checkpoint below {printable(scan.url)}.\n"
    rows = [_row(one, scan.url, now_ms) for one in scan.sightings]
    head = ("Verdict", "Checkpoint", "Query", "Last batch", "Age", "Findings")
    verdicts = [_verdict(one) for one in scan.sightings]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in _WORST_FIRST if word in verdicts)
    whole = f"{len(rows)} {'checkpoint' if len(rows) == 1 else 'checkpoints'}: {counts}."
    lines = [whole, "", *table(head, rows, style, right=(3, 4))]
    return "\n".join(lines) + "\n"


def _row(sighting: Sighting, root: str, now_ms: int) -> tuple[str, ...]:
    fields = sighting_fields(sighting, now_ms)
    last = [number for number in (fields["last_offset_batch"], fields["last_commit_batch"]) if number is not None]
    told = [finding["id"] for finding in fields["findings"] if finding["severity"] != "info"]
    return (
        fields["verdict"],
        sighting.url.removeprefix(root.rstrip("/")).lstrip("/") or ".",
        (fields["query_id"] or "-")[:8],
        str(max(last)) if last else "-",
        "-" if fields["age_ms"] is None else spell_duration(fields["age_ms"]),
        fields["error"]["message"] if fields["error"] else ", ".join(dict.fromkeys(told)),
    )


def _verdict(sighting: Sighting) -> str:
    if sighting.exit_code == 0:
        return "warning" if any(one.severity == "warning" for one in sighting.findings) else "sound"
    return _VERDICTS.get(sighting.exit_code, "no access")
