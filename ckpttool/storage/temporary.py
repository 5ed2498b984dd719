"""The one place that makes temporary directories: where the environment says or where they usually are, never below
what is read, and never in the current directory, which is what Python falls back to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ckpttool.errors import Refused
from ckpttool.storage.store import LocalStore, Store

_SAID_BY = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp")


@contextmanager
def temporary_directory(prefix: str, reading: Store) -> Iterator[str]:
    """Gone when the block is left. `reading`: what must not be written to."""
    from tempfile import TemporaryDirectory  # not for those who need none

    parent = _parent(reading)
    try:
        directory = TemporaryDirectory(prefix=prefix, dir=parent)
    except OSError:
        raise _cannot_be_had(parent) from None
    with directory as path:
        yield path


def _parent(reading: Store) -> str:
    said = next((place for name in _SAID_BY if (place := os.environ.get(name))), None)
    for place in (said,) if said else _USUAL:
        if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return _outside(os.path.realpath(place), reading)
    raise _cannot_be_had(said or " and ".join(_USUAL))


def _outside(place: str, reading: Store) -> str:
    if isinstance(reading, LocalStore):
        root = os.path.realpath(reading.url)
        if os.path.commonpath([root, place]) == root:
            raise Refused(
                f"the temporary directory {place} is inside {reading.url}, where nothing is written",
                "set TMPDIR to a directory outside it",
            )
    return place


def _cannot_be_had(place: str) -> Refused:
    return Refused(
        f"no temporary directory can be had: {place} cannot be written to", "set TMPDIR to a directory that can"
    )
