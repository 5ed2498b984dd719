"""The Hudi source: does its table's timeline still reach back to the instant that the restart goes on from?"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.hudi import HudiOffset
from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.hudi import HOODIE, PROPERTIES, HudiTimeline, parse_table_version, seen_by_source, timeline_of
from ckpttool.scene.hudi import HudiInput
from ckpttool.scene.inputs import LastRange, last_ranges
from ckpttool.scene.scene import Scene
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store
from ckpttool.storage.urls import redact_url


def load_hudi_tables(scene: Scene, url: str, doors: Doors) -> Iterator[HudiInput]:
    for one in last_ranges(scene, HudiOffset):
        yield _load(one, url, doors)


def _load(one: LastRange[HudiOffset], url: str, doors: Doors) -> HudiInput:
    asked = one.source, redact_url(url), one.start, one.end
    try:
        store = doors.open(url)
        if PROPERTIES not in _names(store, HOODIE):
            return HudiInput(*asked, exists=False)
        return HudiInput(*asked, _timeline(store))
    except CkptError as error:
        return HudiInput(*asked, error=error)


def _timeline(store: Store) -> HudiTimeline:
    version = parse_table_version(store.read(f"{HOODIE}/{PROPERTIES}"))
    active, archive = timeline_of(version)
    return seen_by_source(version, _names(store, active), _names(store, archive))


def _names(store: Store, path: str) -> list[str]:
    try:
        return store.list(path)
    except NotFound:
        return []
