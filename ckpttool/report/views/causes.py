"""What happened, above the findings that come of it."""

from __future__ import annotations

from collections.abc import Iterable

from ckpttool.causes.base import ToldCause
from ckpttool.report.document import Fields


def causes_fields(causes: Iterable[ToldCause]) -> list[Fields]:
    return [
        {
            "id": one.id,
            "title": one.known.title,
            "sure": one.sign.sure,
            "shown_by": one.sign.told,
            "would_tell": one.sign.would_tell,
            "advice": one.known.advice,
            "command": one.command,
            "never": list(one.known.never),
            "explains": [{"id": finding.id, "path": finding.path} for finding in one.findings],
        }
        for one in causes
    ]
