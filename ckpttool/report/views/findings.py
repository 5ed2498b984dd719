"""What is wrong, which all commands tell alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.model import Finding
from ckpttool.report.document import Block, Fields, Findings
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.scene.scene import Failure

_SHOWN = 100


def findings_fields(findings: Iterable[Finding]) -> list[Fields]:
    return [_finding_fields(finding) for finding in findings]


def _finding_fields(finding: Finding) -> Fields:
    return {
        "id": finding.id,
        "severity": finding.severity,
        "path": finding.path,
        "position": {"line": finding.position.line, "byte": finding.position.byte} if finding.position else None,
        "message": finding.message,
        "expected": finding.expected,
        "next_step": finding.next_step,
        "spark": {"class": finding.spark.class_name, "condition": finding.spark.condition} if finding.spark else None,
    }


def failure_fields(failure: Failure) -> Fields:
    """How a restart ends, as far as every command tells it."""
    return {
        "phase": failure.phase,
        "class": failure.class_name,
        "condition": failure.condition,
        "message": failure.message,
    }


def findings_section(findings: Sequence[Finding], *, verbose: bool) -> Iterator[Block]:
    """The first ones, and how many are left."""
    yield Findings(findings if verbose else findings[:_SHOWN])
    if (left := len(findings) - _SHOWN) > 0 and not verbose:
        yield f"… {left:,} more of {counted(len(findings), 'finding')}: --verbose, or --format json"
