"""What inputs that were built to cost much do cost: seconds of CPU and peak memory, of every command that gets to see
them, and per byte that somebody had to write.

    python -m benchmarks.budgets [WORD…]      those whose names have one of these words
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import CKPT, Gate
from tests.attacks import ATTACKS, Attack, bytes_on_disk

MOST_BYTES = 512 * 2**20
SECONDS, SECONDS_PER_BYTE = 2.0, 1e-6
_GIVEN_UP_S = 60
# As `measure._FROM_A_SMALL_ONE`: a child begins with the peak of its parent. What goes on for ever is given up.
_FROM_A_SMALL_ONE = """
import os, resource, subprocess, sys
def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
    resource.setrlimit(resource.RLIMIT_DATA, (6 * 2**30, 6 * 2**30))
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


class Cost(NamedTuple):
    code: int
    seconds: float
    peak_bytes: int

    def holds(self, written: int) -> bool:
        answered = self.code in (0, 1, 3, 4, 5, 6)
        return answered and self.peak_bytes <= MOST_BYTES and self.seconds <= SECONDS + written * SECONDS_PER_BYTE


def cost_of(command: Sequence[str], checkpoint: Path, given_up_s: int = _GIVEN_UP_S) -> Cost:
    words = [word.replace("{}", str(checkpoint)) for word in command]
    ran = subprocess.run(
        [sys.executable, "-c", _FROM_A_SMALL_ONE, str(given_up_s), *CKPT, *words],
        capture_output=True,
        check=True,
        text=True,
        timeout=10 * given_up_s,
    )
    code, seconds, peak = ran.stdout.split()
    return Cost(int(code), float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024))


def costs(attack: Attack) -> Iterator[tuple[str, Cost, int]]:
    with tempfile.TemporaryDirectory() as place:
        checkpoint = attack.build(Path(place))
        written = bytes_on_disk(Path(place))
        for command in attack.commands:
            yield " ".join(word for word in command[:2] if "{" not in word), cost_of(command, checkpoint), written


def told(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else str(code)


def measure(words: Sequence[str] = ()) -> Iterator[Gate]:
    """How many commands miss a limit."""
    missed = 0
    for attack in ATTACKS:
        if words and not any(word in attack.name for word in words):
            continue
        for command, cost, written in costs(attack):
            holds = cost.holds(written)
            missed += not holds
            per_byte = f"{1e6 * cost.seconds / max(written, 1):8.2f} µs a byte"
            figures = f"{written / 2**20:6.1f} MiB {cost.seconds:6.1f} s {cost.peak_bytes / 2**20:6.0f} MiB"
            print(
                "ok  " if holds else "MISS",
                f"{attack.name:55} {command:14} ends {told(cost.code):>8}",
                figures,
                per_byte,
                flush=True,
            )
    yield Gate("commands that cost more than they may", missed, 0, "")


if __name__ == "__main__":
    for gate in measure(sys.argv[1:]):
        print(gate)
