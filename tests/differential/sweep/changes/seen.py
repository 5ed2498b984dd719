"""What is on the disk before and after a start, and what of it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.differential.sweep import observe
from tests.differential.sweep.changes.load import is_as_meant
from tests.differential.sweep.restarts import error_of, first_batch

Json = dict[str, Any]
Rows = dict[str, list[str]]  # of each batch that wrote any, as JSON
TAKEN = "taken"  # a directory that another query has written all these batches to
LEDGER = "_spark_metadata"


class Disk:
    """The disk at one moment."""

    def __init__(self, root: Path) -> None:
        self.root, self.checkpoint = root, root / "checkpoint"
        self.commits = observe.written(self.checkpoint / "commits")
        self.files = {
            str(path.relative_to(self.checkpoint)): (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in self.checkpoint.rglob("*")
            if path.is_file() and not path.name.endswith(".crc")
        }
        self.calls = [json.loads(line) for path in root.glob("*/calls.jsonl") for line in path.read_text().splitlines()]
        self.ledgers = {path: path.read_text() for path in root.glob(f"*/{LEDGER}/[0-9]*") if path.name.isdecimal()}

    def rows_since(self, before: Disk) -> Rows:
        found = {str(call["batch"]): list(map(_text, call["rows"])) for call in self.calls[len(before.calls) :]}
        for ledger in sorted(self.ledgers.keys() - before.ledgers.keys()):
            names = [Path(json.loads(line)["path"]).name for line in self.ledgers[ledger].split("\n")[1:] if line]
            lines = [line for name in names for line in (ledger.parents[1] / name).read_text().splitlines()]
            found[ledger.name] = sorted(_text(json.loads(line)) for line in lines)
        return found

    def since(self, before: Disk) -> list[str]:
        return sorted(name for name, file in self.files.items() if before.files.get(name) != file)


def _text(row: Json) -> str:
    """Of a row the values alone, in the order of their columns: nobody minds what they are called."""
    return json.dumps(list(row.values()), separators=(",", ":"), ensure_ascii=False)


def take(root: Path) -> None:
    entry = (root / "output" / LEDGER / "0").read_text()
    (root / TAKEN / LEDGER).mkdir(parents=True)
    for batch in range(9):  # the next one would be compacted
        (root / TAKEN / LEDGER / str(batch)).write_text(entry)


def truth_of(answer: Json, before: Disk, after: Disk, conf: Mapping[str, str]) -> Json:
    chain = answer["start"] or answer["error"] or []
    ran = sorted(batch for batch, file in after.commits.items() if before.commits.get(batch) != file)
    resumed, _ = first_batch(answer["log"])
    truth: Json = {"outcome": "ran", "batch_id": resumed, "ran": ran, "rows": after.rows_since(before)}
    if chain or answer["said"]:
        phase = "start" if answer["start"] or answer["said"] else "init" if resumed is None else "batch"
        failed_in = (max(ran) + 1 if ran else resumed) if phase == "batch" else None
        error = error_of(chain, answer["said"])
        truth |= {"outcome": "error", "batch_id": failed_in, "phase": phase, "error": error}
        truth["left"] = after.since(before)
    if conf and after.files.keys() - {"metadata"}:
        truth["conf"] = {key: value for key, value in _pinned(after).items() if key in conf}
    return truth


def _pinned(disk: Disk) -> Json:
    """What the newest offsets pin."""
    newest = max(observe.written(disk.checkpoint / "offsets"))
    text = (disk.checkpoint / "offsets" / str(newest)).read_text().split("\n")
    return dict(json.loads(text[1]).get("conf", {}))


def without_defaults(fields: Json, defaults: Json) -> Json:
    return {key: value for key, value in fields.items() if value != defaults[key]}


def anywhere(truth: Json, root: Path) -> Json:
    """Without the places of this machine."""
    for part in (truth, truth.get("back") or {}):
        if part.get("error"):
            part["error"]["message"] = (part["error"]["message"] or "").replace(str(root), "<root>")[:300]
    return truth


def told(case: Json) -> str:
    truth = case["truth"]
    text = str(truth["outcome"])
    if truth.get("error"):
        text += f" {truth['phase']} {truth['batch_id']} {truth['error']['class']} {truth['error']['condition']}"
        back = truth["back"] or {"outcome": "left nothing"}
        text += (
            f" {truth['error']['message'][:90]!r}; back: {back['outcome']} {(back.get('error') or {}).get('message')}"
        )
    if truth["outcome"] == "ran":
        text += " as meant" if is_as_meant(case) else " OTHER ROWS"
    return text if case["described"] else f"{text} NOT DESCRIBED"
