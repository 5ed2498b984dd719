"""Checkpoints that were built to cost whoever reads them more than they are worth: each a sound one with one thing in
it that is huge, or becomes so. With the commands that get to see it."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from struct import pack
from typing import NamedTuple

from tests import avro_rows, state_builders
from tests.samples.place import place_sample
from tests.state_builders import lz4, plain, snapshot_zip, zstd
from tests.unsafe_rows import array_of, map_of, schema

TERABYTE = 2**40
LARGE = 60 * 2**20
FILE, HDFS, ROCKSDB = "3.5.7-file-compacted-sound", "4.2.0-join-hdfs-sound", "4.2.0-dedup-rocksdb-sound"
DSTREAMS, DELTA = "2.4.8-dstreams-sound", "4.2.0-delta-to-delta-sound"

INSPECT, LOG = ("inspect", "{}"), ("log", "{}")
PLAN, DIFF = ("plan-recovery", "{}"), ("diff", "{}", "{}")
SCAN = ("scan", "{}/..")
KAFKA = ("kafka", "diff", "{}", "--bootstrap-server", "127.0.0.1:9", "--timeout", "0.1")
LIST, COUNT, ROWS = ("state", "list", "{}"), ("state", "count", "{}"), ("state", "rows", "{}", "--limit", "5")
JOINED_LEFT = (*ROWS, "--operator", "0", "--store", "left")
JOINED_ROWS = (*ROWS, "--operator", "0", "--store", "left-keyToNumValues")
VERIFY, SIZE = ("state", "verify", "{}"), ("state", "size", "{}")
TO_SINK = (*PLAN, "--sink", "{}/../output")
LOOKS = (INSPECT, PLAN, LOG, SCAN)
STATE = (LIST, COUNT, ROWS, VERIFY, SIZE)
CHANGES, GET = ("state", "diff", "{}", "--batch", "1", "--batch", "2"), ("state", "get", "{}", "77")
EXPORT = ("state", "export", "{}", "{}/../exported", "--to")
COMMANDS: Sequence[tuple[str, ...]] = (*LOOKS, DIFF, KAFKA, *STATE)


@dataclass(frozen=True)
class Attack:
    """`build` writes into an empty directory and returns the checkpoint in it."""

    name: str
    build: Callable[[Path], Path]
    commands: Sequence[tuple[str, ...]] = COMMANDS


def sized(path: Path, size: int = TERABYTE) -> None:
    """A file of holes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch()
    os.truncate(path, size)


def bytes_on_disk(root: Path) -> int:
    """What was written: holes are no bytes, and an entry of a directory is about a hundred."""
    files = [path.stat() for path in root.rglob("*") if path.is_file()]
    return sum(min(one.st_size, 512 * one.st_blocks) for one in files) + 100 * len(files)


def _put(sample: str, name: str, content: Callable[[], bytes]) -> Callable[[Path], Path]:
    def build(root: Path) -> Path:
        path = place_sample(sample, root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content())
        return root / "checkpoint"

    return build


def _sparse(sample: str, name: str) -> Callable[[Path], Path]:
    def build(root: Path) -> Path:
        sized(place_sample(sample, root) / name)
        return root / "checkpoint"

    return build


def many(sample: str, directory: str, name: str = "{}", count: int = 300_000) -> Callable[[Path], Path]:
    def build(root: Path) -> Path:
        place = place_sample(sample, root) / directory
        place.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            with suppress(IsADirectoryError):  # of the sample's own
                os.close(os.open(f"{place}/{name.format(number)}", os.O_CREAT | os.O_WRONLY))
        return root / "checkpoint"

    return build


def many_partitions(root: Path, count: int = 300_000) -> Path:
    """With a directory each."""
    made = _pinned(root, {"0/0/1.delta": state_builders.DELTA}, count)
    for number in range(1, count):
        (made / f"state/0/{number}").mkdir()
    return made


def _pinned(root: Path, state: dict[str, bytes], partitions: int) -> Path:
    return state_builders.checkpoint(root / "checkpoint", state, batch=0, partitions=partitions)


def _state(provider: str, files: dict[str, Callable[[], bytes]], batch: int = 0) -> Callable[[Path], Path]:
    """Of one store whose rows are `bigint`s."""

    def build(root: Path) -> Path:
        from benchmarks.state_files import schema_file

        state = {"0/0/_metadata/schema": schema_file("bigint")}
        state |= {f"0/0/{name}": make() for name, make in files.items()}
        return state_builders.checkpoint(root / "checkpoint", state, batch=batch, provider=provider)

    return build


