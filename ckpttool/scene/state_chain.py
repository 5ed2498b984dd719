"""What a version of the state rests on: for each store a base, which is a whole copy, and the changes since. Pure.

`StateFiles` is what was found of one checkpoint. `chains` names the files to load a store from, the newest base first:
Spark up to 4.1 takes the first chain or fails; later releases go on to older bases when one cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats.names import parse_long
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.model import Position, SparkError

if TYPE_CHECKING:
    from ckpttool.formats.state.rocksdb import Snapshot

Provider = Literal["hdfs", "rocksdb"]
Mode = Literal["quick", "full"]
FaultKind = Literal[
    "missing",  # nothing of that name
    "not-a-file",  # a directory of that name
    "stream",  # the compressed stream, or the end of it
    "key-size",
    "value-size",
    "no-metadata",  # a zip that ends before `metadata`
    "metadata-version",
    "size",  # an SST that is not as large as its zip says
    "hadoop-crc",  # not what the checksums of Hadoop's local file system say
    "framing",  # what is around schemas in their file, or around the JSON of operator metadata
    "schema",  # no schema that Spark can read
    "schema-version",  # a schema file that does not begin with a version
    "sidecar",  # not what Spark's own checksum file says
    "deadly",  # whoever was to decode it died
    "unread",  # not looked at: too large, or out of reach
]

BASE_SUFFIX: dict[Provider, str] = {"hdfs": ".snapshot", "rocksdb": ".zip"}
CHANGE_SUFFIX: dict[Provider, str] = {"hdfs": ".delta", "rocksdb": ".changelog"}


class Fault(Struct, frozen=True):
    """Why a file cannot be used. `spark`: what the library that Spark reads it with raises, whatever the release."""

    kind: FaultKind
    message: str
    expected: str | None = None
    position: Position | None = None
    spark: SparkError | None = None

    @property
    def is_at_the_head(self) -> bool:
        return self.position is not None and self.position.byte == 0


_FILE_NOT_FOUND = SparkError("java.io.FileNotFoundException")
NO_FILE = Fault("missing", "the file is not there", spark=_FILE_NOT_FOUND)
NOT_A_FILE = Fault("not-a-file", "a directory of that name", expected="a file", spark=_FILE_NOT_FOUND)


class StoreFiles(Struct, frozen=True):
    """One store of one partition of one operator. All names are relative to `path`; SSTs are `SSTs/<name>`.

    `opened` holds what was read and decoded, or at least what was asked for its size: of a file outside it, nothing but
    its name is known. `sidecar_faults`: files that do not match Spark's checksum beside them, if Spark looks at it.
    `hadoop_faults`: those that do not match Hadoop's, if this release reads them by the class that looks at it.
    `lineage`: versions and ids that the changelog with `unique_id` goes back to; `ancestry`: those that it does not
    name, but the changelogs that it names do. `has_families`: a changelog holds the records of column families.
    `blocked`: a directory that has the name of the file which the next batch writes. `damage`: what was met when the
    tables of the newest base were read through."""

    operator: int
    partition: int
    name: str
    path: str
    provider: Provider
    names: frozenset[str] = frozenset()
    unique_id: str | None = None
    sizes: Mapping[str, int | None] = {}
    faults: Mapping[str, Fault] = {}
    sidecar_faults: Mapping[str, Fault] = {}
    hadoop_faults: Mapping[str, Fault] = {}
    snapshots: Mapping[str, Snapshot] = {}
    lineage: tuple[tuple[int, str], ...] | None = None
    ancestry: tuple[tuple[int, str], ...] = ()
    has_families: bool = False
    blocked: str | None = None
    damage: str | None = None
    opened: frozenset[str] = frozenset()


class OperatorFiles(Struct, frozen=True):
    """What belongs to an operator as a whole; faults by path. `partitions`: how many there must be.

    `metadata_faults`: of metadata of version 2 only, since Spark does without version 1. `orphan_crcs`: checksum files
    of files that are not there, and cannot be written then."""

    id: int
    partitions: int = 1
    schema_faults: Mapping[str, Fault] = {}
    metadata_faults: Mapping[str, Fault] = {}
    orphan_crcs: tuple[str, ...] = ()


class StateFiles(Struct, frozen=True):
    """The files that `version` of the state needs. `entries`: how many names are in `state/`, None if it is not there.

    `never_committed`: operators that are described and have no version, while others have, or what describes them is
    younger than the newest commit: no store of theirs is here.
    `unreachable`: directories that could not be listed.
    `tables_read`: those of RocksDB were read through."""

    version: int
    mode: Mode
    stores: tuple[StoreFiles, ...] = ()
    operators: tuple[OperatorFiles, ...] = ()
    entries: int | None = None
    never_committed: tuple[int, ...] = ()
    unreachable: tuple[str, ...] = ()
    tables_read: bool = False

    @property
    def has_unread_tables(self) -> bool:
        return not self.tables_read and any(store.snapshots for store in self.stores)


class Chain(Struct, frozen=True):
    """A base (None: the empty state before version 1) and the changes on top of it that are there, in their order.

    `missing` is the first that is not there; what would follow it is not in `changes`. `incomplete`: the ids are not
    known of all the changes that the empty state would need."""

    base_version: int
    base: str | None
    changes: tuple[str, ...] = ()
    missing: str | None = None
    incomplete: bool = False


def chains(store: StoreFiles, version: int) -> Iterator[Chain]:
    """The ways to load this version, the newest base first; with ids there may be none that is known."""
    if version <= 0:
        yield Chain(0, None)
        return
    if store.unique_id is not None:
        yield from _chains_by_id(store, version, store.unique_id)
        return
    base_suffix, change_suffix = BASE_SUFFIX[store.provider], CHANGE_SUFFIX[store.provider]
    above, newest = Chain(version, None), version
    for base in base_versions(store, version):
        name = f"{base}{base_suffix}" if base else None
        between = _replay(store, base, name, (f"{one}{change_suffix}" for one in range(base + 1, newest + 1)))
        if between.missing is None:
            between = replace(between, changes=between.changes + above.changes, missing=above.missing)
        yield between
        above, newest = between, base


def wanted_names(store: StoreFiles, version: int) -> tuple[str, ...]:
    """What is still to be opened before it can be said whether the store loads; nothing, when that is known."""
    seen: str | None = None  # the first of the changes that a newer base has too, all of which are opened
    for chain in chains(store, version):
        base = (chain.base, *sst_names(store, chain.base)) if chain.base else ()
        added = takewhile(lambda name, seen=seen: name != seen, chain.changes)  # type: ignore[misc]
        unopened = tuple(name for name in (*base, *added) if name not in store.opened)
        if unopened:
            return unopened
        if is_unread(store, chain.base):
            return ()
        seen = chain.changes[0] if chain.changes else seen
        if not (chain.incomplete or is_doubtful(store, chain.base)):
            if chain.base_version >= newest_lineage_begins(store, version):
                return ()
            break  # Spark follows the ids to their beginning before it takes an older base
    oldest = min((*(store.lineage or ()), *store.ancestry), default=None)  # may name older ones
    name = f"{oldest[0]}_{oldest[1]}.changelog" if oldest else None
    return (name,) if name in store.names - store.opened else ()


def newest_lineage_begins(store: StoreFiles, version: int) -> int:
    """How far back the ids of a store are known from its newest changelog alone; without ids all versions are."""
    return 0 if store.unique_id is None else min((version, *(one for one, _ in store.lineage or ())))


def is_found(store: StoreFiles, version: int, chain: Chain, most_changes: int) -> bool:
    """Whether Spark comes to a base: ids that the newest changelog does not name it follows back over as many changes
    as it may replay, or not at all."""
    begins = newest_lineage_begins(store, version)
    older = {one for one, _ in store.ancestry}
    is_near = chain.incomplete or store.lineage is None or chain.base_version >= begins
    return is_near or older.issuperset(range(max(1, version - most_changes), begins))


def next_change(store: StoreFiles, version: int) -> str:
    """The file in which the batch that loads this version leaves its changes, where no id is part of the name."""
    writes_whole = store.provider == "rocksdb" and not any(name.endswith(".changelog") for name in store.names)
    return f"{version + 1}{(BASE_SUFFIX if writes_whole else CHANGE_SUFFIX)[store.provider]}"


def base_versions(store: StoreFiles, version: int) -> list[int]:
    """The versions up to this one of which there is a base, descending; the empty state is always there."""
    suffix = BASE_SUFFIX[store.provider]
    numbers = {number for _, number in listed_bases(store.names, suffix) if number and 0 < number <= version}
    return [*sorted((one for one in numbers if f"{one}{suffix}" in store.names), reverse=True), 0]


@lru_cache(maxsize=8)  # each release that may come to load a store asks, and of one store after the other
def listed_bases(names: frozenset[str], suffix: str) -> tuple[tuple[str, int | None], ...]:
    """All names that may be taken for bases, with the numbers that they stand for."""
    found = sorted(name for name in names if name.endswith(suffix) and "/" not in name)
    return tuple((name, parse_long(name.removesuffix(suffix))) for name in found)


def loadable_versions(store: StoreFiles) -> frozenset[int] | None:
    """Those of which all files are there, by their names; None where names have ids, which only commits can order."""
    if store.unique_id is not None:
        return None
    base_suffix, change_suffix = BASE_SUFFIX[store.provider], CHANGE_SUFFIX[store.provider]
    found = {0}  # the empty state
    for version in parse_state_versions(store.names):
        has_change = version - 1 in found and f"{version}{change_suffix}" in store.names
        if has_change or f"{version}{base_suffix}" in store.names:
            found.add(version)
    return frozenset(found - {0})


def is_doubtful(store: StoreFiles, base: str | None) -> bool:
    """Whether something is wrong with a base, at least for some releases."""
    snapshot = store.snapshots.get(base or "")
    return base in store.sidecar_faults or bool(base_faults(store, base)) or bool(snapshot and snapshot.version != 1)


def is_unread(store: StoreFiles, base: str | None) -> bool:
    fault = store.faults.get(base or "")
    return fault is not None and fault.kind == "unread"


def base_faults(store: StoreFiles, base: str | None) -> tuple[tuple[str, Fault], ...]:
    """What is wrong with a base, in the order in which Spark comes upon it: the file itself, then its SSTs."""
    if base is None:
        return ()
    return tuple((name, store.faults[name]) for name in (base, *sst_names(store, base)) if name in store.faults)


def sst_names(store: StoreFiles, base: str) -> tuple[str, ...]:
    snapshot = store.snapshots.get(base)
    return tuple(file.path for file in snapshot.files) if snapshot else ()


def _chains_by_id(store: StoreFiles, version: int, unique_id: str) -> Iterator[Chain]:
    """A changelog names what it goes back to; before it is opened, only itself and the snapshot of its version are
    known."""
    own = {**dict(store.lineage or ()), version: unique_id}
    every = {**dict(store.ancestry), **own}
    bases = [base for base in sorted(own, reverse=True) if _has_base(store, own, base)]
    yield from (_replay_ids(store, own, base, version) for base in bases)
    if store.lineage is None:
        yield _replay(store, 0, None, (f"{version}_{unique_id}.changelog",))
    elif _reaches_back(own, version):
        yield _replay_ids(store, own, 0, version)
    else:
        if not bases:
            yield Chain(0, None, incomplete=True)
        older = [base for base in sorted(every, reverse=True) if base not in own and _has_base(store, every, base)]
        yield from (_replay_ids(store, every, base, version) for base in older)
        if _reaches_back(every, version):
            yield _replay_ids(store, every, 0, version)
        elif bases:
            yield Chain(0, None, incomplete=True)


def _has_base(store: StoreFiles, ids: Mapping[int, str], version: int) -> bool:
    return f"{version}_{ids[version]}.zip" in store.names


def _reaches_back(ids: Mapping[int, str], version: int) -> bool:
    """Whether every version from 1 on has its id."""
    return len(ids) >= version and all(one in ids for one in range(1, version + 1))


def _replay_ids(store: StoreFiles, ids: Mapping[int, str], base: int, version: int) -> Chain:
    name = f"{base}_{ids[base]}.zip" if base else None
    return _replay(store, base, name, (f"{one}_{ids.get(one)}.changelog" for one in range(base + 1, version + 1)))


def _replay(store: StoreFiles, base_version: int, base: str | None, changes: Iterable[str]) -> Chain:
    present: list[str] = []
    for name in changes:
        if name not in store.names:
            return Chain(base_version, base, tuple(present), missing=name)
        present.append(name)
    return Chain(base_version, base, tuple(present))
