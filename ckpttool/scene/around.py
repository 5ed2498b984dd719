"""What lies around the files that a restart opens, and decides how long they last. Values only; whoever asks how a
query is looks at it (`reading/around.py`), and no restart depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ckpttool.formats.bucket_rules import Expiry

if TYPE_CHECKING:
    from ckpttool.kafka.moments import TimesAnswer


Need = Literal["write", "read"]


class Backups(Struct, frozen=True):
    """What `ckpt apply` has kept of the files that it changed. `more`: not all of it was looked at."""

    applies: int
    size_bytes: int
    more: bool = False


class YoungSchema(Struct, frozen=True):
    """What a store keeps was described anew since `batch` was committed. `after_ms`: how long after; None: its name
    tells the batch that it was described for."""

    path: str
    batch: int
    after_ms: int | None = None


class TwoShapes(Struct, frozen=True):
    """Keys of one table that are not of one shape. `shapes`: in words, and how many of them, the most first. `since`:
    the first batch after which there are two; None: there are in the oldest state that can be loaded."""

    operator: int
    path: str
    shapes: tuple[tuple[str, int], ...]
    since: int | None = None


class Barred(Struct, frozen=True):
    """What the user who has written the newest batch cannot do there: "write" into a directory, or "read" a file."""

    path: str
    user: int
    need: Need
    mode: int


class Around(Struct, frozen=True):
    """`stale_checksums`: files that are not what Hadoop's checksum beside them was made of. `owners`: of each user one
    of the files that are theirs. `oldest`: files that are written once, and when. `written`: the files of sources and
    of state that were listed, and when. `log_bytes`: of each source's log the
    newest compact file. `expiries`, `versioned`: of the bucket, None where there is none, or it does not tell. `times`:
    by source, when the records of Kafka were made. `unread_files`: what lies in a file source's directory and not in
    its log, and when it was written. `state_bytes`: of the oldest and of the newest whole copies of HDFS-backed state.
    `young_schemas`, `two_shapes`: of state. `executors`: that have written state files, by the checksums beside these.
    `barred`: what its user lacks. `unseen`: by law, why it could not be looked at."""

    stale_checksums: tuple[str, ...] = ()
    owners: Mapping[int, str] = {}
    oldest: Mapping[str, int] = {}
    written: Mapping[str, int] = {}
    backups: Backups | None = None
    log_bytes: Mapping[str, int] = {}
    expiries: tuple[Expiry, ...] = ()
    versioned: bool | None = None
    times: Mapping[int, TimesAnswer] = {}
    unread_files: Mapping[str, int] = {}
    state_bytes: tuple[int, int] | None = None
    executors: frozenset[str] = frozenset()
    barred: tuple[Barred, ...] = ()
    young_schemas: tuple[YoungSchema, ...] = ()
    two_shapes: tuple[TwoShapes, ...] = ()
    unseen: Mapping[str, str] = {}

    @property
    def first_by_age(self) -> tuple[str, int] | None:
        """What removal by age takes first of what is needed, and when that was written."""
        return min(self.oldest.items(), key=lambda one: one[1], default=None)
