"""What `inspect` says of a checkpoint in a directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.builders import QUERY_ID
from tests.conftest import run_ckpt

SOUND = "k0-10 c | k10-20 c | k20-30"  # a restart replays batch 2


def inspect_json(path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    outcome = run_ckpt("inspect", str(path), "--format", "json", *arguments)
    fields = json.loads(outcome.out)
    assert fields["schema"] == "ckpt.inspect/1"
    return outcome.code, fields


def found(fields: dict[str, Any]) -> dict[str, str]:
    """Finding → path; the first of each kind."""
    return {finding["id"]: finding["path"] for finding in reversed(fields["findings"])}


def still_reports(fields: dict[str, Any]) -> bool:
    """What does not depend on the damaged part is there."""
    return fields["query"]["id"] == QUERY_ID and bool(fields["offsets"] or fields["commits"])


def is_printable(output: bytes) -> bool:
    text = output.decode("utf-8")
    return all(line.isprintable() for line in text.split("\n"))
