"""What reading rows of state costs: against tight loops, against bare iteration of RocksDB, and how it grows.

    python -m benchmarks.state_rows --spark 4.2.0

also holds it against Spark's own reader, in a new session as a user would start one: CPU of all its processes.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from struct import unpack_from

from benchmarks import state_files
from benchmarks.measure import BARE, CKPT, Gate, cpu_seconds, load, peak_memory_bytes
from benchmarks.state_files import Kind
from ckpttool.formats.state.compression import decompress
from ckpttool.formats.state.entries import read_entries
from ckpttool.formats.state.records import SNAPSHOT
from ckpttool.state.framing import frame
from ckpttool.state.reader import open_state
from ckpttool.storage import open_store

KINDS: tuple[Kind, ...] = ("bigint", "string")
SMALL, MIDDLE, LARGE = 10_000, 300_000, 3_000_000
ROUNDS = 5


def measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        large = {kind: state_files.hdfs(place / kind, LARGE, kind) for kind in KINDS}
        for kind, root in large.items():
            yield from _framing(kind, root)
        yield from _rocksdb(place)
        yield from _growth(place, large)


def _framing(kind: str, root: Path) -> Iterator[Gate]:
    """Where keys and values lie, against a loop that does nothing else, over what is decompressed already; and cutting
    them out, which small state is read by."""
    plain = b"".join(decompress((root / "state/0/0/5.snapshot").read_bytes(), "lz4"))
    loop = _seconds(lambda: _tight_loop(plain))
    framed = _seconds(lambda: frame(plain))
    yield Gate(f"frame records / tight Python loop, {kind}", framed / loop, 1 / 8)
    cut = _seconds(lambda: sum(len(pairs) for _, pairs in read_entries(iter([plain]), SNAPSHOT)))
    yield Gate(f"cut out keys and values / tight Python loop, {kind}", cut / loop, 1.5)


def _tight_loop(data: bytes) -> int:
    at = count = 0
    while True:
        (size,) = unpack_from(">i", data, at)
        if size < 0:
            return count
        key_end = at + 4 + size
        (size,) = unpack_from(">i", data, key_end)
        _ = data[at + 4 : key_end], data[key_end + 4 : key_end + 4 + size]
        at = key_end + 4 + size
        count += 1


def _rocksdb(place: Path) -> Iterator[Gate]:
    root = state_files.rocksdb(place / "rocksdb", MIDDLE)
    cpu = cpu_seconds({"bare": BARE, "count": [*CKPT, "state", "count", str(root)]}, rounds=ROUNDS)
    yield Gate("ckpt state count, recorded / python -c pass", cpu["count"] / cpu["bare"], 9)
    reader = open_state(open_store(str(root)))
    (table,) = reader.tables
    files = reader.files(0, 0, table.store)

    def bare() -> int:
        with reader.entries(files) as pairs:
            return sum(1 for _ in pairs)

    from ckpttool.state.batches import partition_batches

    columns = _seconds(lambda: sum(batch.num_rows for batch in partition_batches(reader, table, 0)))
    yield Gate("RocksDB to Arrow / RocksDB iterated", columns / _seconds(bare), 1 / 0.55)


def _growth(place: Path, large: dict[Kind, Path]) -> Iterator[Gate]:
    roots = {MIDDLE: state_files.hdfs(place / "middle", MIDDLE), LARGE: large["bigint"]}
    commands = {str(keys): [*CKPT, "state", "count", str(root)] for keys, root in roots.items()}
    export = [*CKPT, "state", "export"]
    cpu = cpu_seconds({"start": [*CKPT, "state", "count", "--help"], **commands}, rounds=ROUNDS)
    less, more = (cpu[str(keys)] - cpu["start"] for keys in (MIDDLE, LARGE))
    yield Gate("exponent of the cost of a count, 300k to 3M keys", math.log10(more / less), 1.05, "")
    limits: dict[Kind, int] = {"bigint": 300, "string": 450}
    for kind, limit in limits.items():
        peak = peak_memory_bytes([*export, str(large[kind]), str(place / f"out-{kind}")])
        yield Gate(f"peak memory of an export of 3M keys, {kind}", peak / 2**20, limit, "MiB")


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return median(taken)


# -- against Spark -----------------------------------------------------------------------------------------------------


def against_spark(version: str, rounds: int) -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        cases = [
            ("count of 10k bigint keys", state_files.hdfs(place / "10k", SMALL), "count", 1 / 100),
            ("count of 300k bigint keys", state_files.hdfs(place / "300k", MIDDLE), "count", 1 / 40),
            ("export of 300k bigint keys", place / "300k", "export", 1 / 45),
            ("export of 3M bigint keys", state_files.hdfs(place / "3m", LARGE), "export", 1 / 25),
            ("export of 3M string keys", state_files.hdfs(place / "3ms", LARGE, "string"), "export", 1 / 11),
            ("recorded count of 300k RocksDB keys", state_files.rocksdb(place / "db", MIDDLE), "count", 1 / 300),
        ]
        taken: dict[str, list[tuple[float, float]]] = {what: [] for what, *_ in cases}
        for _ in range(rounds):
            for what, root, command, _ in cases:
                target = place / "out"
                ours = _ours(root, command, target)
                taken[what].append((ours, _sparks(version, root, command, target)))
        for what, _, _, limit in cases:
            ours, theirs = (median(one[half] for one in taken[what]) for half in range(2))
            print(f"     {what}: {ours:.2f} s of ours, {theirs:.1f} s of Spark's, {theirs / ours:.0f} times")
            yield Gate(f"{what} / Spark {version}", ours / theirs, limit)


def _ours(root: Path, command: str, target: Path) -> float:
    shutil.rmtree(target, ignore_errors=True)
    arguments = [str(root), *([str(target)] if command == "export" else [])]
    return (
        cpu_seconds({"it": [*CKPT, "state", command, *arguments]}, rounds=1)["it"]
        if command == "count"
        else (_once([*CKPT, "state", command, *arguments]))
    )


def _once(command: list[str]) -> float:
    from benchmarks.measure import _run

    return _run(command).cpu


def _sparks(version: str, root: Path, command: str, target: Path) -> float:
    """Session, reader and answer, of Python and JVM together."""
    from tests.differential.test_state_vs_spark import SCRIPT
    from tests.samples.process import JOBS, SparkProcess

    shutil.rmtree(target, ignore_errors=True)
    conf = {"spark.driver.extraJavaOptions": ""}  # the JVM as it comes, not as tests start it
    with SparkProcess(version, script=SCRIPT, path=[JOBS.parent, Path.cwd()], conf=conf) as spark:
        asked = {"workload": "", "path": str(root), command: str(target)}
        answer = spark.run(asked)
        assert answer["error"] is None, answer["error"]
        return _cpu_of_group(spark.process.pid)


def _cpu_of_group(group: int) -> float:
    import os

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
    parser = argparse.ArgumentParser(description="Measure the reading of state.")
    parser.add_argument("--spark", help="also against the reader of this Spark")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(load())
    gates = against_spark(options.spark, options.rounds) if options.spark else measure()
    missed = 0
    for gate in gates:
        print(gate, flush=True)
        missed += not gate.holds
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
