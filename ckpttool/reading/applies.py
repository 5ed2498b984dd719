"""What `ckpt apply` left in a checkpoint that is not finished. Its own commands look closer (`apply/`)."""

from __future__ import annotations

import json

from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.storage.store import Store

_APPLIES, _LOCK = f"{OWN_DIRECTORY}/applies", f"{OWN_DIRECTORY}/lock"
_ENDS = ("done", "undone")


def unfinished_apply(store: Store) -> str | None:
    """The plan that was begun and has not ended; a lock alone counts as well."""
    for name in sorted(_names(store, _APPLIES), reverse=True):
        if store.stat(f"{_APPLIES}/{name}/plan.json") is not None and not _has_ended(
            store, f"{_APPLIES}/{name}/journal"
        ):
            return name
    return _LOCK if store.stat(_LOCK) is not None else None


def _has_ended(store: Store, journal: str) -> bool:
    """By the newest record that says anything: of an undo that was begun, only its own end counts."""
    for name in sorted(_names(store, journal), reverse=True):
        try:
            did = json.loads(store.read(f"{journal}/{name}"))["did"]
        except (CkptError, ValueError, TypeError, KeyError, RecursionError):
            continue
        if did in (*_ENDS, "undoing"):
            return did in _ENDS
    return False


def _names(store: Store, path: str) -> list[str]:
    try:
        return store.list(path)
    except NotFound:
        return []
