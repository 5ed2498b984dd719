"""The cache of real parts: one directory per part, made once, whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MARKER = ".complete"


def cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ckpttool"


def ensure_directory(relative: str, recipe: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The directory `relative` of the cache, filled by `make` unless it was made by the same recipe before.

    The work is done under a temporary name and a lock, and the marker is written last: a process killed half-way
    leaves nothing that a later one would take for whole, and two processes do not make the same part twice.
    """
    target = cache_root() / relative
    wanted = json.dumps(list(recipe))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.with_name(f".{target.name}.lock")):
        marker = target / MARKER
        if marker.exists() and marker.read_text() == wanted:
            return target
        unfinished = target.with_name(f".{target.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        make(unfinished)
        (unfinished / MARKER).write_text(wanted)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
    return target


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
