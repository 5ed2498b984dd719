"""Are these files there? One listing tells of all that share a folder; a lone file is asked for by its name first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from ckpttool.errors import CkptError, NotFound
from ckpttool.scene.lookup import Lookup
from ckpttool.storage.store import LocalStore, Store
from ckpttool.storage.urls import redact_url


def look_up(files: Iterable[str], open_folder: Callable[[str], Store]) -> Lookup:
    """`open_folder` gives the store of what stands before the last slash."""
    folders: dict[str, list[str]] = defaultdict(list)
    for file in files:
        folders[file.rpartition("/")[0]].append(file)
    gone: set[str] = set()
    elsewhere, unreachable, looked_at = [], [], 0
    for folder, its_files in folders.items():
        try:
            store = open_folder(folder)
            if _is_elsewhere(store):
                elsewhere.append(redact_url(folder))
                continue
            gone.update(_missing(store, its_files))
            looked_at += len(its_files)
        except CkptError as error:
            unreachable.append((redact_url(folder), error))
    return Lookup(looked_at, frozenset(gone), tuple(elsewhere), tuple(unreachable))


def _missing(store: Store, files: Sequence[str]) -> list[str]:
    """A store that could not be asked says of a file the same as of one that is gone, but not of a folder."""
    if len(files) == 1 and store.stat(_name(files[0])) is not None:
        return []
    try:
        there = set(store.list())
    except NotFound:
        there = set()
    return [file for file in files if _name(file) not in there]


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _is_elsewhere(store: Store) -> bool:
    """A path of a local disk means another one on another machine: told by the folder above that is not here either."""
    if not isinstance(store, LocalStore):
        return False
    return store.stat("") is None and store.above().stat("") is None
