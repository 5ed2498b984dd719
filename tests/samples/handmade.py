"""Samples of releases that do not start on a current Java, written byte by byte from the format's specification.

    python -m tests.samples.handmade

Nothing here comes from the package under test: these are the second opinion. Those with a file source can be started
again by Spark 3.5 (`tests.samples.restart`), which proves that Spark reads them as they are meant.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.samples.make import ROOT, store_tree

EPOCH = 1_700_000_000
QUERY_ID = "7c5f0a9e-2d84-4c1b-9a67-3f0e5b8d1c2a"
READER = "3.5.7"  # the release that starts the restartable ones again
LOG_KEYS = {
    "2.3.1": ("spark.sql.shuffle.partitions", "spark.sql.streaming.stateStore.providerClass"),
    "2.4.8": (
        "spark.sql.streaming.multipleWatermarkPolicy",
        "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
        "spark.sql.streaming.aggregation.stateFormatVersion",
    ),
    "3.0.3": ("spark.sql.streaming.join.stateFormatVersion",),
    "3.1.3": ("spark.sql.streaming.stateStore.compression.codec",),
}
STATE_PACKAGE = "org.apache.spark.sql.execution.streaming.state"
LOG_VALUES = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": f"{STATE_PACKAGE}.HDFSBackedStateStoreProvider",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.streaming.join.stateFormatVersion": "2",
    "spark.sql.streaming.stateStore.compression.codec": "lz4",
}


# -- the samples -------------------------------------------------------------------------------------------------------


def spark_2_1_kafka() -> None:
    """Before commit logs: no `commits/`, no configuration in the offsets, a length byte before the initial offsets."""
    name, root = begin("2.1.0-kafka-to-console-sound")
    checkpoint = root / "checkpoint"
    write(checkpoint / "metadata", _compact({"id": QUERY_ID}))
    initial = _compact({"orders": {"0": 0, "1": 0}})
    write(checkpoint / "sources/0/0", bytes([len(initial)]) + initial.encode())
    for batch, ends in enumerate(({"0": 3, "1": 2}, {"0": 5, "1": 5}, {"0": 9, "1": 6})):
        write(checkpoint / "offsets" / str(batch), offsets("2.1.0", batch, [_compact({"orders": ends})]))
    finish(
        name,
        "Spark 2.1 keeps no commit log, so the newest batch runs again at every restart.",
        outcome="replay",
        batch_id=2,
    )


def spark_2_3_file_to_json() -> None:
    """Commits are an empty object; the file sink keeps its ledger beside its output."""
    name, root = begin("2.3.1-file-to-json-sound")
    checkpoint = root / "checkpoint"
    write(checkpoint / "metadata", _compact({"id": QUERY_ID}))
    for batch in range(4):
        source, rows = input_file(root, batch)
        write(checkpoint / "sources/0" / str(batch), source_log(source, batch))
        write(checkpoint / "offsets" / str(batch), offsets("2.3.1", batch, [_compact({"logOffset": batch})]))
        write(checkpoint / "commits" / str(batch), "v1\n{}")
        part = root / "output" / f"part-00000-{batch:08x}-5a5a-4b4b-8c8c-d9d9d9d9d9d9-c000.json"
        write(part, rows)
        entry = {
            "path": f"file://{part}",
            "size": len(rows),
            "isDir": False,
            "modificationTime": at(batch),
            "blockReplication": 1,
            "blockSize": 33554432,
            "action": "add",
        }
        write(root / "output/_spark_metadata" / str(batch), f"v1\n{_compact(entry)}")
    finish(
        name,
        "Commits of Spark 2.2 and 2.3 hold an empty object.",
        outcome="new_batch",
        batch_id=4,
        job="file_to_json",
        args={"count": 5},
    )


def spark_2_4_kafka_uncommitted() -> None:
    """The initial offsets begin with a zero byte; batch 3 is planned and not committed."""
    name, root = begin("2.4.8-kafka-to-console-crashed-after-offset-log")
    checkpoint = root / "checkpoint"
    write(checkpoint / "metadata", _compact({"id": QUERY_ID}))
    write(checkpoint / "sources/0/0", b"\0v1\n" + _compact({"orders": {"0": 10, "1": 12}}).encode())
    for batch in range(4):
        ends = _compact({"orders": {"0": 14 + batch, "1": 13 + 2 * batch}})
        write(checkpoint / "offsets" / str(batch), offsets("2.4.8", batch, [ends]))
    for batch in range(3):
        write(checkpoint / "commits" / str(batch), commit())
    finish(name, "Batch 3 was planned and is not committed.", outcome="replay", batch_id=3)


def spark_3_0_count() -> None:
    """State without a schema file, as every release before 3.1 left it."""
    counting("3.0.3")


def spark_3_1_count() -> None:
    """State with the first version of the schema file."""
    counting("3.1.3", with_schema=True)


def counting(spark: str, with_schema: bool = False) -> None:
    """`groupBy(id % 3).count()` over four files of two rows: state of four versions in two partitions."""
    name, root = begin(f"{spark}-count-to-noop-sound")
    checkpoint = root / "checkpoint"
    write(checkpoint / "metadata", _compact({"id": QUERY_ID}))
    counts: dict[int, int] = {}
    for batch in range(4):
        source, rows = input_file(root, batch)
        write(checkpoint / "sources/0" / str(batch), source_log(source, batch))
        write(checkpoint / "offsets" / str(batch), offsets(spark, batch, [_compact({"logOffset": batch})]))
        write(checkpoint / "commits" / str(batch), commit())
        changed = [json.loads(row)["id"] % 3 for row in rows.splitlines()]
        for key in changed:
            counts[key] = counts.get(key, 0) + 1
        for partition in range(2):
            mine = [(long_row(key), long_row(counts[key])) for key in changed if partition_of(key, 2) == partition]
            write(checkpoint / f"state/0/{partition}/{batch + 1}.delta", delta(mine))
    if with_schema:
        schemas = [
            _compact(
                {"type": "struct", "fields": [{"name": column, "type": "long", "nullable": nullable, "metadata": {}}]}
            )
            for column, nullable in (("group", True), ("count", False))
        ]
        write(checkpoint / "state/0/0/_metadata/schema", b"".join(map(java_utf, ["v1", *schemas])))
    finish(
        name,
        "A count per key with two partitions of state"
        + (", and a schema file of version 1." if with_schema else ", and no schema file."),
        outcome="new_batch",
        batch_id=4,
        job="count_to_noop",
        args={"count": 5},
    )


def dstreams() -> None:
    """The older streaming API: serialised contexts, write-ahead logs of receivers, checkpointed RDDs."""
    name, root = begin("2.4.8-dstreams-sound")
    checkpoint = root / "checkpoint"
    for batch in range(4):
        written = lz4(java_checkpoint(at(batch), str(checkpoint)))
        write(checkpoint / f"checkpoint-{at(batch)}", written)
        if batch:
            write(checkpoint / f"checkpoint-{at(batch)}.bk", written)
    records = [f"record {number}".encode() for number in range(5)]
    log = b"".join(struct.pack(">i", len(record)) + record for record in records)
    write(checkpoint / f"receivedData/0/log-{at(0)}-{at(60)}", log)
    write(checkpoint / f"receivedBlockMetadata/log-{at(0)}-{at(60)}", log)
    rdd = checkpoint / "1b0f6d3e-8a51-4b7c-b8f2-6f0f4f7e9d10/rdd-5"
    write(rdd / "part-00000", b"\xac\xed\x00\x05")
    write(rdd / "part-00001", b"\xac\xed\x00\x05")
    finish(name, "The checkpoint of a DStreams application, not of a query.", outcome="unknown", mode="dstreams")


SAMPLES: tuple[Callable[[], None], ...] = (
    spark_2_1_kafka,
    spark_2_3_file_to_json,
    spark_2_4_kafka_uncommitted,
    spark_3_0_count,
    spark_3_1_count,
    dstreams,
)


# -- the formats -------------------------------------------------------------------------------------------------------


def offsets(spark: str, batch: int, sources: Iterable[str]) -> str:
    metadata: dict[str, Any] = {"batchWatermarkMs": 0, "batchTimestampMs": at(batch)}
    keys = [key for release, added in LOG_KEYS.items() if release <= spark for key in added]
    if keys:
        metadata["conf"] = {key: LOG_VALUES[key] for key in keys}
    return "\n".join(["v1", _compact(metadata), *sources])


def commit() -> str:
    return 'v1\n{"nextBatchWatermarkMs":0}'


def source_log(path: Path, number: int) -> str:
    entry = {"path": f"file://{path}", "timestamp": at(number), "batchId": number}
    return f"v1\n{_compact(entry)}"


def delta(rows: Iterable[tuple[bytes, bytes]]) -> bytes:
    body = b"".join(struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value for key, value in rows)
    return lz4(body + struct.pack(">i", -1))


def long_row(value: int) -> bytes:
    """An UnsafeRow of one long: a word of null bits, then the value."""
    return struct.pack("<qq", 0, value)


def partition_of(key: int, partitions: int) -> int:
    """Where Spark puts a long key: Murmur3 of its two halves, seed 42, modulo the number of partitions."""
    mixed = 42
    for half in (key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF):
        mixed ^= rotated(half * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        mixed = (rotated(mixed, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    mixed ^= 8
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    signed = mixed - (1 << 32) if mixed >> 31 else mixed
    return signed % partitions


def lz4(data: bytes) -> bytes:
    """Java's LZ4 block stream with one stored block and the end block."""
    checksum = xxhash32(data, 0x9747B28C) & 0x0FFFFFFF
    return (
        b"LZ4Block"
        + struct.pack("<Biii", 0x15, len(data), len(data), checksum)
        + data
        + b"LZ4Block"
        + struct.pack("<Biii", 0x15, 0, 0, 0)
    )


