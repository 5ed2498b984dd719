"""Windows that the state holds: a checkpoint tells their lengths by nothing else."""

from __future__ import annotations

from msgspec import Struct


class StoredWindows(Struct, frozen=True):
    """Of one operator. `rows`: how many it keeps; None: more than were counted. `newest`: start and end of the last
    few, in microseconds; `last_end`: the last end of all that were counted."""

    operator: int
    rows: int | None
    newest: tuple[tuple[int, int], ...]
    are_sessions: bool = False
    last_end: int | None = None
