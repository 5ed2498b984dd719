"""What is wrong, or odd, in a checkpoint: each check takes the evidence and yields findings. Pure.

Files that could not be read are findings already (`Checkpoint.faults`). Here is what only shows when files are held
against each other. A new check is a function and a line in CHECKS; its ids have an entry in docs/findings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ckpttool.laws.checks import logs, query, sources, state
from ckpttool.model import Finding
from ckpttool.scene.evidence import Evidence

CHECKS: tuple[Callable[[Evidence], Iterator[Finding]], ...] = (
    logs.check_metadata,
    logs.check_heads,
    logs.check_previous_offset,
    logs.check_holes,
    logs.check_names,
    logs.check_leftovers,
    logs.check_first_place,
    logs.check_commit_versions,
    sources.check_source_names,
    sources.check_source_count,
    sources.check_offsets,
    sources.check_steps,
    sources.check_initial_offsets,
    sources.check_file_logs,
    sources.check_empty_entries,
    state.check_directories,
    state.check_partitions,
    query.check_watermark,
    query.check_mode,
    query.check_escaped_path,
)


def check_checkpoint(evidence: Evidence, now_ms: int | None = None) -> tuple[Finding, ...]:
    """All findings, the worst first. `now_ms` lets the check for a living query run."""
    found = [*evidence.checkpoint.faults]
    if evidence.mode != "dstreams":
        for check in CHECKS:
            found.extend(check(evidence))
        if now_ms is not None:
            found.extend(query.check_alive(evidence, now_ms))
    return worst_first(found)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    rank = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings, key=lambda finding: rank[finding.severity]))
