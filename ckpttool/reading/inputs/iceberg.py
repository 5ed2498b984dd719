"""The Iceberg source: does its table still have the snapshots that the restart goes on from?"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import CkptError, NotFound, Refused
from ckpttool.reading.sinks.iceberg import is_iceberg, load_history
from ckpttool.scene.iceberg import IcebergInput, Stand, stands
from ckpttool.scene.scene import Scene
from ckpttool.storage.doors import Doors
from ckpttool.storage.urls import redact_url


def load_iceberg_tables(scene: Scene, url: str, doors: Doors) -> Iterator[IcebergInput]:
    """A query that has planned nothing yet may read anything: there the table itself tells what it is."""
    for stand in stands(scene):
        yield _load(stand, url, doors)
    if scene.planned is None and not scene.checkpoint.source_logs and "/" in url:
        begun = _load(Stand("0"), url, doors)
        if begun.exists and not begun.error:
            yield begun


def _load(stand: Stand, url: str, doors: Doors) -> IcebergInput:
    path = redact_url(url)
    if "/" not in url:
        step = "give the table's directory, the one with `metadata` in it: --option path=…"
        return IcebergInput(stand, path, error=Refused("it is a name in a catalog, which is not asked", step))
    try:
        store = doors.open(url)
        if not is_iceberg(store):
            return IcebergInput(stand, path, exists=False)
        return IcebergInput(stand, path, load_history(store))
    except NotFound:
        return IcebergInput(stand, path, exists=False)
    except CkptError as error:
        return IcebergInput(stand, path, error=error)
