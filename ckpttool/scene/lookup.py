"""What was found of files that a source reads. Values only."""

from __future__ import annotations

from msgspec import Struct

from ckpttool.errors import CkptError


class Lookup(Struct, frozen=True):
    """Files that were looked for. `elsewhere`: folders of a disk that this machine does not have."""

    looked_at: int = 0
    gone: frozenset[str] = frozenset()
    elsewhere: tuple[str, ...] = ()
    unreachable: tuple[tuple[str, CkptError], ...] = ()

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """Folders of which nothing is known."""
        return (*self.elsewhere, *(folder for folder, _ in self.unreachable))
