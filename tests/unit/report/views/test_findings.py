"""The fields of a finding: each is there, also where nothing is known of it."""

from __future__ import annotations

from ckpttool.model import Finding, Position, SparkError
from ckpttool.report.views.findings import findings_fields


def test_what_is_known_is_told() -> None:
    finding = Finding("some-id", "error", "offsets/1", "no", "yes", "mend it", Position(2, 7), SparkError("a.B", "C"))
    assert findings_fields([finding]) == [
        {
            "id": "some-id",
            "severity": "error",
            "path": "offsets/1",
            "position": {"line": 2, "byte": 7},
            "message": "no",
            "expected": "yes",
            "next_step": "mend it",
            "spark": {"class": "a.B", "condition": "C"},
        }
    ]


def test_what_is_not_known_is_null() -> None:
    [fields] = findings_fields([Finding("some-id", "info", "", "no")])
    assert {name for name, value in fields.items() if value is None} == {"position", "expected", "next_step", "spark"}
