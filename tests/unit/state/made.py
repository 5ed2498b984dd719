"""Checkpoints with one store of texts and numbers, made by hand, and what is read out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ckpttool.state.reader import StateReader, open_state
from ckpttool.storage.store import open_store
from tests.rocksdb_builders import snapshot
from tests.state_builders import HDFS, checkpoint, lz4, plain, utf
from tests.unsafe_rows import row, schema

KEY, VALUE = schema(("k", "string")), schema(("n", "long"))


Named = dict[str, int | None]  # key → value; None deletes it


def schema_file(key: Any = KEY, value: Any = VALUE) -> bytes:
    import json

    def chunks(kind: Any) -> bytes:
        return (1).to_bytes(4, "big") + utf(json.dumps(kind))

    return utf("v2") + chunks(key) + chunks(value)


def hdfs_file(rows: Named) -> bytes:
    return lz4(plain((row(KEY, (key,)), None if n is None else row(VALUE, (n,))) for key, n in rows.items()))


def rocks_key(key: str) -> bytes:
    return b"\x00" + row(KEY, (key,))


def rocks_value(n: int) -> bytes:
    return b"\x00" + row(VALUE, (n,))


def changelog(rows: Named, header: bytes = b"") -> bytes:
    return lz4(header + plain((rocks_key(key), None if n is None else rocks_value(n)) for key, n in rows.items()))


def rocks_snapshot(version: str | int, rows: Named, **more: Any) -> dict[str, bytes]:
    return snapshot(version, [(rocks_key(key), rocks_value(n or 0)) for key, n in rows.items()], **more)


def placed(root: Path, files: dict[str, bytes], provider: str = HDFS, batch: int = 2, **more: Any) -> Path:
    below = {f"0/0/{name}": data for name, data in files.items()}
    return checkpoint(root, {"0/0/_metadata/schema": schema_file(), **below}, batch, provider, **more)


def read(root: Path, batch: int | None = None) -> StateReader:
    return open_state(open_store(str(root)), batch)


def rows_of(reader: StateReader) -> dict[str, int]:
    (table,) = reader.tables
    return {row.values[0][0]: row.values[1][0] for row in reader.rows(table)}
