"""The state that the next batch begins with, or one to go back to: which version, which partitions, under which ids."""

from __future__ import annotations

from ckpttool.reading.state_files import load_state_files
from ckpttool.scene.evidence import partition_count
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import Mode, StateFiles
from ckpttool.storage.store import Store


def asks_for_state(scene: Scene) -> bool:
    if scene.is_continuous or scene.planned is None:
        return False
    return scene.is_stateful


def load_state_at(store: Store, scene: Scene, version: int, mode: Mode) -> StateFiles:
    """Spark asks for the ids of the last commit, whichever version it needs."""
    commits = scene.checkpoint.commits
    commit = commits.get(version - 1) if version != scene.next_id else commits.get(scene.committed or 0)
    pinned = partition_count(scene.evidence, scene.planned or 0)
    partitions = int(pinned) if pinned and pinned.isdecimal() and len(pinned) < 10 else None
    unique_ids = commit.state_unique_ids if commit else None
    files = load_state_files(store, scene.checkpoint, version, partitions, unique_ids, mode)
    if not files.has_unread_tables:
        return files
    from ckpttool.state.inside import with_tables_read

    return with_tables_read(store, files)
