"""What nobody may change while a rehearsal runs: marks of all files there, taken before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckpttool.apply.fingerprints import files_below, mark_unread
from ckpttool.apply.plan_file import FileMark
from ckpttool.errors import NotFound
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import redact_url


class Watch:
    """Stores are opened anew for each look: what a listing told before must not answer."""

    def __init__(self, storage: Mapping[str, str]) -> None:
        self._storage = storage
        self._before: dict[str, dict[str, FileMark]] = {}

    def add(self, url: str) -> None:
        if url not in self._before:
            self._before[url] = self._look(url)

    def touched(self) -> Iterator[str]:
        """Files that came, went or became others."""
        for url, before in self._before.items():
            after = self._look(url)
            changed = (path for path in sorted({*before, *after}) if before.get(path) != after.get(path))
            yield from (f"{redact_url(url).rstrip('/')}/{path}" for path in changed)

    def _look(self, url: str) -> dict[str, FileMark]:
        store: Store = open_store(url, self._storage)
        store.survey()
        try:
            return {path: mark_unread(store, path) for path in files_below(store, "")}
        except NotFound:
            return {}
