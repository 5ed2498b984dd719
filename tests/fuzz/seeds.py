"""What the inputs of the parsers are made from: files of the samples, and what has no file of its own."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from struct import pack
from typing import NamedTuple

from ckpttool.connectors import ALL
from ckpttool.errors import MalformedFile
from ckpttool.formats.state.entries import delta_entries, snapshot_entries
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.jail.cell import DONE, MORE
from tests import state_builders
from tests.fuzz.targets import TARGETS, sized
from tests.samples.place import REPOSITORY

LARGEST = 20_000
_MOST = 150  # of a parser: more of the same kind teach nothing
_PRINTED = Path(__file__).resolve().parents[1] / "unit" / "query" / "printed"
_HISTORIES = Path(__file__).resolve().parents[1] / "known_bad"
_LOGS = _HISTORIES.with_name("driver_logs")
_TYPES = ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "string", "binary",
          "decimal(10,2)", "decimal(38,18)", "variant", "interval day to second", "interval year to month", "interval",
          "timestamp_ntz(9)", "time(6)", "void", "odd")  # fmt: skip
_ENCODERS = (
    b"{}", b'{"keyStateEncoderType":"PrefixKeyScanStateEncoderSpec","numColsPrefixKey":1}',
    b'{"keyStateEncoderType":"RangeKeyScanStateEncoderSpec","orderingOrdinals":[0]}',
    b'{"keyStateEncoderType":"TimestampAsPostfixKeyStateEncoderSpec"}',
)  # fmt: skip


class Seeds(NamedTuple):
    """`of`: for each parser what it takes; the others, which it is given now and then, too."""

    all: Sequence[bytes]
    of: Mapping[str, Sequence[bytes]]


def load_seeds() -> Seeds:
    files = [path for path in sorted(REPOSITORY.rglob("*")) if path.is_file() and path.name != "about.json"]
    bodies = {path.read_bytes() for path in files if path.stat().st_size <= LARGEST}
    every = sorted({*bodies, *_made(files), *(text.encode() for one in ALL for text in one.EXAMPLES)})
    return Seeds(every, {name: _accepted(name, every) or every for name in TARGETS})


def _accepted(name: str, bodies: Sequence[bytes]) -> list[bytes]:
    found = []
    for body in bodies:
        with suppress(MalformedFile):
            TARGETS[name](body)
            found.append(body)
    return found[:: max(1, len(found) // _MOST)]


def _made(files: Sequence[Path]) -> Iterator[bytes]:
    yield "\n".join(sorted({path.name for path in files})[:500]).encode()
    yield from (path.read_bytes()[:LARGEST] for path in sorted(_HISTORIES.glob("*.jsonl")))
    yield from (path.read_bytes() for folder in (_PRINTED, _LOGS) for path in sorted(folder.iterdir()))
    yield from _commits()
    yield from _rows(files)
    yield state_builders.plain([(bytes(8), bytes(16))] * 9)
    yield state_builders.lzf(bytes(100))
    pieces = array("I", (3, 2)).tobytes()
    yield from (sized(pieces, sized(b"keyto", end)) for end in (DONE, MORE, b"it is damaged"))
    yield b"\x01\x01\x00\x00" + pack("<BB", 2 | 0, 0)
    yield b'<html><a href="a/">a/</a> <a class=x href=\'b?C=N\'>b</a><a href="/checkpoint/c">c</a>'
    partitions = b'[{"topic":"t","topic_id":"x","partitions":[{"partition":0,"earliest":1}]}]'
    yield b'{"asked_ms":1,"sources":[{"index":0,"topics":%s}]}' % partitions
    yield from (b"s3a://bucket/a?b=c#d", b"abfss://c@a.dfs.core.windows.net/x", b"file:///a//b", b"C:\\x")


def _commits() -> Iterator[bytes]:
    yield (
        b'{"commitInfo":{"timestamp":1,"operation":"WRITE","operationParameters":{"mode":"Append"}}}\n'
        b'{"metaData":{"id":"x","schemaString":"{}","partitionColumns":[],"configuration":{"a":"b"},"createdTime":1}}\n'
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n{"txn":{"appId":"x","version":3,"lastUpdated":1}}\n'
        b'{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}\n'
        b'{"remove":{"path":"q","deletionTimestamp":1,"dataChange":true}}\n'
    )
    yield b'{"version":3,"size":4,"sizeInBytes":5,"numOfAddFiles":6}'
    yield b'{"txnId":"x","tableSizeBytes":1,"numFiles":2,"numMetadata":1,"setTransactions":[{"appId":"x","version":3}]}'
    yield (
        b'{"format-version":2,"current-snapshot-id":2,"snapshots":[{"snapshot-id":2,"parent-snapshot-id":1,'
        b'"timestamp-ms":5,"summary":{"operation":"append","spark.sql.streaming.epochId":"3"}},'
        b'{"snapshot-id":1,"timestamp-ms":4}]}'
    )


def _rows(files: Sequence[Path]) -> Iterator[bytes]:
    """Schemas of the samples with rows that they tell of, and one for each type."""
    schemas = {path.read_bytes() for path in files if "_stateSchema" in path.parts or path.name == "schema"}
    rows = list(_entries(files))[:20]
    for at, schema in enumerate(sorted(schemas, key=len)):
        for one in parse_state_schema(schema).column_families:
            texts = (json.dumps(part or {}).encode() for part in (one.key, one.value, one.encoder, one.user_key))
            yield b"\n".join([*texts, sized(*rows[at % len(rows)])])
    for kind in _TYPES:
        fields = f'[{{"name":"a","type":"{kind}"}},{{"name":"key","type":{{"type":"struct","fields":[]}}}}]'
        field = f'{{"type":"struct","fields":{fields}}}'.encode()
        for encoder in _ENCODERS:
            yield b"\n".join([field, field, encoder, b"{}", sized(b"\0" + bytes(24), b"\0" + bytes(24))])
    yield b"key STRUCT<a: BIGINT, b: ARRAY<INT>>, value STRUCT<m: MAP<STRING, INT>>\n" + sized(bytes(24), bytes(24))


def _entries(files: Sequence[Path]) -> Iterator[tuple[bytes, bytes]]:
    for path in files:
        read = {".delta": delta_entries, ".snapshot": snapshot_entries}.get(path.suffix)
        if read and path.stat().st_size <= LARGEST:
            for _, pairs in read(path.read_bytes()):
                yield from pairs[:1]
