"""Which laws a failure may be of, by what Spark printed of it. Pure.

Each law has the texts that it is recognised by. What is longer of them tells more; where several laws have the same,
the one that people meet more often comes first.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from ckpttool.laws.base import Law
from ckpttool.laws.book import every

VARIES = "…"  # in a text: whatever stands there


class Cause(Struct, frozen=True):
    """A law that a failure may be of. `by`: the text that it was recognised by."""

    law: Law
    by: str

    @property
    def is_vague(self) -> bool:
        """Only what Java calls it: other programs fail with that too."""
        return (
            re.fullmatch(
                r"(?:java\.[a-z]+\.)?\w+(?:Exception|Error)|.*(?:failed|input string|Unexpected end-of-input)", self.by
            )
            is not None
        )

    @property
    def weight(self) -> tuple[bool, int, int]:
        """More of what is always printed is more certain; then how often people meet it."""
        return not self.is_vague, len(self.by.replace(VARIES, "")), self.law.often


def causes_of(told: str) -> tuple[Cause, ...]:
    """The likeliest first. `told`: classes, messages and frames as they were printed, from the outside to the cause."""
    found = [cause for law in _recognised() if (cause := _cause(law, told))]
    telling = [one for one in found if not one.is_vague]
    return tuple(sorted(telling or found, key=lambda one: one.weight, reverse=True))


def _cause(law: Law, told: str) -> Cause | None:
    fitting = [Cause(law, text) for text in law.errors if _says(told, text)]
    return max(fitting, key=lambda one: one.weight, default=None)


def _says(told: str, text: str) -> bool:
    at = 0
    for part in text.split(VARIES):
        at = told.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@cache
def _recognised() -> tuple[Law, ...]:
    return tuple(law for law in every() if law.errors)
