"""Waiting for processes and files, no longer than a test may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def wait_until_gone(*pids: int) -> None:
    wait_until(lambda: not any(map(is_alive, pids)))


def wait_until(done: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "the time is up"
        time.sleep(0.01)
