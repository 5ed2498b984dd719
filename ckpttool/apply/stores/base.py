"""What has to be possible where something is changed. Beside `storage.Store`, which only reads; nobody but this package
imports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from ckpttool.errors import Refused


class AlreadyThere(Refused):
    """An exclusive create found something."""


class Changed(Refused):
    """What is there is not what it was expected to be."""


class OwnerDiffers(Refused):
    """The file would belong to somebody else than the one it replaces."""


class Bearing(Struct, frozen=True):
    """What a file has beside its bytes. `modified_ns` None: the time of its writing."""

    mode: int
    owner: int
    group: int
    modified_ns: int | None = None


class Found(Struct, frozen=True):
    """A file as it is there. `version`: changes whenever somebody writes it; a conditional change names it."""

    size: int
    sha256: str
    version: str
    bearing: Bearing


class WritableStore(Protocol):
    """A directory tree. Every path is taken as it stands: no link is followed, neither at its end nor on the way.

    `requests`: how often something was read, listed, written or deleted."""

    url: str
    requests: Counter[str]

    def look(self, path: str) -> Found | None:
        """What is there, read to its end; None if there is nothing. Raises Refused for what is no regular file."""

    def pieces(self, path: str) -> Iterator[bytes]:
        """The file's bytes."""

    def names(self, path: str) -> dict[str, bool] | None:
        """Each name in a directory, and whether it is a directory itself; None if there is none."""

    def bearing_of(self, path: str) -> Bearing | None:
        """Of a file or a directory, without reading it."""

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:
        """Whole or not at all, with the directories that it takes; raises AlreadyThere."""

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:
        """In one go, with no moment without a file; raises Changed if it is not that version any more."""

    def delete(self, path: str, version: str) -> None:
        """Raises Changed if it is not that version any more."""

    def make_directory(self, path: str, bearing: Bearing) -> None:
        """No error if it is there."""

    def remove_directory(self, path: str) -> None:
        """If it is there, and empty."""

    def set_time(self, path: str, modified_ns: int) -> bool:
        """Of a directory; False where times cannot be set."""

    def free_bytes(self) -> int | None:
        """Room for more; None where there is no bound."""

    def may_give(self, bearing: Bearing) -> bool:
        """Whether a new file can belong to that owner."""

    def sweep(self) -> None:
        """Remove what a write of ours left that was interrupted."""
