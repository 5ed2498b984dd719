"""What is on the disk before and after a restart: the logs, and the rows in the sink."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def written(log: Path) -> dict[int, tuple[int, int]]:
    """The batches of a log as Spark counts them, with what changes when a file is written again."""
    found = {}
    for path in log.glob("*"):
        if re.fullmatch(r"\d+", path.name) and path.is_file():
            stat = path.stat()
            found[int(path.name)] = (stat.st_mtime_ns, stat.st_ino)
    return found


def source_lines(checkpoint: Path, batch: int) -> list[str] | None:
    try:
        return (checkpoint / "offsets" / str(batch)).read_text(errors="replace").split("\n")[2:]
    except OSError:
        return None


def contents(root: Path) -> Json:
    """Every file below it: as text, or else in base64. An empty directory is None."""
    found: Json = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(root))] = _spelt(path.read_bytes())
        elif not any(path.iterdir()):
            found[str(path.relative_to(root))] = None
    return found


def _spelt(data: bytes) -> Json | str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def unlike(files: Json, base: Json) -> Json:
    """What is otherwise than in the base; False for what is not there."""
    gone = dict.fromkeys(base.keys() - files.keys(), False)
    return {name: what for name, what in files.items() if name not in base or base[name] != what} | gone


def sink(kind: str, output: Path) -> Json:
    """The batches that the sink says it has (`ledger`) and the rows in it; None where that cannot be told."""
    if kind == "each":
        calls = _calls(output / "calls.jsonl")
        return {"ledger": [call["batch"] for call in calls], "rows": [row for call in calls for row in call["rows"]]}
    if kind in ("json", "parquet"):
        ledger = output / "_spark_metadata"
        return {"ledger": sorted(written(ledger) | _compacted(ledger)), "rows": _rows_of_files(output)}
    if kind == "delta":
        return {"ledger": _delta_versions(output), "rows": None}
    return {"ledger": None, "rows": None}


def _calls(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _compacted(ledger: Path) -> dict[int, tuple[int, int]]:
    return {int(path.stem): (0, 0) for path in ledger.glob("*.compact") if path.stem.isdecimal()}


def _rows_of_files(output: Path) -> list[Json] | None:
    """The rows as a reader of the sink's own log sees them; None if the log or a file cannot be read."""
    try:
        return [
            json.loads(line)
            for name in _listed(output / "_spark_metadata")
            for line in (output / name).read_text().splitlines()
        ]
    except (OSError, ValueError, KeyError, TypeError):  # damaged, in one way or another
        return None


def _listed(ledger: Path) -> list[str]:
    compacts = sorted(_compacted(ledger))
    files = [ledger / f"{compacts[-1]}.compact"] if compacts else []
    files += [ledger / str(batch) for batch in sorted(written(ledger)) if not compacts or batch > compacts[-1]]
    entries = [json.loads(line) for file in files for line in file.read_text().split("\n")[1:] if line]
    return [Path(entry["path"]).name for entry in entries]


def _delta_versions(output: Path) -> list[int]:
    return sorted(int(path.stem) for path in (output / "_delta_log").glob("*.json") if path.stem.isdecimal())


def identities(rows: list[Json] | None) -> Counter[str] | None:
    return None if rows is None else Counter(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)


def lost_and_repeated(query: Json, files: int, rows: list[Json] | None) -> Json:
    """For a query that only copies: which ids of the input the sink has not, and which it has more than once."""
    if (
        rows is None
        or query.get("ops")
        or query["shape"] != "stateless"
        or query["source"] not in ("file", "python", "counter", "delta")
    ):
        return {}
    seen = Counter(row["id"] for row in rows if "id" in row)
    per_file = {"delta": 1, "counter": 0}.get(query["source"], 2)
    count = files * per_file if per_file else max(seen, default=-1) + 1
    return {
        "missing": [one for one in range(count) if not seen[one]],
        "repeated": sorted(one for one, times in seen.items() if times > 1),
    }
