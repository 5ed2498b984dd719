"""CPU time and peak memory of whole processes, interleaved so that a busy spell hits every candidate alike."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

CKPT = [sys.executable, "-c", "from ckpttool.cli import main; main()"]
BARE = [sys.executable, "-c", "pass"]


@dataclass(frozen=True)
class Gate:
    """A claim: what was measured, the limit, and whether it holds."""

    name: str
    measured: float
    limit: float
    unit: str = "x"

    @property
    def holds(self) -> bool:
        return self.measured <= self.limit

    def __str__(self) -> str:
        verdict = "ok  " if self.holds else "MISS"
        return f"{verdict} {self.name:<56} {self.measured:8.2f} {self.unit:<3} limit {self.limit:.2f}"


def cpu_seconds(commands: Mapping[str, Sequence[str]], rounds: int = 11) -> dict[str, float]:
    """The median CPU time (user and system) of each command over interleaved rounds, after one round to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            cpu = cpu_of(command)
            if turn:
                taken[name].append(cpu)
    return {name: median(times) for name, times in taken.items()}


# Starts a command from a small process: a child begins with the peak of its parent.
_FROM_A_SMALL_ONE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss)
sys.exit(process.returncode)
"""


def peak_memory_bytes(command: Sequence[str]) -> int:
    ran = subprocess.run([sys.executable, "-c", _FROM_A_SMALL_ONE, *command], capture_output=True, check=True)
    return int(ran.stdout) * (1 if sys.platform == "darwin" else 1024)


def cpu_of(command: Sequence[str]) -> float:
    # Bytecode is kept, as in an installed package; compiling it anew would be measured otherwise.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {resource.getpagesize()} B pages"
