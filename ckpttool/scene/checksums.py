"""Files that the next batch goes by, and that something else than Spark put there.

Hadoop's local file system leaves a checksum beside each file that it writes. Where an earlier file has one and a later
one has none, the later one was copied, edited or restored since: it can be read, and what it says is on nobody's word.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import StoreFiles, chains


def without_checksum(scene: Scene) -> tuple[str, ...]:
    """Of what file sources have seen, and of the state. The two logs of batches are not asked: a way out writes those
    itself."""
    return (*_entries(scene), *_state(scene)) if scene.is_local else ()


def _entries(scene: Scene) -> Iterator[str]:
    """What the newest compact file repeats is not read any more."""
    for log in scene.checkpoint.source_logs:
        compacted = max(log.names.compact_ids, default=-1)
        for name in log.names.without_crc:
            if int(name.removesuffix(layout.COMPACT_SUFFIX)) >= compacted:
                yield layout.source_entry(log.name, name)


def _state(scene: Scene) -> Iterator[str]:
    files = scene.needed_state
    for store in files.stores if files else ():
        yield from (f"{store.path}/{name}" for name in _in_store(store, files.version if files else 0))


def _in_store(store: StoreFiles, version: int) -> Iterator[str]:
    with_it = [name for name in store.names if layout.hadoop_crc(name) in store.names]
    first = next(iter(parse_state_versions(with_it)), None)
    chain = next(chains(store, version), None)
    if first is None or chain is None:
        return
    for name in (*([chain.base] if chain.base else ()), *chain.changes):
        if layout.hadoop_crc(name) not in store.names and parse_state_versions([name])[0] > first:
            yield name
