"""How the cost of `ckpt inspect` and `plan-recovery` grows with the batches on disk: beyond the listing, it may not."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import CKPT, Gate, cpu_seconds, peak_memory_bytes

FEW, MANY = 100, 100_000
CONF = '{"spark.sql.shuffle.partitions":"200"}'


def measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as place:
        few, many = (_write(Path(place) / str(count), count) for count in (FEW, MANY))
        listing = "import os,sys; [os.listdir(f'{sys.argv[1]}/{log}') for log in ('offsets', 'commits')]"
        cpu = cpu_seconds(
            {
                "few": _inspect(few),
                "many": _inspect(many),
                "plan few": _plan(few),
                "plan many": _plan(many),
                "list": [sys.executable, "-c", listing, str(many)],
                "nothing": [sys.executable, "-c", "import os,sys; []", str(many)],
            }
        )
        bare_listing = cpu["list"] - cpu["nothing"]
        yield Gate("(inspect 100,000 - inspect 100) / bare os.listdir", (cpu["many"] - cpu["few"]) / bare_listing, 1.5)
        grown = (cpu["plan many"] - cpu["plan few"]) / bare_listing
        yield Gate("(plan-recovery 100,000 - plan-recovery 100) / bare os.listdir", grown, 1.5)
        more = peak_memory_bytes(_inspect(many)) - peak_memory_bytes(_inspect(few))
        yield Gate("peak memory at 100,000 beyond that at 100", more / 2**20, 64, "MiB")


def _inspect(checkpoint: Path) -> list[str]:
    return [*CKPT, "inspect", str(checkpoint), "--format", "json"]


def _plan(checkpoint: Path) -> list[str]:
    return [*CKPT, "plan-recovery", str(checkpoint), "--format", "json"]


def _write(root: Path, count: int) -> Path:
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    (root / "metadata").write_text('{"id":"4c3ea7c6-9a0b-4f53-8c2e-2f1d9a6f0e11"}')
    for batch in range(count):
        head = f'{{"batchWatermarkMs":0,"batchTimestampMs":{1_700_000_000_000 + 1000 * batch},"conf":{CONF}}}'
        (root / "offsets" / str(batch)).write_text(f'v1\n{head}\n{{"orders":{{"0":{10 * batch}}}}}')
        (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return root
