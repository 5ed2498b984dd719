"""What a rehearsal takes beside starting that Spark once for each code, with a first query in it: in seconds by the
clock, since a Spark that starts mostly waits, both in turn and the medians.

    python -m benchmarks.rehearse [--spark 4.2.0] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.measure import CKPT, Gate, load
from tests.differential.test_rehearse_vs_spark import code, produced
from tests.parts.spark import ensure_spark

VERSIONS, ROUNDS, LIMIT = ("3.5.7", "4.2.0"), 3, 1.5
START = """from pyspark.sql import SparkSession
SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate().sql("SELECT 1").collect()
"""


def measure(versions: Sequence[str] = VERSIONS, rounds: int = ROUNDS) -> Iterator[Gate]:
    for version in versions:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            produced(root, version, "sums")
            codes = ["--job", code(root, "sums", "filtered"), "--was-job", code(root, "sums", "same")]
            rehearsal = [*CKPT, "rehearse", str(root / "sums" / "checkpoint"), *codes, "--format", "json"]
            pairs = [_both(str(ensure_spark(version)), rehearsal) for _ in range(rounds)]
        ours, start = (median(pair[half] for pair in pairs) for half in range(2))
        yield Gate(f"a rehearsal on {version}, {ours:.1f} s / two starts of {start:.1f} s", ours / (2 * start), LIMIT)


def _both(python: str, rehearsal: Sequence[str]) -> tuple[float, float]:
    began = time.perf_counter()
    done = subprocess.run([*rehearsal, "--python", python], capture_output=True, check=False)
    took = time.perf_counter() - began
    assert json.loads(done.stdout)["verdict"] == "same", done.stderr
    began = time.perf_counter()
    subprocess.run([python, "-c", START], capture_output=True, check=True)
    return took, time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", action="append")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    print(load())
    gates = list(measure(given.spark or VERSIONS, given.rounds))
    print(*gates, sep="\n")
    sys.exit(0 if all(gate.holds for gate in gates) else 1)