def xxhash32(data: bytes, seed: int) -> int:
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    mask, position = 0xFFFFFFFF, 0
    if len(data) >= 16:
        lanes = [seed + p1 + p2, seed + p2, seed, seed - p1]
        while position + 16 <= len(data):
            for lane, word in enumerate(struct.unpack_from("<4I", data, position)):
                lanes[lane] = rotated((lanes[lane] + word * p2) & mask, 13) * p1 & mask
            position += 16
        state = sum(rotated(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        state = seed + p5
    state = (state + len(data)) & mask
    while position + 4 <= len(data):
        state = rotated((state + struct.unpack_from("<I", data, position)[0] * p3) & mask, 17) * p4 & mask
        position += 4
    for byte in data[position:]:
        state = rotated((state + byte * p5) & mask, 11) * p1 & mask
    state = (state ^ state >> 15) * p2 & mask
    state = (state ^ state >> 13) * p3 & mask
    return state ^ state >> 16


def rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF


def java_utf(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def java_checkpoint(time_ms: int, directory: str) -> bytes:
    """A serialised `org.apache.spark.streaming.Checkpoint`: its strings and its time, the rest null."""
    text, reference = "Ljava/lang/String;", "Ljava/lang/Object;"
    fields = [
        ("checkpointDir", text, directory),
        ("framework", text, "orders"),
        ("graph", reference, None),
        ("jars", reference, None),
        ("master", text, "yarn"),
        ("sparkConfPairs", reference, None),
    ]
    described = b"".join(b"L" + java_utf(name) + b"t" + java_utf(kind) for name, kind, _ in fields)
    values = b"".join(b"p" if value is None else b"t" + java_utf(value) for _, _, value in fields)
    head = b"\xac\xed\x00\x05sr" + java_utf("org.apache.spark.streaming.Checkpoint") + struct.pack(">q", 1) + b"\x02"
    count = struct.pack(">H", len(fields) + 1)
    return head + count + b"J" + java_utf("checkpointTime") + described + b"xp" + struct.pack(">q", time_ms) + values


# -- writing -----------------------------------------------------------------------------------------------------------


def at(seconds: int) -> int:
    return (EPOCH + seconds) * 1000


def input_file(root: Path, number: int) -> tuple[Path, str]:
    """The file that `jobs.files` would make."""
    path = root / "input" / f"{number:03}.json"
    names = ("ash", "birch", "cedar", "elm")
    rows = "".join(
        json.dumps({"id": number * 2 + i, "name": names[(number + i) % 4], "at": f"2023-11-14T22:13:{20 + i}Z"}) + "\n"
        for i in range(2)
    )
    write(path, rows)
    os.utime(path, (EPOCH + number, EPOCH + number))
    return path, rows


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def begin(name: str) -> tuple[str, Path]:
    shutil.rmtree(ROOT / name, ignore_errors=True)
    return name, ROOT / name


def finish(
    name: str,
    told: str,
    *,
    outcome: str,
    batch_id: int | None = None,
    mode: str = "microbatch",
    job: str | None = None,
    args: dict[str, Any] | None = None,
) -> None:
    spark, _, rest = name.partition("-")
    workload, _, defect = rest.rpartition("-")
    if defect != "sound":
        workload, _, defect = rest.partition("-crashed-")
        defect = f"crashed-{defect}"
    restart: dict[str, Any] | None = None
    if job:
        restart = {"job": job, "args": args, "conf": {}, "needs": [], "spark": READER}
    store_tree(
        name,
        ROOT / name,
        {
            "spark": spark,
            "workload": workload,
            "defect": None if defect == "sound" else defect,
            "made_by": f"Made by hand from the format's specification, since Spark {spark} does not start on Java 17.",
            "told": told,
            "steps": ["Wrote every file from the specification of its format."],
            "root": str(ROOT / name),
            "checkpoint": "checkpoint",
            "expect": {"next_batch": {"outcome": outcome, "batch_id": batch_id}, "finds": [], "mode": mode},
            "restart": restart,
            "progress": [],
        },
    )


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    for make in SAMPLES:
        make()


if __name__ == "__main__":
    main()
