"""Whether the state can be loaded: every file that a version needs, read to its end and held against its checksums.

Beyond what Spark looks at when it loads, the rows themselves are gone through: RocksDB checks its blocks then, row
checksums are held against their rows, and a snapshot's entries are counted. They are not decoded, and it says so: Spark
does that only when a batch comes to the key, and a row that cannot be decoded keeps no state from being loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.errors import CkptError, Unavailable, exit_code
from ckpttool.laws.state_load import check_state_files, obstacles
from ckpttool.model import Finding
from ckpttool.reading.state_files import load_state_files
from ckpttool.releases import NEWEST, Release
from ckpttool.scene.scene import Failure, Start
from ckpttool.scene.state_chain import Chain, Mode, StateFiles, StoreFiles, chains, loadable_versions
from ckpttool.state.inside import with_joins_compared
from ckpttool.state.reader import StateReader, batched, unread
from ckpttool.state.rocksdb import MissingRocksdict
from ckpttool.state.side_by_side import side_by_side

Outcome = Literal["loadable", "failure", "unknown"]


class StoreCheck(Struct, frozen=True):
    """`chain`: the newest way to load the version. `versions`: those whose files are all there, by their names; None
    where names have ids. `keys`: how many were read."""

    operator: int
    partition: int
    store: str
    chain: Chain
    versions: frozenset[int] | None
    keys: int | None
    why: str | None = None


class Verification(Struct, frozen=True):
    """`newest_restorable`: the newest batch up to the one asked for that every store can be loaded after; None: none
    among those looked at. `sample`: so many partitions of how many."""

    batch: int
    outcome: Outcome
    why: tuple[str, ...]
    failures: tuple[Failure, ...]
    stores: tuple[StoreCheck, ...]
    findings: tuple[Finding, ...]
    newest_restorable: int | None
    sample: tuple[int, int] | None = None
    is_out_of_reach: bool = False

    @property
    def exit_code(self) -> int:
        told = any(finding.severity == "error" for finding in self.findings)
        return exit_code(
            wrong=told or self.outcome == "failure",
            unreachable=self.is_out_of_reach,
            unknown=self.outcome == "unknown",
        )


def verify_state(
    reader: StateReader,
    release: Release = NEWEST,
    sample: tuple[int, int] | None = None,
    jobs: int = 1,
    files: StateFiles | None = None,
) -> Verification:
    """`jobs`: stores at a time. `files`: with what was met in them, where somebody has read them."""
    chosen = _sampler(sample)
    files = files or _load(reader, "full", chosen, jobs)
    spoken = obstacles(files, Start(release))
    failures = tuple(one for one in spoken if isinstance(one, Failure))
    failed = {failure.path.rpartition("/")[0] for failure in failures}

    def check(store: StoreFiles) -> tuple[StoreCheck, list[Finding]]:
        if store.path in failed or any(path.startswith(f"{store.path}/") for path in failed):
            return _check(reader, store, None, None), []
        keys, doubt, found = _keys(reader, store)
        return _check(reader, store, keys, doubt), found

    in_turn = _one_after_the_other(reader, files.stores) if jobs == 1 else files.stores
    checks = []
    for one, found in side_by_side(check, in_turn, jobs):
        checks.append(one)
        reader.findings.extend(found)
    keys = {(one.operator, one.partition, one.store): one.keys for one in checks}
    compared = with_joins_compared(files, lambda store: keys[store.operator, store.partition, store.name])
    if compared is not files:
        files, spoken = compared, obstacles(compared, Start(release))
    said = () if failures else [one.why for one in spoken] or _grounds(files)
    why = tuple(dict.fromkeys([*said, *(one.why for one in checks if one.why)]))
    findings = [*check_state_files(files), *reader.findings]
    if failures or any(one.severity == "error" for one in reader.findings):
        outcome: Outcome = "failure"
    else:
        outcome = "unknown" if spoken or any(check.why for check in checks) else "loadable"
    newest = reader.batch if outcome == "loadable" else _newest_restorable(reader, release, chosen, jobs)
    unreached = reader.is_out_of_reach or bool(files.unreachable)
    return Verification(reader.batch, outcome, why, failures, tuple(checks), tuple(findings), newest, sample, unreached)


def _grounds(files: StateFiles) -> tuple[str]:
    if files.version <= 0:
        return ("batch 0 begins with empty state",)
    return (f"all files that version {files.version} needs were read to their end; rows were not decoded",)


def _one_after_the_other(reader: StateReader, stores: Sequence[StoreFiles]) -> Iterator[StoreFiles]:
    for group in batched(stores):
        reader.announce(group)
        yield from group


def _load(reader: StateReader, mode: Mode, chosen: Callable[[StoreFiles], bool], jobs: int) -> StateFiles:
    return load_state_files(
        reader.store,
        reader.checkpoint,
        reader.version,
        reader.conf.partitions,
        reader.unique_ids,
        mode,
        chosen,
        jobs,
    )


def _sampler(sample: tuple[int, int] | None) -> Callable[[StoreFiles], bool]:
    """The first `n` of every `t` partitions."""
    if sample is None:
        return lambda _: True
    few, many = sample
    return lambda store: store.partition % many < few


def _keys(reader: StateReader, store: StoreFiles) -> tuple[int | None, str | None, list[Finding]]:
    """How many keys the store has, or why that is not known; and the damage."""
    if reader.version <= 0:
        return 0, None, []
    try:
        keys = reader.stores.count(store, None, partitions=1)
    except MissingRocksdict as error:
        return None, f"tables of RocksDB were not read inside: {error.message}", []
    except CkptError as error:
        return None, error.message if isinstance(error, Unavailable) else None, [unread(store.path, error)]
    chain = next(chains(store, reader.version))
    snapshot = store.snapshots.get(chain.base or "")
    if snapshot and not chain.changes and snapshot.keys >= 0 and keys != snapshot.keys + snapshot.internal_keys:
        recorded = snapshot.keys + snapshot.internal_keys
        return keys, None, [_wrong_number(f"{store.path}/{chain.base}", keys, recorded)]
    return keys, None, []


def _wrong_number(path: str, keys: int, recorded: int) -> Finding:
    return Finding(
        id="state-keys-miscounted",
        severity="warning",
        path=path,
        message=f"{keys:,} keys are there, and the snapshot says {recorded:,}",
        expected="as many as the snapshot says",
        next_step="restore the snapshot and its tables from a backup, if rows are missing. Spark does not count them",
    )


def _check(reader: StateReader, store: StoreFiles, keys: int | None, why: str | None) -> StoreCheck:
    return StoreCheck(
        operator=store.operator,
        partition=store.partition,
        store=store.name,
        chain=next(chains(store, reader.version)),
        versions=loadable_versions(store),
        keys=keys,
        why=why,
    )


def _newest_restorable(
    reader: StateReader, release: Release, chosen: Callable[[StoreFiles], bool], jobs: int
) -> int | None:
    """Batches whose commit and offsets were read, from the newest before this one down; names first, then bodies."""
    known = sorted(set(reader.checkpoint.commits) & set(reader.checkpoint.offsets), reverse=True)
    for batch in (one for one in known if one < reader.batch):
        earlier = reader.at(batch)
        names = obstacles(_load(earlier, "quick", chosen, 1), Start(release))
        if any(isinstance(one, Failure) for one in names):
            continue
        if not obstacles(_load(earlier, "full", chosen, jobs), Start(release)):
            return batch
    return None
