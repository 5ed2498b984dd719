"""What `ckpt kafka diff` costs beyond the client's own calls, with ten thousand partitions and with one."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.bare_kafka import SOME, run
from benchmarks.measure import CKPT, Gate, cpu_seconds, peak_memory_bytes
from ckpttool.kafka.base import BrokerAnswer, Question
from ckpttool.kafka.client import Connection, ask
from tests.differential.kafka_cases import Case, nothing
from tests.differential.topics import Topics, until
from tests.parts.delay import delayed
from tests.parts.kafka import Broker, Listener, free_ports

PARTITIONS = 10_000
TOPICS = 20
BARE = [sys.executable, str(Path(__file__).with_name("bare_kafka.py"))]
SMALL = "small"
FAR = "FAR"
ONE_WAY_MS = 1  # between availability zones; on the loop a request has no way to go, and nobody's brokers are there
MB = 1_000_000


def measure() -> Iterator[Gate]:
    [far] = free_ports(1)
    with Broker(listeners=[Listener(FAR, "PLAINTEXT", seen_at=far)]) as broker, tempfile.TemporaryDirectory() as folder:
        topics = Topics(broker.address)
        topics.create(SMALL)
        yield _cold(broker.address, Path(folder))
        names = [f"big{number}" for number in range(TOPICS)]
        yield from _many(topics, names, Path(folder))
        with delayed(far, int(broker.at(FAR).rpartition(":")[2]), ONE_WAY_MS):
            yield _far(f"127.0.0.1:{far}", names)


def _cold(address: str, folder: Path) -> Gate:
    command = _diff(address, folder / SMALL, {SMALL: {0: 0}})
    cpu = cpu_seconds({"bare": [*BARE, address, "once", SMALL], "diff": command})
    return Gate("ckpt kafka diff, small / bare client that asks once", cpu["diff"] / cpu["bare"], 2)


def _many(topics: Topics, names: Sequence[str], folder: Path) -> Iterator[Gate]:
    each = PARTITIONS // len(names)
    topics.create_all(names, each)
    question = Question(0, tuple(names), newer_than_ms=1)
    connection = Connection(topics.address, timeout_s=60)
    until(lambda: _is_whole(ask(connection, question)), patience_s=300)  # leaders come one after the other
    topics.fill_all(names, each)
    taken = _seconds(
        {
            "batched": lambda: run(topics.address, "batched", list(names)),
            "asked": lambda: ask(connection, question),
        }
    )
    yield Gate(f"{PARTITIONS:,} partitions / the same batched calls", taken["asked"] / taken["batched"], 1.3)
    whole = {name: dict.fromkeys(range(each), 0) for name in names}
    command = _diff(topics.address, folder / "many", whole)
    yield Gate(f"ckpt kafka diff of {PARTITIONS:,} partitions, peak memory", peak_memory_bytes(command) / MB, 150, "MB")
    command = [*_diff(topics.address, folder / "when", whole), "--when"]
    yield Gate(
        f"the same with --when, of {PARTITIONS:,} partitions, peak memory", peak_memory_bytes(command) / MB, 150, "MB"
    )


def _far(address: str, names: Sequence[str]) -> Gate:
    """Over a wire with a delay."""
    question = Question(0, tuple(names), newer_than_ms=1)
    connection = Connection(address, timeout_s=60)
    taken = _seconds(
        {"asked": lambda: ask(connection, question), "one-by-one": lambda: run(address, "one-by-one", list(names))}, 3
    )
    alone = taken["one-by-one"] * PARTITIONS / SOME
    name = f"{PARTITIONS:,} partitions, {2 * ONE_WAY_MS} ms away / a twentieth of asking one by one"
    return Gate(name, taken["asked"] / (alone / 20), 1)


def _diff(address: str, checkpoint: Path, ends: dict[str, dict[int, int]]) -> list[str]:
    Case("benchmark", nothing, [ends]).write_checkpoint(checkpoint)
    return [*CKPT, "kafka", "diff", str(checkpoint), "--bootstrap-server", address, "--timeout", "60"]


def _is_whole(told: BrokerAnswer) -> bool:
    parts = [part for topic in told.topics.values() for part in topic.partitions.values()]
    return len(parts) == PARTITIONS and not any(part.fault for part in parts)


def _seconds(ways: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median wall time, interleaved."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - begun)
    return {name: median(times) for name, times in taken.items()}
