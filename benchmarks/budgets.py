"""What inputs that were built to cost much do cost: seconds of CPU and peak memory, of every command that gets to see
them, and per byte that somebody had to write.

    python -m benchmarks.budgets [WORD…]      those whose names have one of these words
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Gate
from tests.attacks import ATTACKS, Attack, Cost, bytes_on_disk, cost_of

SECONDS, SECONDS_PER_BYTE = 2.0, 1e-6


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
            holds = cost.is_answered and cost.seconds <= SECONDS + written * SECONDS_PER_BYTE
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
