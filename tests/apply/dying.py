"""The system calls of `ckpt apply`, of which one can be the last, or fail.

What a process leaves that is killed before a call is what is there when nothing changes any more from that call on; so
an exception that nobody catches stands for the kill, and every later call that would change something raises it again.
`test_processes.py` holds the images against those of real processes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

CHANGING = ("open", "write", "link", "rename", "unlink", "mkdir", "rmdir", "utime", "fchown", "fchmod")
NEEDING_ROOM = ("open", "write", "link", "mkdir")
LOOKING = ("read", "scandir", "stat", "fsync")


class Killed(BaseException):
    """The process is gone."""


class System:
    """`os`, where the call number `at` that changes something is `fate`d: `kill` before it, `torn` in the middle of
    it, an errno, or `full`, as a disk is on which removing still goes; `for_good`: and all that follow. `looks`: calls
    count too that change nothing. Nothing is flushed, since no power is lost here."""

    def __init__(
        self, at: int | None = None, fate: str = "kill", *, for_good: bool = True, looks: bool = False
    ) -> None:
        self.at, self.fate, self.for_good, self.looks = at, fate, for_good, looks
        self.calls = 0
        self.told: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = self._flush if name == "fsync" else getattr(os, name)
        return self._guarded(name, real) if name in CHANGING or (self.looks and name in LOOKING) else real

    def _guarded(self, name: str, real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            if name == "open" and not given[1] & os.O_CREAT and not self.looks:
                return real(*given, **named)
            self.calls += 1
            self.told.append(name)
            if self.at is None or self.calls < self.at or (self.calls > self.at and not self.for_good):
                return real(*given, **named)
            if self.fate == "full" and name not in NEEDING_ROOM:
                return real(*given, **named)
            if self.fate == "torn" and name == "write" and self.calls == self.at:
                real(given[0], bytes(given[1])[: len(given[1]) // 2])
            if self.fate in ("kill", "torn"):
                raise Killed
            number = errno.ENOSPC if self.fate == "full" else getattr(errno, self.fate)
            raise OSError(number, os.strerror(number))

        return call

    def _flush(self, descriptor: int) -> None:
        os.fstat(descriptor)


@contextmanager
def on(system: System) -> Iterator[System]:
    with patch("ckpttool.apply.stores.local.os", system), patch("ckpttool.apply.stores.durable.os", system):
        yield system
