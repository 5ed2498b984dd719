"""What `ckpt apply` left in a checkpoint that is not finished. Its own commands look closer (`apply/`)."""

from __future__ import annotations

import json

from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.layout import OWN_DIRECTORY, OWN_LOCK
from ckpttool.storage.store import Store

_APPLIES = f"{OWN_DIRECTORY}/applies"
_ENDS = ("done", "undone")
_NEWEST = 20  # of those that were planned: what was not finished is not far from the last


def unfinished_apply(store: Store) -> str | None:
    """The plan that was begun and has not ended; a lock alone counts as well. Of very many the newest are looked at,
    unless a lock tells that somebody was at it."""
    is_locked = store.stat(OWN_LOCK) is not None
    names = sorted(_names(store, _APPLIES), reverse=True)
    for name in names if is_locked else names[:_NEWEST]:
        if store.stat(f"{_APPLIES}/{name}/plan.json") is not None and not _has_ended(
            store, f"{_APPLIES}/{name}/journal"
        ):
            return name
    return OWN_LOCK if is_locked else None


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
