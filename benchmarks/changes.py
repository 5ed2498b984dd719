"""What `ckpt check-change` costs where no JVM has to be asked, against `ckpt plan-recovery` on the same checkpoint."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import CKPT, Gate, cpu_seconds
from benchmarks.start import SAMPLE


def measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as folder:
        query = Path(folder) / "query.json"
        described = subprocess.run([*CKPT, "query", "describe", SAMPLE, "--format", "json"], capture_output=True)
        query.write_bytes(described.stdout)
        asked = ["check-change", SAMPLE, "--query", str(query), "--was", str(query)]
        commands = {
            f"{name} {state}": [*CKPT, *command, "--state", state, "--format", "json"]
            for state in ("quick", "full")
            for name, command in (("plan", ["plan-recovery", SAMPLE]), ("change", asked))
        }
        cpu = cpu_seconds(commands)
    for state in ("quick", "full"):
        ratio = cpu[f"change {state}"] / cpu[f"plan {state}"]
        yield Gate(f"ckpt check-change --state {state} / ckpt plan-recovery", ratio, 1.2)
