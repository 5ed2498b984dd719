"""Reads which windows the state holds, as far as a few of them tell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ckpttool.errors import CkptError
from ckpttool.formats.state.types import DataType
from ckpttool.model import Checkpoint
from ckpttool.scene.windows import StoredWindows
from ckpttool.state.reader import StateReader
from ckpttool.state.tables import StateTable
from ckpttool.storage.store import Store

_COUNTED = 100_000
_SOME = 8
_SESSION = "session_window"


def windows_of(store: Store, checkpoint: Checkpoint, batch: int) -> Iterator[StoredWindows]:
    """After `batch`. What cannot be read tells nothing here: whoever looks at the state says so."""
    reader = StateReader(store, checkpoint, batch)
    for table in reader.tables:
        part, place = window_in(table)
        if place is None:
            continue
        try:
            found = [row.values[part][place] for row in islice(reader.rows(table), _COUNTED + 1)]
        except CkptError:
            continue
        windows = [(start, end) for start, end in found if start is not None and end is not None]
        is_empty = not found and [one.operator for one in reader.tables].count(table.operator) == 1
        if (windows or is_empty) and not reader.findings:
            yield StoredWindows(
                table.operator,
                len(found) if len(found) <= _COUNTED else None,
                tuple(sorted(set(windows))[-_SOME:]),
                part == 1,
                max((end for _, end in windows), default=None),
            )


def window_in(table: StateTable) -> tuple[int, int | None]:
    """In the key (0), or of sessions in the value (1); and which of its columns."""
    if table.shape != "pairs" or table.is_internal:
        return 0, None
    in_value = next((at for at, one in enumerate(table.value.fields) if one.name == _SESSION), None)
    if in_value is not None:
        return 1, in_value
    return 0, next((at for at, one in enumerate(table.key.fields) if _is_window(one.type, one.metadata)), None)


def _is_window(kind: DataType, metadata: Any) -> bool:
    """Spark marks the column that `window` made."""
    marked = isinstance(metadata, dict) and metadata.get("spark.timeWindow") is True
    return marked and [one.name for one in kind.fields] == ["start", "end"]
