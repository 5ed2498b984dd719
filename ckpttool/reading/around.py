"""What lies around the files that a restart opens: checksums beside them, their owners, the bucket that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from ckpttool.connectors.file import ALSO_READ_PATHS, is_pattern
from ckpttool.connectors.file import KIND as FILES
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.bucket_rules import Expiry
from ckpttool.formats.checksums import parse_hadoop_crc, parse_spark_checksum, verify_hadoop_crc
from ckpttool.formats.state.names import by_batch, parse_state_versions
from ckpttool.scene.around import Around, Backups, Barred, Need, TwoShapes, YoungSchema
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import BASE_SUFFIX, base_versions
from ckpttool.storage.store import FileStat, Store
from ckpttool.storage.urls import is_local

if TYPE_CHECKING:
    from ckpttool.kafka.lookup import Brokers
    from ckpttool.kafka.moments import TimesAnswer
    from ckpttool.storage.doors import Doors

_APPLIES = f"{layout.OWN_DIRECTORY}/applies"
_FILES_COUNTED = 2_000  # of backups
_FILES_LOOKED_AT = 10_000  # of an input
_STORES_LOOKED_AT = 200
_TIMES_LOOKED_AT = 20_000
_LIFECYCLE, _VERSIONING, _TIME_LEFT = "bucket-lifecycle", "bucket-unversioned", "time-left-before-loss"
_TOO_OLD = "source-files-too-old"


class _Bucket(Struct):
    expiries: tuple[Expiry, ...] = ()
    versioned: bool | None = None


def look_around(
    store: Store, scene: Scene, brokers: Brokers | None = None, doors: Doors | None = None, *, at_length: bool = True
) -> Around:
    """`at_length`: with what takes more than names, times and a few small files. Never raises."""
    unseen: dict[str, str] = {}
    bucket = _bucket(store, unseen) if at_length else _Bucket()
    return Around(
        stale_checksums=tuple(_stale_checksums(store, scene)) if is_local(store.url) else (),
        owners=dict(_owners(store, scene)),
        barred=tuple(_barred(store, scene)) if at_length and is_local(store.url) else (),
        oldest=dict(_oldest(store, scene)),
        written=dict(islice(_written(store, scene), _TIMES_LOOKED_AT)),
        backups=_backups(store),
        log_bytes=dict(_log_bytes(store, scene)),
        expiries=bucket.expiries,
        versioned=bucket.versioned,
        times=_times(scene, brokers, unseen) if at_length and brokers else {},
        unread_files=dict(_unread_files(scene, doors, unseen)) if at_length and doors else {},
        state_bytes=_state_bytes(store, scene) if at_length else None,
        executors=frozenset(_executors(store, scene)) if is_local(store.url) else frozenset(),
        young_schemas=tuple(_young_schemas(store, scene)),
        two_shapes=_two_shapes(store, scene) if at_length else (),
        unseen=unseen,
    )


def _stale_checksums(store: Store, scene: Scene) -> Iterator[str]:
    """Of the files that were read anyway. Where the checksum cannot be read, nothing compares it."""
    raw = scene.checkpoint.raw
    beside = {layout.hadoop_crc(path): path for path in raw}
    there = [crc for crc in beside if store.stat(crc) is not None]
    for crc, body in store.read_all(there):
        try:
            if isinstance(body, bytes) and verify_hadoop_crc(parse_hadoop_crc(body), raw[beside[crc]]) is not None:
                yield beside[crc]
        except MalformedFile:
            continue


def _owners(store: Store, scene: Scene) -> Iterator[tuple[int, str]]:
    """Only the local disk tells."""
    names = [layout.METADATA, *scene.checkpoint.modified_ms]
    for path in names if is_local(store.url) else ():
        found = store.stat(path)
        if found and found.owner is not None:
            yield found.owner, path


def _barred(store: Store, scene: Scene) -> Iterator[Barred]:
    """By the bits of owner and others; whoever has a group's may be in it. Root may do everything."""
    newest = scene.planned if scene.planned is not None else -1
    written = store.stat(layout.offsets(newest))
    user = written.owner if written else None
    if not user:
        return
    stores = scene.needed_state.stores if scene.needed_state else ()
    own = [layout.source(log.name) for log in scene.checkpoint.source_logs if log.kind == FILES]
    directories = (layout.OFFSETS, layout.COMMITS, *own, *(one.path for one in stores[:_STORES_LOOKED_AT]))
    files = (layout.METADATA, layout.offsets(newest), layout.offsets(newest - 1), layout.commits(newest))
    asked: tuple[tuple[Need, tuple[str, ...], int], ...] = (("write", directories, 0o3), ("read", files, 0o4))
    for need, paths, bits in asked:
        for path in paths:
            found = store.stat(path)
            if found and found.mode is not None and not found.leads_out and _lacks(found, user, bits):
                yield Barred(path, user, need, found.mode & 0o777)


