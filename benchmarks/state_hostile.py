"""What hostile state costs: memory beyond that of reading sound state, whatever the files say that they become."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from struct import pack

from benchmarks import state_files
from benchmarks.measure import CKPT, Gate, peak_memory_bytes
from benchmarks.tables import write_row
from tests.state_builders import HDFS, ROCKSDB, checkpoint, lz4

_BLOCK = 32_768
_MOST_MIB = 96  # an entry of a zip may have 64


def measure() -> Iterator[Gate]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        zeros = lz4(bytes(_BLOCK))[:-21]
        long_record = lz4(pack(">i", 2**31 - 1) + bytes(_BLOCK - 4))[:-21]
        sound = _peak(place / "sound", HDFS, {"1.delta": state_files.file_of("bigint", range(10), 1)})
        hostile = {
            "1.5 MiB of LZ4 that become 320 MiB": (HDFS, {"1.delta": zeros * 10_000}),
            "a record of 2 GiB": (HDFS, {"1.delta": long_record + zeros * 10_000}),
            "a zip of a million entries": (ROCKSDB, {"1.zip": _zip(1_000_000, b"")}),
            "a zip of 1 MiB that becomes 1 GiB": (ROCKSDB, {"1.zip": _zip(1, bytes(2**30))}),
        }
        for what, (provider, files) in hostile.items():
            beyond = (_peak(place / what, provider, files) - sound) / 2**20
            gate = Gate(f"memory beyond that of sound state: {what}", beyond, _MOST_MIB, "MiB")
            write_row("alone", [gate.name, f"{gate.measured:.0f} MiB", str(_MOST_MIB)])
            yield gate


def _peak(root: Path, provider: str, files: dict[str, bytes]) -> int:
    state = {"0/0/_metadata/schema": state_files.schema_file("bigint")}
    state |= {f"0/0/{name}": data for name, data in files.items()}
    checkpoint(root, state, batch=0, provider=provider, partitions=1)
    return peak_memory_bytes(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *CKPT, "state", "count", str(root)])


def _zip(entries: int, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(entries):
            made.writestr(str(number), content)
        end = made.start_dir
    return out.getvalue()[:end]  # its directory is as large again, and nobody reads it
