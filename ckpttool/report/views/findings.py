"""The fields of what is wrong, which all commands have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ckpttool.model import Finding
from ckpttool.report.document import Fields

if TYPE_CHECKING:
    from ckpttool.scene.scene import Failure


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