def _lacks(found: FileStat, user: int, bits: int) -> bool:
    mode = found.mode or 0
    if found.owner == user:
        return mode >> 6 & bits != bits
    return mode & bits != bits and mode >> 3 & bits != bits


def _oldest(store: Store, scene: Scene) -> Iterator[tuple[str, int]]:
    logs = (layout.source_entry(log.name, 0) for log in scene.checkpoint.source_logs if 0 in log.names.ids)
    for path in (layout.METADATA, *logs):
        found = store.stat(path)
        if found and found.modified_ms is not None:
            yield path, found.modified_ms


def _written(store: Store, scene: Scene) -> Iterator[tuple[str, int]]:
    """Of directories that were listed when the checkpoint was loaded: that asks for nothing."""
    logs, files = scene.checkpoint.source_logs, scene.needed_state
    listed = [(layout.source(one.name), [*map(str, one.names.ids), *one.names.others]) for one in logs]
    listed += [(one.path, sorted(one.names)) for one in (files.stores if files else ())]
    for directory, names in listed:
        for path in (f"{directory}/{name}" for name in names if not name.startswith(".") and "/" not in name):
            found = store.stat(path)
            if found and found.modified_ms is not None and not found.is_directory:
                yield path, found.modified_ms


def _log_bytes(store: Store, scene: Scene) -> Iterator[tuple[str, int]]:
    for log in scene.checkpoint.source_logs:
        if log.names.compact_ids:
            path = layout.source_entry(log.name, layout.compact(log.names.compact_ids[-1]))
            found = store.stat(path)
            if found and found.size_bytes is not None:
                yield path, found.size_bytes


def _state_bytes(store: Store, scene: Scene) -> tuple[int, int] | None:
    """Of the stores that have more than one whole copy."""
    files = scene.needed_state
    oldest = newest = 0
    for one in files.stores if files else ():
        bases = [base for base in base_versions(one, files.version) if base] if files and one.provider == "hdfs" else []
        sizes = [store.stat(f"{one.path}/{base}{BASE_SUFFIX['hdfs']}") for base in (bases[-1:] + bases[:1])]
        if len(bases) > 1 and all(sizes):
            oldest += (sizes[0].size_bytes or 0) if sizes[0] else 0
            newest += (sizes[1].size_bytes or 0) if sizes[1] else 0
    return (oldest, newest) if oldest else None


def _executors(store: Store, scene: Scene) -> Iterator[str]:
    """Of the newest file of each store that has Spark's checksum beside it."""
    files = scene.needed_state
    wanted = []
    for one in files.stores[:_STORES_LOOKED_AT] if files else ():
        beside = sorted(name for name in one.names if name.endswith(".crc") and not name.startswith("."))
        wanted += [f"{one.path}/{beside[-1]}"] if beside else []
    for _, body in store.read_all(wanted):
        try:
            if isinstance(body, bytes):
                yield parse_spark_checksum(body).executor_id
        except MalformedFile:
            continue


