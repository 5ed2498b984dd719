"""The Iceberg source: does its table still have the snapshots that the restart goes on from?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ckpttool.connectors.iceberg import NO_SNAPSHOT
from ckpttool.errors import CkptError, NotFound, Refused
from ckpttool.formats.iceberg import IcebergFile, IcebergHistory, IcebergSnapshot, parse_manifest, parse_manifest_list
from ckpttool.formats.limits import Room
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.reading.sinks.iceberg import METADATA, is_iceberg, load_history
from ckpttool.scene.iceberg import IcebergInput, Stand, stands
from ckpttool.scene.scene import Scene
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store
from ckpttool.storage.urls import redact_url

_SNAPSHOTS_READ = 100
_FILES_LOOKED_FOR = 1000


def load_iceberg_tables(scene: Scene, url: str, doors: Doors) -> Iterator[IcebergInput]:
    """A query that has planned nothing yet may read anything: there the table itself tells what it is."""
    for stand in stands(scene):
        yield _load(stand, url, doors)
    if scene.planned is None and not scene.checkpoint.source_logs and "/" in url:
        begun = _load(Stand("0"), url, doors)
        if begun.exists and not begun.error:
            yield begun


def _ahead(stand: Stand, history: IcebergHistory) -> Iterator[IcebergSnapshot]:
    """The snapshots that the next batch reads, and a few behind: from that of its start on."""
    line = stand.start or stand.beginning
    start = line.offset.snapshot_id if line and line.offset else NO_SNAPSHOT
    begun = start == NO_SNAPSHOT
    for snapshot in reversed(history.snapshots):
        begun = begun or snapshot.id == start
        if begun:
            yield snapshot


def _added_files(store: Store, snapshots: Sequence[IcebergSnapshot]) -> Iterator[tuple[int, tuple[IcebergFile, ...]]]:
    """By their manifests, which lie beside the metadata; as far as all of them can be read."""
    room = Room()
    for snapshot in snapshots[:_SNAPSHOTS_READ]:
        if snapshot.summary.get("operation") != "append" or snapshot.manifests is None:
            continue
        try:
            listed = parse_manifest_list(_beside(store, snapshot.manifests, room), snapshot.id)
            files = [file for one in listed for file in parse_manifest(_beside(store, one, room), snapshot.id)]
        except CkptError:
            return
        yield snapshot.id, tuple(files)


def _beside(store: Store, path: str, room: Room) -> bytes:
    body = store.read(f"{METADATA}/{path.rpartition('/')[2]}")
    room.take(body)
    return body


def _load(stand: Stand, url: str, doors: Doors) -> IcebergInput:
    path = redact_url(url)
    if "/" not in url:
        step = "give the table's directory, the one with `metadata` in it: --option path=…"
        return IcebergInput(stand, path, error=Refused("it is a name in a catalog, which is not asked", step))
    try:
        store = doors.open(url)
        if not is_iceberg(store):
            return IcebergInput(stand, path, exists=False)
        history = load_history(store)
        files = dict(_added_files(store, list(_ahead(stand, history))))
        names = islice(dict.fromkeys(file.path for each in files.values() for file in each), _FILES_LOOKED_FOR)
        data = look_up(names, lambda folder: doors.follow(Named(folder)))
        return IcebergInput(stand, path, history, files=files, data=data)
    except NotFound:
        return IcebergInput(stand, path, exists=False)
    except CkptError as error:
        return IcebergInput(stand, path, error=error)
