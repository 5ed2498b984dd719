"""Avro files, encoded by hand: for the metadata of tables."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

SYNC = bytes(range(16))


def long(value: int) -> bytes:
    zigzag, out = value << 1 ^ value >> 63, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return long(len(raw)) + raw


def mapping(pairs: Mapping[str, bytes]) -> bytes:
    """`pairs`: values as they are encoded."""
    items = b"".join(text(key) + value for key, value in pairs.items())
    return long(len(pairs)) + items + long(0) if pairs else long(0)


def avro_file(schema: Any, records: Sequence[bytes], codec: str | None = None, sync: bytes = SYNC) -> bytes:
    header = {"avro.schema": text(json.dumps(schema))} | ({"avro.codec": text(codec)} if codec else {})
    block = b"".join(records)
    if codec == "deflate":
        deflater = zlib.compressobj(wbits=-15)
        block = deflater.compress(block) + deflater.flush()
    return b"Obj\x01" + mapping(header) + sync + long(len(records)) + text(block) + sync
