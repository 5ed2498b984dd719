"""What reading rows of state costs: against liblz4, tight loops and bare iteration of RocksDB, and how it grows."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from struct import unpack_from

from benchmarks import state_files
from benchmarks.measure import BARE, CKPT, Gate, cpu_seconds, peak_memory_bytes
from benchmarks.state_files import Kind
from benchmarks.tables import write_row
from ckpttool.formats.state.compression import decompress
from ckpttool.formats.state.entries import read_entries
from ckpttool.formats.state.records import SNAPSHOT
from ckpttool.state.contents import contents
from ckpttool.state.framing import frame
from ckpttool.state.reader import open_state
from ckpttool.storage.store import open_store

KINDS: tuple[Kind, ...] = ("bigint", "string")
SMALL, MIDDLE, LARGE = 10_000, 300_000, 3_000_000
PARTITION = 20_000
ROUNDS = 5


def measure() -> Iterator[Gate]:
    """Each also becomes a row of docs/performance.md."""
    for gate in _measure():
        write_row("alone", [gate.name, f"{gate.measured:.2f} {gate.unit}".strip(), f"{gate.limit:.2f}"])
        yield gate


def _measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        large = {kind: state_files.hdfs(place / kind, LARGE, kind) for kind in KINDS}
        for kind, root in large.items():
            yield from _decompressing(place, kind, root)
            yield from _framing(kind, root)
        yield from _counting(place)
        yield from _rocksdb(place)
        yield from _growth(place, large)


def _decompressing(place: Path, kind: str, root: Path) -> Iterator[Gate]:
    """Blocks of LZ4, with their checksums and by way of the jail: against liblz4 called from C, where that can be
    compiled, in one process and without them."""
    file, limit = root / "state/0/0/5.snapshot", place / "lz4_limit"
    source = Path(__file__).with_name("lz4_limit.c")
    try:
        subprocess.run(["cc", "-O2", "-o", limit, source, "-l:liblz4.so.1"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("     no C compiler or no liblz4: decompressing is not held against it")
        return
    body = file.read_bytes()
    bare, ours = _in_turn(
        lambda: float(subprocess.check_output([limit, file, "5"])),
        lambda: min(_seconds(lambda: contents([(body, "lz4")])) for _ in range(5)),
    )
    yield Gate(f"decompress LZ4 / liblz4 from C, {kind}", ours / bare, 1 / 0.85)


def _framing(kind: str, root: Path) -> Iterator[Gate]:
    """Where keys and values lie, against a loop that does nothing else, over what is decompressed already; and cutting
    them out, which small state is read by."""
    plain = b"".join(decompress((root / "state/0/0/5.snapshot").read_bytes(), "lz4"))
    loop, framed, cut = _in_turn(
        lambda: _seconds(lambda: _tight_loop(plain)),
        lambda: _seconds(lambda: frame(plain)),
        lambda: _seconds(lambda: sum(len(pairs) for _, pairs in read_entries(iter([plain]), SNAPSHOT))),
    )
    yield Gate(f"frame records / tight Python loop, {kind}", framed / loop, 1 / 8)
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


def _counting(place: Path) -> Iterator[Gate]:
    root = state_files.snapshots(place / "snapshots", LARGE)
    cpu = cpu_seconds({"bare": BARE, "count": [*CKPT, "state", "count", str(root)]}, rounds=ROUNDS)
    yield Gate("ckpt state count, snapshots of 3M rows of one size / python -c pass", cpu["count"] / cpu["bare"], 9)


def _rocksdb(place: Path) -> Iterator[Gate]:
    root = state_files.rocksdb(place / "rocksdb", MIDDLE)
    cpu = cpu_seconds({"bare": BARE, "count": [*CKPT, "state", "count", str(root)]}, rounds=ROUNDS)
    yield Gate("ckpt state count, recorded / python -c pass", cpu["count"] / cpu["bare"], 9)
    reader = open_state(open_store(str(root)))
    (table,) = reader.tables
    files = reader.files(0, 0, table.store)

    def bare() -> int:
        with reader.stores.entries(files) as pairs:
            return sum(1 for _ in pairs)

    from ckpttool.state.batches import partition_batches

    columns, iterated = _in_turn(
        lambda: _seconds(lambda: sum(batch.num_rows for batch in partition_batches(reader, table, 0))),
        lambda: _seconds(bare),
    )
    yield Gate("RocksDB to Arrow / RocksDB iterated", columns / iterated, 1 / 0.55)


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
    few, many = (_peak_of(place, partitions) for partitions in (4, 64))
    yield Gate("peak memory of an export, 64 partitions / 4 as large", many / few, 1.15)


def _peak_of(place: Path, partitions: int) -> int:
    root = state_files.hdfs(place / f"of-{partitions}", partitions * PARTITION, partitions=partitions)
    return peak_memory_bytes([*CKPT, "state", "export", str(root), str(place / f"out-of-{partitions}")])


def _in_turn(*measured: Callable[[], float]) -> list[float]:
    """The median of each, over rounds in which each has its turn."""
    rounds = [[one() for one in measured] for _ in range(ROUNDS)]
    return [median(of_one) for of_one in zip(*rounds, strict=True)]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
