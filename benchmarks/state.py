"""How fast state files are verified: against reading and decompressing them, which nobody can do without."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measure import Gate
from ckpttool.formats.state.compression import decompress
from ckpttool.formats.state.hdfs import parse_snapshot
from tests.state_builders import lz4, plain

ROWS = 400_000
ROUNDS = 5
WANTED = 200  # MB of state files per second and core


def measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as place:
        for name, rows in (("rows of one size", _even()), ("rows of many sizes", _uneven())):
            file = Path(place) / "1.snapshot"
            file.write_bytes(lz4(plain(rows)))
            bare = _seconds(partial(_decompressed, file))
            verified = _seconds(partial(_verified, file))
            speed = file.stat().st_size / 1e6 / verified
            yield Gate(f"verify / read and decompress, {name}", verified / bare, 3)
            yield Gate(f"{WANTED} MB/s / verified MB/s, {name}", WANTED / speed, 1)


def _decompressed(file: Path) -> None:
    for _ in decompress(file.read_bytes(), "lz4"):
        pass


def _verified(file: Path) -> None:
    parse_snapshot(file.read_bytes())


def _even() -> Iterator[tuple[bytes, bytes]]:
    source = random.Random(1)
    return ((source.randbytes(24), source.randbytes(40)) for _ in range(ROWS))


def _uneven() -> Iterator[tuple[bytes, bytes]]:
    source = random.Random(2)
    return ((source.randbytes(24), source.randbytes(source.choice((40, 48, 56, 64)))) for _ in range(ROWS))


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return median(taken)
