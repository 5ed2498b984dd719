"""State files as Spark writes them, small, and from nothing but bytes: for the tests of what reads them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from struct import pack

import cramjam

from ckpttool.formats.state.digests import xxh32

Record = tuple[bytes, bytes | None]  # a key and its value; None removes the key


def plain(records: Iterable[Record], end: bool = True) -> bytes:
    body = b"".join(pack(">i", len(key)) + key + _value(value) for key, value in records)
    return body + (b"\xff\xff\xff\xff" if end else b"")


def _value(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else pack(">i", len(value)) + value


def typed(records: Iterable[tuple[int, bytes, bytes | None]]) -> bytes:
    return b"".join(bytes([kind]) + plain([(key, value)], end=False) for kind, key, value in records) + b"\x00"


def utf(text: str) -> bytes:
    return pack(">H", len(text.encode())) + text.encode()


def lineage(*items: tuple[int, str]) -> bytes:
    return utf(json.dumps([{"version": version, "checkpointUniqueId": name} for version, name in items]))


def lz4(content: bytes, block: int = 32_768, stored: bool = False) -> bytes:
    """What `LZ4BlockOutputStream` makes of it: blocks, then an empty one."""
    blocks = [_lz4_block(content[at : at + block], stored) for at in range(0, len(content), block)]
    return b"".join([*blocks, b"LZ4Block\x15" + bytes(12)])


def _lz4_block(plain: bytes, stored: bool) -> bytes:
    payload = plain if stored else bytes(cramjam.lz4.compress_block(plain, store_size=False))
    token = 0x15 if stored else 0x25
    return pack("<8sBiiI", b"LZ4Block", token, len(payload), len(plain), xxh32(plain, 0x9747B28C) & 0xFFFFFFF) + payload


def zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content))


def snappy(content: bytes, block: int = 32_768) -> bytes:
    blocks = [bytes(cramjam.snappy.compress_raw(content[at : at + block])) for at in range(0, len(content), block)]
    return b"\x82SNAPPY\x00" + pack(">ii", 1, 1) + b"".join(pack(">i", len(one)) + one for one in blocks)


def lzf(*chunks: bytes) -> bytes:
    return b"".join(b"ZV\x00" + pack(">H", len(chunk)) + chunk for chunk in chunks)


def snapshot_zip(ssts: Sequence[tuple[str, int]] = (), metadata: bytes | None = None) -> bytes:
    """`<version>.zip`, written as a stream, with these SSTs and their sizes in its metadata."""
    files = [{"localFileName": name, "dfsSstFileName": name, "sizeBytes": size} for name, size in ssts]
    described = b"v1\n" + json.dumps({"sstFiles": files, "numKeys": 1}).encode() if metadata is None else metadata
    out = io.BytesIO()
    with zipfile.ZipFile(_Unseekable(out), "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("CURRENT", b"MANIFEST-000005\n")
        made.writestr("metadata", described)
    return out.getvalue()


class _Unseekable(io.RawIOBase):
    """A stream that a zip is written to in one go, so that sizes and checksums follow the entries."""

    def __init__(self, out: io.BytesIO) -> None:
        self.out = out

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self.out.write(data)


def sst(size: int = 100) -> bytes:
    return bytes(size - 8) + (0x88E241B785F4CFF7).to_bytes(8, "little")


# -- a checkpoint around them ------------------------------------------------------------------------------------------

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
DELTA = lz4(plain([(bytes(8), bytes(16))]))


def checkpoint(
    root: Path,
    state: Mapping[str, bytes],
    batch: int = 2,
    provider: str = HDFS,
    partitions: int = 1,
    unique_ids: Sequence[str] = (),
    conf: Mapping[str, str] | None = None,
) -> Path:
    """A checkpoint whose batch is committed, so that version `batch + 1` is needed, and these files below `state/`. Its
    source is one of rates, which leaves nothing open."""
    conf = {
        "spark.sql.streaming.stateStore.providerClass": provider,
        "spark.sql.shuffle.partitions": str(partitions),
        **(conf or {}),
    }
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf})
    ids = {"stateUniqueIds": {"0": [[one] for one in unique_ids]}} if unique_ids else {}
    files = {
        "metadata": b'{"id":"4c3ea7c6-9a0b-4f53-8c2e-2f1d9a6f0e11"}',
        f"commits/{batch}": f"{'v2' if ids else 'v1'}\n{json.dumps({'nextBatchWatermarkMs': 0} | ids)}".encode(),
        **{f"offsets/{one}": f"v1\n{head}\n0".encode() for one in (batch - 1, batch) if one >= 0},
        "sources/0/0": b"v1\n1",
        **{f"state/{name}": data for name, data in state.items()},
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def deltas(*versions: int, partition: int = 0) -> dict[str, bytes]:
    return {f"0/{partition}/{version}.delta": DELTA for version in versions}


def changelogs(*versions: int) -> dict[str, bytes]:
    return {f"0/0/{version}.changelog": DELTA for version in versions}


def rocksdb_snapshot(version: str | int, table: bytes | None = None) -> dict[str, bytes]:
    """A zip and the one table that it names."""
    name = f"{version}.sst"
    content = sst() if table is None else table
    return {f"0/0/{version}.zip": snapshot_zip([(name, 100)]), f"0/0/SSTs/{name}": content}
