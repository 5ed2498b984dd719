"""Which files of a checkpoint its next batch needs. Pure: what was looked at in, paths out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.formats import layout
from ckpttool.model import LogNames
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import StoreFiles, chains, sst_names


def needed_directories(scene: Scene) -> Iterator[str]:
    """Those of which everything is needed: sources read their logs whole, and operators what describes them."""
    roots = scene.checkpoint.root_names
    if layout.SOURCES in roots:
        yield layout.SOURCES
    yield from (name for name in roots if layout.is_schema_log(name))
    yield from operator_directories(scene)


def operator_directories(scene: Scene) -> Iterator[str]:
    """Those that describe the operators."""
    for operator in scene.checkpoint.operators:
        yield layout.operator_metadata(operator.id)
        yield f"{layout.operator(operator.id)}/{layout.SCHEMAS}"


def operator_files(scene: Scene) -> Iterator[str]:
    for operator in scene.checkpoint.operators:
        yield from (layout.schema_file(operator.id, store.name) for store in operator.stores)


def needed_files(scene: Scene) -> Iterator[str]:
    """Besides: what says where the query is, and the state that the batch begins with, its newest way to load it."""
    checkpoint = scene.checkpoint
    yield layout.METADATA
    newest = checkpoint.offset_names.ids[-2:]
    yield from map(layout.offsets, newest)
    yield from map(layout.commits, commits_since(checkpoint.commit_names, newest))
    for directory, names in ((layout.OFFSETS, checkpoint.offset_names), (layout.COMMITS, checkpoint.commit_names)):
        yield from (f"{directory}/{name}" for name in (*names.non_canonical, *names.temporary, *names.orphan_crcs))
    yield from operator_files(scene)
    needed = scene.needed_state
    for store in needed.stores if needed else ():
        yield from (f"{store.path}/{name}" for name in _names_in(store, needed.version if needed else 0))


def commits_since(commits: LogNames, offsets: Sequence[int]) -> Sequence[int]:
    """The last one; those after the newest offsets as well, which stand in the way of their batches."""
    return [*commits.ids[-1:], *(one for one in commits.ids[:-1] if offsets and one >= offsets[-1])]


def _names_in(store: StoreFiles, version: int) -> Iterator[str]:
    """Down to the first base that nothing is known against: later releases go on to older ones."""
    for chain in chains(store, version):
        if chain.base:
            yield from (*sst_names(store, chain.base), chain.base)
        yield from chain.changes
        if chain.missing is None and not any(name in store.faults for name in (chain.base or "", *chain.changes)):
            return
