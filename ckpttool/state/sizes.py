"""What the files of each store amount to: what is on disk, what is needed, and what maintenance would delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ckpttool.errors import CkptError
from ckpttool.formats import layout
from ckpttool.formats.state.names import SST_DIRECTORY, parse_state_versions
from ckpttool.formats.state.rocksdb import parse_snapshot_zip
from ckpttool.scene.state_chain import BASE_SUFFIX, StoreFiles
from ckpttool.state.reader import StateReader

DEFAULT_RETAINED = 100  # spark.sql.streaming.minBatchesToRetain


class StoreSize(Struct, frozen=True):
    """`changes`: deltas or changelogs since the base. `garbage`: files that Spark's maintenance would delete, if it
    ran. `recorded_keys`: of the newest snapshot with a number, and its version."""

    operator: int
    store: str
    partition: int
    size_bytes: int
    needed_bytes: int | None
    base_version: int | None
    changes: int | None
    garbage_files: int
    garbage_bytes: int
    recorded_keys: int | None = None
    recorded_version: int | None = None
    why: str | None = None


def measure_stores(reader: StateReader, retained: int = DEFAULT_RETAINED) -> Iterator[StoreSize]:
    for operator in reader.operators.values():
        for partition in reader.partitions(operator.id):
            for store in operator.stores:
                yield measure_store(reader, reader.files(operator.id, partition, store.name), retained)


def measure_store(reader: StateReader, files: StoreFiles, retained: int) -> StoreSize:
    sizes = file_sizes(reader, files)
    garbage = set(_garbage(files, retained))
    base_version = changes = needed = None
    why = None
    tables: dict[str, int] = {}
    keys: int | None = None
    try:
        chain, files = reader.stores.chain(files)
        base_version, changes = chain.base_version, len(chain.changes)
        if chain.base and files.provider == "rocksdb":
            snapshot = parse_snapshot_zip(reader.store.read(f"{files.path}/{chain.base}"))
            tables = {one.path: one.size_bytes for one in snapshot.files}
            keys = snapshot.keys if snapshot.keys >= 0 else None
        needed = sum(sizes.get(name, 0) for name in (chain.base, *chain.changes) if name) + sum(tables.values())
    except CkptError as error:
        why = error.message
    return StoreSize(
        operator=files.operator,
        store=files.name,
        partition=files.partition,
        size_bytes=sum(sizes.values()),
        needed_bytes=needed,
        base_version=base_version,
        changes=changes,
        garbage_files=len(garbage),
        garbage_bytes=sum(sizes.get(name, 0) for name in garbage),
        recorded_keys=keys,
        recorded_version=base_version if keys is not None else None,
        why=why,
    )


def file_sizes(reader: StateReader, files: StoreFiles) -> dict[str, int]:
    """Of what Spark wrote: without what is hidden, temporary files and Hadoop's checksums."""
    names = [name for name in files.names if not name.rpartition("/")[2].startswith(".")]
    found = {name: reader.store.stat(f"{files.path}/{name}") for name in names}
    return {name: one.size_bytes or 0 for name, one in found.items() if one and not one.is_directory}


def _garbage(files: StoreFiles, retained: int) -> Iterable[str]:
    """Files of versions before the oldest that must stay. Spark counts back from the largest version there is: of an
    HDFS-backed store to a version, and from there to its snapshot; of a RocksDB store to a snapshot."""
    bases = _versions(files, BASE_SUFFIX[files.provider])
    if files.provider == "rocksdb":
        reach = max(bases, default=0) - retained + 1
    else:
        reach = max(parse_state_versions(files.names), default=0) - retained
    oldest = max((one for one in bases if one <= reach), default=None)
    if oldest is None:
        return ()
    return [name for name in files.names if (version := _version(name)) is not None and version < oldest]


def _versions(files: StoreFiles, suffix: str) -> tuple[int, ...]:
    return parse_state_versions(name for name in files.names if name.endswith(suffix))


def _version(name: str) -> int | None:
    if name.startswith((".", f"{SST_DIRECTORY}/")):
        return None
    versions = parse_state_versions((name.removesuffix(layout.CRC_SUFFIX),))
    return versions[0] if versions else None
