"""The Iceberg source: does its table still have the snapshots that the restart goes on from?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from msgspec.structs import replace

from ckpttool.connectors.iceberg import NO_SNAPSHOT
from ckpttool.errors import CkptError, LeftUnread, MalformedFile, NotFound, Refused
from ckpttool.formats.iceberg import IcebergFile, IcebergHistory, IcebergSnapshot, parse_manifest, parse_manifest_list
from ckpttool.formats.limits import Room
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.reading.sinks.iceberg import METADATA, holds_table, load_history
from ckpttool.scene.iceberg import IcebergInput, Stand, stands
from ckpttool.scene.scene import Scene
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store
from ckpttool.storage.urls import redact_url

_SNAPSHOTS_READ = 100
_FILES_LOOKED_FOR = 1000
_MANIFEST = ".avro"


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


def _with_files(input: IcebergInput, store: Store, names: Collection[str]) -> IcebergInput:
    """What the snapshots ahead have added, by their manifests, which lie beside the metadata. Where none does, the
    metadata was copied without them, and nothing is said by that."""
    if not any(name.endswith(_MANIFEST) for name in names):
        return input
    room, files, unread = Room(), dict[int, tuple[IcebergFile, ...]](), dict[int, str]()
    ahead = [one for one in _ahead(input.stand, input.history) if one.summary.get("operation") == "append"]
    for snapshot in ahead[:_SNAPSHOTS_READ]:
        path = snapshot.manifests
        if path is None:
            continue
        try:
            listed = parse_manifest_list(_beside(store, path, room), snapshot.id)
            added: list[IcebergFile] = []
            for path in listed:
                added += parse_manifest(_beside(store, path, room), snapshot.id)
            files[snapshot.id] = tuple(added)
        except LeftUnread:
            break
        except (NotFound, MalformedFile):
            unread[snapshot.id] = f"{METADATA}/{_name(path)}"
        except CkptError:
            break
    return replace(input, files=files, unread=unread, files_known=len(files) + len(unread) == len(ahead))


def _beside(store: Store, path: str, room: Room) -> bytes:
    body = store.read(f"{METADATA}/{_name(path)}")
    room.take(body)
    return body


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _load(stand: Stand, url: str, doors: Doors) -> IcebergInput:
    path = redact_url(url)
    if "/" not in url:
        step = "give the table's directory, the one with `metadata` in it: --option path=…"
        return IcebergInput(stand, path, error=Refused("it is a name in a catalog, which is not asked", step))
    try:
        store = doors.open(url)
        names = store.list(METADATA)
        if not holds_table(names):
            return IcebergInput(stand, path, exists=False)
        found = _with_files(IcebergInput(stand, path, load_history(store, names)), store, names)
        added = dict.fromkeys(file.path for each in found.files.values() for file in each)
        data = look_up(islice(added, _FILES_LOOKED_FOR), lambda folder: doors.follow(Named(folder)))
        return replace(found, data=data, files_known=found.files_known and len(added) <= _FILES_LOOKED_FOR)
    except NotFound:
        return IcebergInput(stand, path, exists=False)
    except CkptError as error:
        return IcebergInput(stand, path, error=error)
