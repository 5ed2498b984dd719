"""What comes to a sink over the next batches, as values; `laws.sinks.horizon` concludes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ckpttool.scene.scene import Failure


class Unreadable(Struct, frozen=True):
    """How readers of a sink fail. `after`: from the moment on at which this batch is written; None: already."""

    why: str
    after: int | None = None


class Missing(Struct, frozen=True):
    """Committed batches whose rows are not in the sink, and that nothing will bring back. `batches` may be all that is
    known of more. `rows`: how many, where that is known."""

    batches: tuple[int, ...]
    why: str
    rows: int | None = None


class Horizon(Struct, frozen=True):
    """Of the batches from `first` to `last`: up to `skipped_to` the sink skips them, and `failure` is how one fails.

    `if_files`: nothing tells whether a file sink writes there; the failure and `unreadable` are of one that does."""

    first: int
    last: int
    skipped_to: int | None = None
    failure: Failure | None = None
    unreadable: Unreadable | None = None
    missing: tuple[Missing, ...] = ()
    if_files: bool = False