def _table_of(size: int) -> Callable[[Path], Path]:
    """A snapshot whose only table is of this size, as it says."""

    def build(root: Path) -> Path:
        made = _state(state_builders.ROCKSDB, {"1.zip": lambda: snapshot_zip([("1.sst", size)])})(root)
        sized(made / "state/0/0/SSTs/1.sst", size)
        with open(made / "state/0/0/SSTs/1.sst", "r+b") as file:
            file.seek(size - 8)
            file.write(state_builders.sst()[-8:])
        return made

    return build


def _twice_named(root: Path) -> Path:
    return _state(
        state_builders.ROCKSDB,
        {"1.zip": lambda: snapshot_zip([("1.sst", 100)] * 2), "SSTs/1.sst": state_builders.sst},
    )(root)


def _of_avro(kind: object, made: bytes | Callable[[], bytes], keys: int = 1) -> Callable[[Path], Path]:
    """One state variable of a transformWithState, whose values are a row of one column of the type, in Avro."""

    def build(root: Path) -> Path:
        from tests.rocksdb_builders import snapshot

        key, column = schema(("k", "long")), schema(("v", kind))
        texts = (json.dumps(one) for one in (key, column, {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}, {}))
        chunks = [pack(">I", 1) + state_builders.utf(one) for one in texts]
        family = state_builders.utf("v") + b"".join(chunks)
        properties = json.dumps({"stateVariables": [{"stateName": "v", "stateVariableType": "ValueState"}]})
        path = "_stateSchema/default/0_00000000-0000-0000-0000-000000000000"
        store: dict[str, object] = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 1}
        store["stateSchemaFilePaths"] = [f"file:{root}/checkpoint/state/0/{path}"]
        operator = {
            "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateExec"},
            "stateStoreInfo": [store],
            "operatorPropertiesJson": properties,
        }
        header = bytes(3)
        before = pack("<h", 1) + header
        value = made if isinstance(made, bytes) else made()
        pairs = [(before + avro_rows.record(key, (number,)), header + b"\x02" + value) for number in range(keys)]
        return state_builders.checkpoint(
            root / "checkpoint",
            {
                "0/_metadata/v2/0": b"v2\n" + json.dumps(operator).encode(),
                f"0/{path}": state_builders.utf("v3") + pack(">I", 1) + family,
                **{f"0/0/{name}": body for name, body in snapshot(1, pairs, families={"v": 1}).items()},
            },
            batch=0,
            provider=state_builders.ROCKSDB,
            conf={"spark.sql.streaming.stateStore.encodingFormat": "avro"},
        )

    return build


# -- what a command costs ----------------------------------------------------------------------------------------------