def _young_schemas(store: Store, scene: Scene) -> Iterator[YoungSchema]:
    """Of operators that have versions. By the batch in its name, or by the times of files that are no copies."""
    newest, files = scene.batch(scene.checkpoint.last_commit_batch), scene.needed_state
    if newest is None or files is None:
        return
    written = {one.operator for one in files.stores if parse_state_versions(one.names)}
    for operator in (one for one in scene.checkpoint.operators if one.id in written):
        for described in operator.metadata.stores if operator.metadata else ():
            names = [path.rpartition("/")[2] for path in described.schema_paths]
            if names and by_batch(names[-1])[0] > newest.id:
                path = f"{layout.schema_versions(operator.id, described.name)}/{names[-1]}"
                yield YoungSchema(path, newest.id)
        for path in (layout.schema_file(operator.id, one.name) for one in operator.stores if one.schema):
            found = store.stat(path)
            made = found.modified_ms if found else None
            if made is not None and newest.committed_ms is not None and made > newest.committed_ms and newest.is_timely:
                yield YoungSchema(path, newest.id, made - newest.committed_ms)


def _two_shapes(store: Store, scene: Scene) -> tuple[TwoShapes, ...]:
    files = scene.needed_state
    if files is None or files.version <= 0 or files.unreachable:
        return ()
    from ckpttool.state.shapes import two_shapes

    return tuple(two_shapes(store, scene.checkpoint, files.version - 1))


def _backups(store: Store) -> Backups | None:
    try:
        plans = store.list(_APPLIES)
    except CkptError:
        return None
    sizes, left = 0, _FILES_COUNTED
    for plan in plans:
        try:
            for path in _files_below(store, f"{_APPLIES}/{plan}"):
                if left == 0:
                    return Backups(len(plans), sizes, more=True)
                found, left = store.stat(path), left - 1
                sizes += (found.size_bytes or 0) if found else 0
        except CkptError:
            return Backups(len(plans), sizes, more=True)
    return Backups(len(plans), sizes)


def _files_below(store: Store, directory: str) -> Iterator[str]:
    """But for what Spark takes no notice of."""
    for name in store.list(directory):
        if name.startswith(("_", ".")):
            continue
        path = f"{directory}/{name}".lstrip("/")
        found = store.stat(path)
        if found and found.is_directory:
            yield from _files_below(store, path)
        elif found:
            yield path


# -- what others tell --------------------------------------------------------------------------------------------------


def _bucket(store: Store, unseen: dict[str, str]) -> _Bucket:
    """Each is a question of its own, that one may be forbidden to ask."""
    found = _Bucket()
    if is_local(store.url):
        return found
    from ckpttool.storage.objects import ObjectStore

    if not isinstance(store, ObjectStore):
        return found
    try:
        below = (one for one in store.expiries() if _may_meet(one.prefix, store.prefix))
        found.expiries = tuple(below)
    except CkptError as error:
        unseen[_LIFECYCLE] = error.told
    try:
        found.versioned = store.is_versioned()
    except CkptError as error:
        unseen[_VERSIONING] = error.told
    return found


def _unread_files(scene: Scene, doors: Doors, unseen: dict[str, str]) -> Iterator[tuple[str, int]]:
    """What lies below the directory that was given, if its source is the only one that reads files."""
    path = scene.start.option("path")
    logs = [log for log in scene.checkpoint.source_logs if log.kind == FILES]
    if path is None or is_pattern(path) or len(logs) != 1 or scene.kinds & ALSO_READ_PATHS:
        return
    below = f"/{path.rstrip('/').rpartition('/')[2]}/"
    known = {unquote(entry.path).rpartition(below)[2] for entries in logs[0].entries.values() for entry in entries}
    try:
        store = doors.open(path)
        for name in islice(_files_below(store, ""), _FILES_LOOKED_AT):
            found = store.stat(name) if name not in known else None
            if found and found.modified_ms is not None:
                yield name, found.modified_ms
    except CkptError as error:
        unseen[_TOO_OLD] = error.told


def _may_meet(rule: str, prefix: str) -> bool:
    """Of all that lies there, or of some of it."""
    return prefix.startswith(rule) or rule.startswith(prefix)


def _times(scene: Scene, brokers: Brokers, unseen: dict[str, str]) -> dict[int, TimesAnswer]:
    if scene.kafka is None:
        return {}
    from ckpttool.kafka.diff import views_of
    from ckpttool.kafka.lookup import look_at_times

    views = views_of(scene, scene.kafka)
    told = dict(zip((view.index for view in views), look_at_times(views, scene, brokers), strict=True))
    faults = [answer.fault.message for answer in told.values() if answer.fault]
    if faults:
        unseen[_TIME_LEFT] = faults[0]
    return told
