"""The state's files in a plan: what keeps them from being loaded, and what they are when some are set aside."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.laws.state_load import obstacle_of
from ckpttool.scene.scene import Doubt, Failure, Start
from ckpttool.scene.state_chain import StateFiles, StoreFiles

States = Mapping[int, StateFiles]

_STORE = rf"{layout.STATE}/\d+/\d+/(?:[^/]+/)?"
_VERSION = re.compile(rf"{_STORE}\.?(\d+)(_[^/.]+)?\.(snapshot|zip|delta|changelog)(?:\.crc)*")


def obstacle(states: States, version: int, start: Start) -> Failure | Doubt | None:
    """Why this version of the state cannot be loaded; None also where nobody looked at it."""
    return obstacle_of(states[version], start) if version in states else None


def without(states: States, gone: Collection[str]) -> States:
    return {version: _without(files, gone) for version, files in states.items()}


def _without(files: StateFiles, gone: Collection[str]) -> StateFiles:
    if "state" in gone:
        return StateFiles(files.version, files.mode, entries=None)
    operators = tuple(
        replace(
            operator,
            schema_faults={path: fault for path, fault in operator.schema_faults.items() if path not in gone},
            orphan_crcs=tuple(path for path in operator.orphan_crcs if path not in gone),
        )
        for operator in files.operators
    )
    stores = tuple(_store_without(store, gone) for store in files.stores)
    never_committed = tuple(one for one in files.never_committed if layout.operator(one) not in gone)
    return replace(files, operators=operators, stores=stores, never_committed=never_committed)


def _store_without(store: StoreFiles, gone: Collection[str]) -> StoreFiles:
    here = {path.removeprefix(f"{store.path}/") for path in gone if path.startswith(f"{store.path}/")}
    if not here:
        return store
    return replace(
        store,
        names=store.names - here,
        opened=store.opened - here,
        faults={name: fault for name, fault in store.faults.items() if name not in here},
        sidecar_faults={name: fault for name, fault in store.sidecar_faults.items() if name not in here},
        snapshots={name: snapshot for name, snapshot in store.snapshots.items() if name not in here},
        blocked=None if store.blocked in here else store.blocked,
    )


def listing(states: States) -> frozenset[str] | None:
    """The names in the store directories, as far as any version was looked at."""
    if not states:
        return None
    stores = (store for files in states.values() for store in files.stores)
    return frozenset(f"{store.path}/{name}" for store in stores for name in store.names)


# -- by names alone ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def versions_everywhere(files: frozenset[str], operator: int) -> frozenset[int]:
    """The versions of which there is a file in each of the operator's store directories."""
    stores: dict[str, set[int]] = {}
    for file in files:
        own = file.startswith(f"{layout.operator(operator)}/") and not file.endswith(layout.CRC_SUFFIX)
        if own and (found := _VERSION.fullmatch(file)):
            stores.setdefault(file.rpartition("/")[0], set()).add(int(found[1]))
    return frozenset.intersection(*map(frozenset, stores.values())) if stores else frozenset()


def later_versions(files: Iterable[str], version: int) -> list[str]:
    """The files of versions above this one. Newest first, snapshots before what they were made from: cut short, the
    state is incomplete rather than stale."""
    found = [
        (-int(match[1]), match[3] not in ("snapshot", "zip"), file)
        for file in files
        if (match := _VERSION.fullmatch(file)) and int(match[1]) > version
    ]
    return [file for _, _, file in sorted(found)]


def has_later_base(files: Iterable[str], version: int) -> bool:
    """Whether a later load would find a whole copy of a version above this one. Changes are overwritten as they are
    made again, and names with ids are found by no other timeline."""
    found = (_VERSION.fullmatch(file) for file in files if file.endswith((".snapshot", ".zip")))
    return any(match and not match[2] and version < int(match[1]) <= LONG_MAX for match in found)
