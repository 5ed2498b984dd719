"""The two doors to stores beside the checkpoint: `open` for what the user typed, `follow` for what a file names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from ckpttool.errors import CkptError
from ckpttool.storage.authority import (
    Authority,
    Below,
    Named,
    Remote,
    Typed,
    authority_of,
    refuse_what_is_not_followed,
    way_to,
)
from ckpttool.storage.store import LocalStore, Store, open_store
from ckpttool.storage.urls import canonical, is_chain, parse_url, protocol_of


class Doors:
    """`typed`: the URLs that the command works on. `look_at`: what files may lead to besides. `opened`: those of
    `typed` that somebody has opened."""

    def __init__(
        self,
        typed: Sequence[str],
        storage_options: Mapping[str, str] | None = None,
        look_at: Sequence[str] = (),
        opened: Mapping[str, Store] | None = None,
    ) -> None:
        for url in look_at:
            refuse_what_is_not_followed(url)
        self.options = storage_options or {}
        self.opened = opened or {}
        every = (*typed, *look_at)
        self._typed = Typed(
            frozenset(self._authorities(every)), tuple(_directories(every)), frozenset(_protocols(typed))
        )

    def open(self, url: str) -> Store:
        return self.opened.get(url) or open_store(url, self.options)

    def follow(self, named: Named) -> Store:
        """Raises NotPointedAt, before anybody is asked, unless the user pointed there."""
        way = self.way(named)
        if isinstance(way, Below):
            return LocalStore(way.directory).at(way.path or ".")
        return open_store(way.url, way.options)

    def way(self, named: Named) -> Below | Remote:
        """The same, with nothing opened."""
        return way_to(named, self._typed, self.options, os.environ)

    def _authorities(self, urls: Sequence[str]) -> Iterator[Authority]:
        for url in map(_last_link, urls):
            try:
                authority = authority_of(url, self.options, os.environ)
            except CkptError:  # whoever opens it will be told
                continue
            if authority is not None:
                yield authority


def _directories(urls: Sequence[str]) -> Iterator[tuple[str, str]]:
    for url in urls:
        if is_chain(url):  # an archive is no directory
            continue
        target, local = _parsed(url)
        if target is None and local:
            yield os.path.abspath(local["path"]), os.path.realpath(local["path"])


def _protocols(urls: Sequence[str]) -> Iterator[str]:
    for url in map(_last_link, urls):
        target, _ = _parsed(url)
        if target is not None:
            yield canonical(protocol_of(target))


def _last_link(url: str) -> str:
    """Of a chain, the one that is asked for with credentials."""
    return url.rpartition("::")[2] if is_chain(url) else url


def _parsed(url: str) -> tuple[str | None, Mapping[str, str]]:
    try:
        return parse_url(url)
    except CkptError:
        return "", {}
