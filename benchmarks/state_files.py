"""Checkpoints with as many keys as one wants: an aggregation by one key, with count, sum and max of each.

As a query leaves them that has run for a while: of each partition a snapshot with 60 % of the keys, and three deltas
with the others and updates of 5 % each.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from typing import Literal

from tests.rocksdb_builders import snapshot
from tests.state_builders import HDFS, ROCKSDB, checkpoint, lz4, utf
from tests.unsafe_rows import schema

Kind = Literal["bigint", "string"]
PARTITIONS = 4
BATCH = 7


def snapshots(root: Path, keys: int, partitions: int = PARTITIONS) -> Path:
    """Of the version that a restart needs, with nothing after them."""
    state = {"0/0/_metadata/schema": schema_file("bigint")}
    for partition in range(partitions):
        own = range(partition * keys // partitions, (partition + 1) * keys // partitions)
        state[f"0/{partition}/{BATCH + 1}.snapshot"] = file_of("bigint", own, 1)
    return checkpoint(root, state, batch=BATCH, provider=HDFS, partitions=partitions)


def hdfs(root: Path, keys: int, kind: Kind = "bigint", partitions: int = PARTITIONS) -> Path:
    state = {"0/0/_metadata/schema": schema_file(kind)}
    source = random.Random(keys)
    for partition in range(partitions):
        own = range(partition * keys // partitions, (partition + 1) * keys // partitions)
        first, rest = own[: len(own) * 6 // 10], own[len(own) * 6 // 10 :]
        state[f"0/{partition}/5.snapshot"] = file_of(kind, first, 1)
        third = len(rest) // 3 + 1
        for number in range(3):
            new = rest[number * third : (number + 1) * third]
            updated = source.sample(first, len(own) // 20)
            state[f"0/{partition}/{6 + number}.delta"] = file_of(kind, [*new, *updated], 2 + number)
    return checkpoint(root, state, batch=BATCH, provider=HDFS, partitions=partitions)


def rocksdb(root: Path, keys: int, kind: Kind = "bigint", partitions: int = PARTITIONS) -> Path:
    state = {"0/0/_metadata/schema": schema_file(kind)}
    for partition in range(partitions):
        own = range(partition * keys // partitions, (partition + 1) * keys // partitions)
        pairs = ((b"\x00" + key_row(kind, one), b"\x00" + value_row(one, 1)) for one in own)
        files = snapshot(BATCH + 1, pairs)
        state |= {f"0/{partition}/{name}": data for name, data in files.items()}
    return checkpoint(root, state, batch=BATCH, provider=ROCKSDB, partitions=partitions)


def schema_file(kind: Kind) -> bytes:
    def chunks(described: object) -> bytes:
        return (1).to_bytes(4, "big") + utf(json.dumps(described))

    key = schema(("k", "long" if kind == "bigint" else "string"))
    return utf("v2") + chunks(key) + chunks(schema(("count", "long"), ("sum", "long"), ("max", "long")))


def key_row(kind: Kind, number: int) -> bytes:
    if kind == "bigint":
        return pack("<Qq", 0, number)
    text = f"customer-{number * 7919 % 1_000_003}-{number}-{'x' * (number % 9)}".encode()
    return pack("<Qq", 0, 16 << 32 | len(text)) + text.ljust(-(-len(text) // 8) * 8, b"\x00")


def value_row(number: int, times: int) -> bytes:
    return pack("<Qqqq", 0, times, number * times, number)


def file_of(kind: Kind, numbers: range | list[int], times: int) -> bytes:
    return lz4(b"".join(_records(kind, numbers, times)) + b"\xff\xff\xff\xff")


def _records(kind: Kind, numbers: range | list[int], times: int) -> Iterator[bytes]:
    for number in numbers:
        key, value = key_row(kind, number), value_row(number, times)
        yield pack(">i", len(key)) + key + pack(">i", len(value)) + value
