"""Which request to a store fails, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from tests.parts.proxy import Answer, Proxy, Request

Fate = Literal["never", "lost", "busy", "late", "expired"]
FATES: tuple[Fate, ...] = ("never", "lost", "busy", "late", "expired")

_BUSY = (503, 500, 429)
_EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>token=SECRET123</Message></Error>"


@dataclass(frozen=True)
class Trouble:
    """The request with this number, and if it stays all after it: not sent, its answer lost, refused for a while,
    arriving after it was given up, or with credentials that have expired."""

    at: int
    fate: Fate
    stays: bool = False

    def answer(self) -> Answer:
        match self.fate:
            case "never":
                return Answer(broken="reset")
            case "lost":
                return Answer(broken="lost")
            case "late":
                return Answer(broken="late")
            case "busy":
                return Answer(_BUSY[self.at % 3])
            case "expired":
                return Answer(403, _EXPIRED, {"Content-Type": "application/xml"})

    def instead(self) -> Callable[[Request], Answer | None]:
        numbers = count(1)

        def instead(_: Request) -> Answer | None:
            number = next(numbers)
            hit = number >= self.at if self.stays else number == self.at
            return self.answer() if hit else None

        return instead


def let_fail(proxy: Proxy, trouble: Trouble | None) -> None:
    """None: no more, and what was given up arrives too."""
    proxy.instead = trouble.instead() if trouble else lambda _: None
    if trouble is None:
        proxy.deliver()
