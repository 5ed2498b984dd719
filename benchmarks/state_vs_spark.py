"""What reading state costs beside Spark's own reader, in a new session as a user would start one.

    python -m benchmarks.state_vs_spark [--spark 4.2.0] [--only count] [--rounds 5]

CPU of all processes, user and system, of both in turn, so many rounds; the medians go to docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import state_files
from benchmarks.measure import CKPT, Gate, cpu_of, load
from benchmarks.state_rows import LARGE, MIDDLE, SMALL
from benchmarks.tables import write_row

VERSION, ROUNDS = "4.2.0", 5


@dataclass(frozen=True)
class Case:
    """`wanted`: how many times less CPU than Spark; `gate`: what it must not fall below."""

    what: str
    make: Callable[[Path], Path]
    command: str
    gate: int
    wanted: int


CASES = [
    Case("count of 10k bigint keys", lambda place: state_files.hdfs(place, SMALL), "count", 100, 100),
    Case("count of 300k bigint keys", lambda place: state_files.hdfs(place, MIDDLE), "count", 40, 50),
    Case("recorded count of 3M keys in RocksDB", lambda place: state_files.rocksdb(place, LARGE), "count", 300, 300),
    Case("export of 300k bigint keys to Parquet", lambda place: state_files.hdfs(place, MIDDLE), "export", 45, 50),
    Case("export of 3M bigint keys to Parquet", lambda place: state_files.hdfs(place, LARGE), "export", 25, 30),
    Case(
        "export of 3M string keys to Parquet", lambda place: state_files.hdfs(place, LARGE, "string"), "export", 11, 15
    ),
]


def measure(version: str, rounds: int, only: str) -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for case in (one for one in CASES if only in one.what):
            root = case.make(place / "state")
            pairs = [_both(version, root, case.command, place / "out") for _ in range(rounds)]
            shutil.rmtree(root)
            ours, theirs = (median(pair[half] for pair in pairs) for half in range(2))
            times = f"{theirs / ours:.0f}"
            print(
                f"     {case.what}: {ours:.3f} s of ours, {theirs:.1f} s of Spark's, {times} times; {load()}",
                flush=True,
            )
            limits = [str(case.gate), str(case.wanted), str(rounds), f"{os.getloadavg()[0]:.0f}"]
            write_row("spark", [case.what, f"{ours:.2f} s", f"{theirs:.1f} s", times, *limits])
            yield Gate(f"{case.what} / Spark {version}", ours / theirs, 1 / case.gate)


def _both(version: str, root: Path, command: str, target: Path) -> tuple[float, float]:
    shutil.rmtree(target, ignore_errors=True)
    ours = cpu_of([*CKPT, "state", command, str(root), *([str(target)] if command == "export" else [])])
    shutil.rmtree(target, ignore_errors=True)
    return ours, _sparks(version, root, command, target)


def _sparks(version: str, root: Path, command: str, target: Path) -> float:
    """Session, reader and answer, of Python and JVM together."""
    from tests.differential.test_state_vs_spark import SCRIPT
    from tests.samples.process import JOBS, SparkProcess

    conf = {"spark.driver.extraJavaOptions": ""}  # the JVM as it comes, not as tests start it
    with SparkProcess(version, script=SCRIPT, path=[JOBS.parent, Path.cwd()], conf=conf) as spark:
        answer = spark.run({"workload": "", "path": str(root), command: str(target)})
        assert answer["error"] is None, answer["error"]
        return _cpu_of_group(spark.process.pid)


def _cpu_of_group(group: int) -> float:
    ticks = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold the cost of reading state against Spark's reader.")
    parser.add_argument("--spark", default=VERSION)
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(load())
    missed = 0
    for gate in measure(options.spark, options.rounds, options.only):
        print(gate, flush=True)
        missed += not gate.holds
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
