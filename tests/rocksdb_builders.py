"""RocksDB snapshots as Spark leaves them, made with RocksDB itself: a zip, and the tables that it names."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Pair = tuple[bytes, bytes]


def snapshot(
    version: str | int,
    pairs: Iterable[Pair],
    families: Mapping[str, int] | None = None,
    recorded: int | None = None,
) -> dict[str, bytes]:
    """The files of one snapshot, below a store's directory. `recorded`: how many keys it says to have."""
    from rocksdict import Options, Rdict

    pairs = list(pairs)
    with tempfile.TemporaryDirectory() as place:
        database = Rdict(place, Options(raw_mode=True))
        for key, value in pairs:
            database[key] = value
        database.flush()
        database.close()
        files = {path.name: path.read_bytes() for path in Path(place).iterdir() if path.is_file()}
    tables = {name: data for name, data in files.items() if name.endswith(".sst")}
    small = {name: data for name, data in files.items() if re.match(r"CURRENT$|MANIFEST-|OPTIONS-", name)}
    described: dict[str, Any] = {
        "sstFiles": [
            {"localFileName": name, "dfsSstFileName": f"{version}-{name}", "sizeBytes": len(data)}
            for name, data in tables.items()
        ],
        "numKeys": len(pairs) if recorded is None else recorded,
        "numInternalKeys": 0,
    }
    if families is not None:
        described["columnFamilyMapping"] = dict(families)
    small["metadata"] = b"v1\n" + json.dumps(described).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in small.items():
            made.writestr(name, data)
    return {f"{version}.zip": out.getvalue(), **{f"SSTs/{version}-{name}": data for name, data in tables.items()}}
