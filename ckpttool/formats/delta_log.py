"""`_delta_log/<version>.json`: one commit of a Delta table, an action per line. Only what tells of batches is read."""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json


def parse_transaction(data: bytes, app_id: str) -> int | None:
    """The version that this commit's `txn` records for `app_id`: the id of the streaming batch it holds."""
    found = None
    for line in data.splitlines():
        # The lines with files can be large and many; only those that can be a transaction are worth decoding.
        if b'"txn"' not in line:
            continue
        try:
            action = parse_json(line.decode("utf-8", "replace"))
        except MalformedFile:
            continue
        txn = action.get("txn") if isinstance(action, dict) else None
        if isinstance(txn, dict) and txn.get("appId") == app_id and isinstance(txn.get("version"), int):
            found = txn["version"]
    return found
