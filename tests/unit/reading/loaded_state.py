"""The state that the next batch of a checkpoint begins with, loaded; and files to make such checkpoints of."""

from __future__ import annotations

from pathlib import Path

from ckpttool.formats.state.digests import crc32c
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.reading.state_files import load_state_files
from ckpttool.scene.state_chain import Mode, StateFiles
from ckpttool.storage.store import LocalStore
from tests import state_builders as made
from tests.samples.place import REPOSITORY, sample_names

STATEFUL = [name for name in sample_names() if any((REPOSITORY / name).glob("*/state/0"))]


def load(root: Path, mode: Mode = "full", partitions: int | None = 1) -> StateFiles:
    store = LocalStore(str(root))
    checkpoint = load_checkpoint(store)
    planned, committed = checkpoint.last_offset_batch, checkpoint.last_commit_batch
    assert planned is not None
    ids = checkpoint.commits[committed].state_unique_ids if committed is not None else None
    version = planned + 1 if planned == committed else planned
    return load_state_files(store, checkpoint, version, partitions, ids, mode)


def kinds(files: StateFiles) -> dict[str, str]:
    return {f"{store.path}/{name}": fault.kind for store in files.stores for name, fault in store.faults.items()}


def sidecar(data: bytes, value: int | None = None) -> bytes:
    crc = crc32c(data) if value is None else value
    signed = crc - 2**32 if crc >= 2**31 else crc
    return (
        f'{{"algorithm":"CRC32C","value":{signed},"mainFileSize":{len(data)},"timestampMs":1,'
        '"creator":{"executorId":"driver","taskInfo":"Task= 0.0, Stage= 14.0"}}'
    ).encode()


def with_ids(*changelogs: tuple[int, str, tuple[tuple[int, str], ...]]) -> dict[str, bytes]:
    return {
        f"0/0/{version}_{name}.changelog": made.lz4(made.utf("v3") + made.lineage(*back) + made.plain([]))
        for version, name, back in changelogs
    }