MOST_BYTES = 512 * 2**20
CKPT = [sys.executable, "-c", "from ckpttool.cli import main; main()"]
GIVEN_UP_S = 60
# From a small process, since a child begins with the peak of its parent; what goes on for ever is given up.
_FROM_A_SMALL_ONE = """
import os, resource, subprocess, sys
def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
    resource.setrlimit(resource.RLIMIT_DATA, (6 * 2**30, 6 * 2**30))
process = subprocess.Popen(sys.argv[2:], stdout=sys.stderr, preexec_fn=limit)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


class Cost(NamedTuple):
    code: int
    seconds: float
    peak_bytes: int
    said: str = ""

    @property
    def is_answered(self) -> bool:
        """Neither by a bug nor by a signal, nor with more memory than any answer takes."""
        return self.code in (0, 1, 3, 4, 5, 6) and self.peak_bytes <= MOST_BYTES


def cost_of(command: Sequence[str], checkpoint: Path | str, given_up_s: int = GIVEN_UP_S) -> Cost:
    words = [word.replace("{}", str(checkpoint)) for word in command]
    ran = subprocess.run(
        [sys.executable, "-c", _FROM_A_SMALL_ONE, str(given_up_s), *CKPT, *words],
        capture_output=True,
        check=True,
        text=True,
        timeout=10 * given_up_s,
    )
    code, seconds, peak = ran.stdout.split()
    return Cost(int(code), float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024), ran.stderr)


# -- contents ----------------------------------------------------------------------------------------------------------

HEAD = b'{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def lines(line: bytes, count: int) -> bytes:
    return b"v1\n" + HEAD + b"\n" + b"\n".join([line] * count)


def many_settings() -> bytes:
    conf = {f"spark.sql.x{number}": "y" for number in range(500_000)}
    return b"v1\n" + json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf}).encode() + b"\n-"


def wide_json(size: int = LARGE) -> bytes:
    return b'{"a":[' + b"[]," * (size // 3) + b"[]]}"


def deep_json(size: int = LARGE) -> bytes:
    return b"[" * size


def file_log(entry: bytes, size: int = LARGE) -> bytes:
    return b"v1\n" + b"\n".join([entry] * (size // (len(entry) + 1)))


def zip_of(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(4):
            made.writestr(str(number), content)
    return out.getvalue()


def zstd_of_gigabytes() -> bytes:
    """Frames of a block that repeats a byte: 128 KiB in four bytes."""
    block = pack("<I", 1 << 1 | 2**17 << 3)[:3] + b"\0"
    last = pack("<I", 1 | 1 << 1 | 2**17 << 3)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x38" + block * 4000 + last  # 16 KB that become 500 MB


def lz4_of_gigabytes() -> bytes:
    block = lz4(bytes(2**25), block=2**25)[:-21].replace(b"LZ4Block\x25", b"LZ4Block\x2f")
    return block * 30


SOURCE_ENTRY = b'{"path":"","timestamp":0,"batchId":0}'
SINK_ENTRY = (
    b'{"path":"","size":0,"isDir":false,"modificationTime":0,"blockReplication":0,"blockSize":0,"action":"add"}'
)


def delta_log(commits: dict[str, Callable[[], bytes]]) -> Callable[[Path], Path]:
    """A checkpoint whose output beside it is a Delta table of these files."""

    def build(root: Path) -> Path:
        made = place_sample(FILE, root)
        log = root / "output/_delta_log"
        log.mkdir(parents=True)
        for name, content in commits.items():
            (log / name).write_bytes(content())
        return made

    return build


def iceberg(content: Callable[[], bytes], name: str = "v1.metadata.json") -> Callable[[Path], Path]:
    def build(root: Path) -> Path:
        made = place_sample(HDFS, root)
        (root / "output/metadata").mkdir(parents=True)
        (root / "output/metadata" / name).write_bytes(content())
        return made

    return build


def gzipped(size: int) -> bytes:
    out = io.BytesIO()
    with gzip.open(out, "wb") as file:
        for _ in range(size // 2**20):
            file.write(bytes(2**20).replace(b"\0", b" "))
    return out.getvalue()


# -- the attacks -------------------------------------------------------------------------------------------------------


def terabytes() -> Iterator[Attack]:
    """In place of each kind of file."""
    places = {
        FILE: ("metadata", "offsets/7", "offsets/6", "commits/7", "sources/0/7", "sources/0/5.compact"),
        HDFS: (
            "state/0/_metadata/metadata",
            "state/0/0/left-keyToNumValues/_metadata/schema",
            "state/0/0/left-keyToNumValues/4.delta",
        ),
        ROCKSDB: ("state/0/0/4.zip", "state/0/0/_metadata/schema"),
        DSTREAMS: ("checkpoint-1700000000000",),
    }
    for sample, names in places.items():
        for name in names:
            commands = [JOINED_ROWS if sample == HDFS and one is ROWS else one for one in COMMANDS]
            yield Attack(f"1 TB of holes as {name}", _sparse(sample, name), commands)
    yield Attack(
        "1 TB of holes as a commit in _spark_metadata", _sparse(FILE, "../output/_spark_metadata/7"), (INSPECT, TO_SINK)
    )
    yield Attack("a table of 1 TB that its snapshot names", _table_of(TERABYTE), (*LOOKS, *STATE))


def texts() -> Iterator[Attack]:
    yield Attack("70 MB of zeros as offsets", _put(FILE, "offsets/7", lambda: bytes(70 * 10**6)), LOOKS)
    yield Attack("60 MB of zeros as offsets", _put(FILE, "offsets/7", lambda: bytes(LARGE)), LOOKS)
    yield Attack("60 MB of zeros as metadata", _put(FILE, "metadata", lambda: bytes(LARGE)), LOOKS)
    yield Attack("60 MB of empty lines as offsets", _put(FILE, "offsets/7", lambda: lines(b"", LARGE)), LOOKS)
    yield Attack("offsets of 2 million lines", _put(FILE, "offsets/7", lambda: lines(b'{"t":{"0":1}}', 2_000_000)))
    yield Attack("offsets of 200,000 lines", _put(FILE, "offsets/7", lambda: lines(b'{"t":{"0":1}}', 200_000)))
    yield Attack("60 MB of brackets as offsets", _put(FILE, "offsets/7", lambda: b"v1\n" + deep_json()), LOOKS)
    yield Attack("60 MB of small arrays as offsets", _put(FILE, "offsets/7", lambda: b"v1\n" + wide_json()), LOOKS)
    yield Attack("60 MB of small arrays as a commit", _put(FILE, "commits/7", lambda: b"v1\n" + wide_json()), LOOKS)
    yield Attack("60 MB of small arrays as metadata", _put(FILE, "metadata", wide_json), LOOKS)
    yield Attack("60 MB of small arrays as an offset", _put(FILE, "offsets/7", lambda: lines(wide_json(), 1)))
    yield Attack("12 MB of small arrays as an offset", _put(FILE, "offsets/7", lambda: lines(wide_json(12 * 2**20), 1)))
    yield Attack("half a million settings", _put(FILE, "offsets/7", many_settings))
    yield Attack("60 MB of a source's log", _put(FILE, "sources/0/7", lambda: file_log(SOURCE_ENTRY)), LOOKS)
    yield Attack(
        "60 MB of a source's log, compacted", _put(FILE, "sources/0/5.compact", lambda: file_log(SOURCE_ENTRY)), LOOKS
    )
    yield Attack(
        "60 MB of a sink's log",
        _put(FILE, "../output/_spark_metadata/7", lambda: file_log(SINK_ENTRY)),
        (INSPECT, TO_SINK),
    )
    yield Attack(
        "60 MB of small arrays as an operator's metadata",
        _put(HDFS, "state/0/_metadata/metadata", lambda: b"v1\n" + wide_json()),
        (*LOOKS, LIST, VERIFY),
    )


def listings() -> Iterator[Attack]:
    yield Attack("300,000 names in offsets", many(FILE, "offsets"), LOOKS)
    yield Attack("300,000 odd names in offsets", many(FILE, "offsets", "x{}"), LOOKS)
    yield Attack("300,000 names in a source's log", many(FILE, "sources/0"), LOOKS)
    yield Attack("300,000 names in sources", many(FILE, "sources"), LOOKS)
    yield Attack("300,000 names in state", many(HDFS, "state"), (*LOOKS, LIST, VERIFY))
    yield Attack("300,000 names in an operator", many(HDFS, "state/0"), (*LOOKS, LIST, VERIFY))
    yield Attack("300,000 names in a store", many(ROCKSDB, "state/0/0", "{}.zip"), (*LOOKS, *STATE))
    yield Attack("300,000 partitions", many_partitions, (*LOOKS, *STATE))
    one = {"0/9999999/x": b"", "0/0/1.delta": state_builders.DELTA}
    yield Attack(
        "a name that stands for ten million partitions", lambda root: _pinned(root, one, 10**7), (*LOOKS, *STATE)
    )
    yield Attack("300,000 names at the top", many(FILE, ".", "x{}"), LOOKS)
    yield Attack("300,000 names beside the checkpoint", many(FILE, "..", "x{}"), LOOKS)
    yield Attack("300,000 names in a sink's log", many(FILE, "../output/_spark_metadata"), (INSPECT, TO_SINK))
    yield Attack("300,000 names in a Delta log", many(FILE, "../output/_delta_log", "{:020}.json"), (INSPECT, TO_SINK))


def tables() -> Iterator[Attack]:
    commit = "{:020}.json"
    gigantic = b'{"txn":{"appId":"x","version":1,"a":' + wide_json() + b"}}"
    small = b'{"add":{"path":"a"}}\n'
    seen = (INSPECT, TO_SINK)
    yield Attack("a gigantic line in a Delta log", delta_log({commit.format(0): lambda: gigantic}), seen)
    yield Attack("60 MB of a Delta commit", delta_log({commit.format(0): lambda: small * (LARGE // 21)}), seen)
    yield Attack(
        "20 commits of 60 MB", delta_log({commit.format(n): lambda: b" \n" * (LARGE // 2) for n in range(20)}), seen
    )
    old = {commit.format(9): lambda: b'{"commitInfo":{}}', f"{8:020}.checkpoint.json": lambda: gigantic}
    yield Attack("a Delta checkpoint of a gigantic line", delta_log(old), seen)
    txns = b'{"txn":{"appId":"x","version":1}}\n'
    many = {commit.format(9): lambda: b'{"commitInfo":{}}', f"{8:020}.checkpoint.json": lambda: txns * (LARGE // 34)}
    yield Attack("a Delta checkpoint of 60 MB", delta_log(many), seen)
    snapshot = b'{"snapshot-id":%d,"parent-snapshot-id":%d,"timestamp-ms":1},'
    chain = b"".join(snapshot % (n, n - 1) for n in range(1, 700_000))
    history = b'{"current-snapshot-id":699999,"snapshots":[' + chain[:-1] + b"]}"
    yield Attack("an Iceberg history of 700,000 snapshots", iceberg(lambda: history), (TO_SINK,))
    yield Attack("60 MB of small arrays as Iceberg's metadata", iceberg(wide_json), (TO_SINK,))
    packed = iceberg(lambda: gzipped(2**31), "v1.gz.metadata.json")
    yield Attack("Iceberg's metadata that becomes 2 GB", packed, (TO_SINK,))


def states() -> Iterator[Attack]:
    hdfs, rocksdb = state_builders.HDFS, state_builders.ROCKSDB
    rows = plain([(bytes(8), bytes(16))])
    yield Attack("zstd that becomes 500 MB", _state(hdfs, {"1.delta": zstd_of_gigabytes}), STATE)
    yield Attack("zstd of zeros", _state(hdfs, {"1.delta": lambda: zstd(bytes(2**28))}), STATE)
    yield Attack("LZ4 that becomes 1 GB", _state(hdfs, {"1.delta": lz4_of_gigabytes}), STATE)
    yield Attack("a zip that becomes 4 GB", _state(rocksdb, {"1.zip": lambda: zip_of(bytes(2**28))}), STATE)
    yield Attack("70 MB of zeros as state", _state(hdfs, {"1.delta": lambda: bytes(70 * 10**6)}), STATE)
    yield Attack("400 MB of zeros as state", _state(hdfs, {"1.delta": lambda: lz4(rows) + bytes(4 * 10**8)}), STATE)
    yield Attack("a table named twice", _twice_named, STATE)


MOST_ROWS = 1_480_000


def crowds() -> Iterator[Attack]:
    """As many entries as are held at a time, or more."""
    commands = (COUNT, ROWS, VERIFY, LIST, CHANGES, GET, (*EXPORT, "csv"), (*EXPORT, "arrow"))
    hdfs, rocksdb = state_builders.HDFS, state_builders.ROCKSDB
    for what, count, words in (
        ("rows", MOST_ROWS, 7),
        ("small rows", MOST_ROWS, 0),
        ("rows, halved,", MOST_ROWS // 2, 7),
    ):
        nothing, some, others = many_rows(0), many_rows(count, words), many_rows(count, words, first=1)
        added = {"1.delta": nothing, "2.delta": nothing, "3.delta": some}
        yield Attack(f"a crowd: {what} added", _state(hdfs, added, 2), commands)
        changed = {"1.delta": nothing, "2.delta": some, "3.delta": others}
        yield Attack(f"a crowd: {what} written again", _state(hdfs, changed, 2), commands)
        apart = {"2.snapshot": some, "3.snapshot": others}
        yield Attack(f"a crowd: {what} in two snapshots", _state(hdfs, apart, 2), commands)
        logs = {"1.changelog": nothing, "2.changelog": some, "3.changelog": others}
        yield Attack(f"a crowd: {what} in changelogs", _state(rocksdb, logs, 2), commands)
    parts = b"\x11" + bytes(8)
    yield Attack("a crowd: parts of a list", _changelog(parts, 10 * MOST_ROWS), commands)
    ranges = b"\x20" + bytes(4) + pack(">i", 1) + b"\xff"
    yield Attack("a crowd: ranges", _changelog(ranges, MOST_ROWS), commands)
    yield Attack("a crowd: rows of a join", _joined, (COUNT, JOINED_LEFT, VERIFY, LIST))


def many_rows(count: int, words: int = 0, first: int = 0) -> Callable[[], bytes]:
    """Keys of a number, and values with so many words more than they need."""

    def make() -> bytes:
        sizes, rest = pack(">i", 32 + 8 * words), bytes(8 * words)
        rows = (
            pack(">iQq", 16, 0, number) + sizes + pack("<Qqqq", 0, number, number, first) + rest
            for number in range(first, first + count)
        )
        return lz4(b"".join(rows) + b"\xff\xff\xff\xff")

    return make


def _changelog(record: bytes, times: int) -> Callable[[Path], Path]:
    head = state_builders.utf("v2")
    first = {f"{version}.changelog": lambda: lz4(head + b"\0") for version in (1, 2)}
    return _state(state_builders.ROCKSDB, {**first, "3.changelog": lambda: lz4(head + record * times + b"\0")}, 2)


def _joined(root: Path) -> Path:
    """One side of it, with a row for each key."""
    made = place_sample(HDFS, root)
    for directory in (made / "state/0").glob("[01]/left-key*"):
        is_numbers = directory.name == "left-keyToNumValues"
        for path in directory.glob("*.delta"):
            path.write_bytes(lz4(plain([])))
        key_size, value_size = (16, 16) if is_numbers else (24, 32)
        head, tail = pack(">i", key_size) + bytes(8), bytes(key_size - 16) + pack(">i", value_size) + bytes(8)
        value = (b"\1" if is_numbers else b"\0").ljust(value_size - 8, b"\0")
        numbers = (head + number.to_bytes(8, "little") + tail + value for number in range(MOST_ROWS))
        (directory / "4.delta").write_bytes(lz4(b"".join(numbers) + b"\xff\xff\xff\xff"))
    return made


def rows() -> Iterator[Attack]:
    """Some that are huge, and some that are as large as may be."""
    commands = [*STATE, *((*ROWS, "--format", form) for form in ("json", "csv"))]
    for size, keys in ((LARGE, 1), (4 * 10**6, 2)):
        for what, kind, value in (
            ("empty lists", array_of(array_of("long")), partial(_empty_lists, size // 2)),
            ("control characters", "string", partial(_sized, size, b"\1")),
            ("flags", array_of("boolean"), partial(_sized, size, b"\0", 1)),
        ):
            yield Attack(f"{size // 10**6} MB of {what} in each row", _of_avro(kind, value, keys), commands)


def _empty_lists(count: int) -> bytes:
    return avro_rows.long(count) + b"\x02\0" * count + b"\0"


def _sized(size: int, byte: bytes, more: int = 0) -> bytes:
    return avro_rows.long(size) + byte * (size + more)


def in_avro() -> Iterator[Attack]:
    """Lengths and numbers of items that nothing stands behind."""
    huge, minus = avro_rows.long(TERABYTE), avro_rows.long(-TERABYTE) + avro_rows.long(8)
    numbers, texts, nothings = array_of("long"), map_of("string", "long"), array_of("void")
    yield Attack("a block of 2^40 numbers in Avro", _of_avro(numbers, huge + bytes(9)), STATE)
    yield Attack("a block of 2^40 numbers in eight bytes of Avro", _of_avro(numbers, minus + bytes(9)), STATE)
    yield Attack("a block of 2^40 nulls in Avro", _of_avro(nothings, huge + bytes(9)), STATE)
    yield Attack("a map of 2^40 entries in Avro", _of_avro(texts, huge + bytes(9)), STATE)
    yield Attack("a map in Avro, with a key of 2^40 bytes", _of_avro(texts, avro_rows.long(1) + huge + bytes(9)), STATE)
    yield Attack("a text of 2^40 bytes in Avro", _of_avro("string", huge + b"text"), STATE)
    yield Attack("2^40 bytes in Avro", _of_avro("binary", huge + b"bytes"), STATE)
    many_nulls = avro_rows.long(300_000) * 100_000 + bytes(1)
    yield Attack("blocks and blocks of nulls in Avro", _of_avro(nothings, many_nulls), STATE)
    lists = avro_rows.long(50_000) + (b"\x02" + avro_rows.long(300_000) + bytes(1)) * 50_000 + bytes(1)
    yield Attack("lists and lists of nulls in Avro", _of_avro(array_of(nothings), lists), STATE)


ATTACKS = [*terabytes(), *texts(), *listings(), *tables(), *states(), *crowds(), *rows(), *in_avro()]
