"""What a command costs before and beyond its work, against a bare interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import BARE, CKPT, Gate, cpu_seconds

SAMPLE = "sample_checkpoints/4.2.0-windowed-agg-rocksdb-sound/checkpoint"


def measure() -> Iterator[Gate]:
    cpu = cpu_seconds(
        {
            "bare": BARE,
            "help": [*CKPT, "--help"],
            "json": [*CKPT, "inspect", SAMPLE, "--format", "json"],
            "text": [*CKPT, "inspect", SAMPLE],
            "plan": [*CKPT, "plan-recovery", SAMPLE, "--state", "quick", "--format", "json"],
            "doctor": [*CKPT, "doctor", SAMPLE, "--profile", "quick", "--format", "json"],
        }
    )
    yield Gate("ckpt --help / python -c pass", cpu["help"] / cpu["bare"], 5)
    yield Gate("ckpt inspect LOCAL --format json / python -c pass", cpu["json"] / cpu["bare"], 7)
    yield Gate("ckpt plan-recovery LOCAL --state quick / python -c pass", cpu["plan"] / cpu["bare"], 10)
    yield Gate("ckpt inspect LOCAL / python -c pass", cpu["text"] / cpu["bare"], 7)
    yield Gate(
        "ckpt doctor LOCAL --profile quick / ckpt plan-recovery LOCAL --state quick", cpu["doctor"] / cpu["plan"], 1.3
    )
