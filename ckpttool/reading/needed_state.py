"""The state that the next batch begins with, or one to go back to: which version, which partitions, under which ids."""

from __future__ import annotations

from ckpttool.formats import layout
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
    moves = any((batch.watermark_ms or 0) > 0 for batch in scene.evidence.batches)  # few have one and keep nothing
    kept_state = scene.evidence.logs_tell_of_state or moves
    files = load_state_files(store, scene.checkpoint, version, partitions, unique_ids, mode, kept_state=kept_state)
    if files.has_unread_tables:
        from ckpttool.state.inside import with_tables_read

        files = with_tables_read(store, files)
    if mode == "full" and version > 0 and any(one.name in layout.JOIN_STORES for one in files.stores):
        from ckpttool.state.inside import counted_in, with_joins_compared
        from ckpttool.state.reader import StateReader

        reader = StateReader(store, scene.checkpoint, version - 1)
        files = with_joins_compared(files, counted_in(reader.stores))
    return files
