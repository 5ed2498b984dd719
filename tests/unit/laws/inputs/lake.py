"""A small Iceberg table, and a checkpoint of a query that reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.formats.metadata import encode_metadata
from ckpttool.model import QueryMetadata
from ckpttool.reading.inputs import load_inputs
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.iceberg import IcebergInput
from ckpttool.scene.scene import Scene, Start, Trigger
from ckpttool.storage.doors import Doors
from tests.avro_files import avro_file, long, text

ID = "0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"
NEWEST: Release = (4, 1, 3)


def offset(snapshot: int, position: float = 1, **more: Any) -> str:
    told = {"version": 1, "snapshot_id": snapshot, "position": position, "scan_all_files": False}
    return json.dumps(told | more, separators=(",", ":"))


MANIFESTS: dict[str, Any] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string"},
        {"name": "content", "type": "int"},
        {"name": "added_snapshot_id", "type": "long"},
    ],
}
DATA_FILE = {
    "type": "record",
    "name": "r2",
    "fields": [{"name": "file_path", "type": "string"}, {"name": "record_count", "type": "long"}],
}
MANIFEST: dict[str, Any] = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "snapshot_id", "type": ["null", "long"]},
        {"name": "data_file", "type": DATA_FILE},
    ],
}


def write_manifests(table: Path, snapshot: Mapping[str, Any], added: Sequence[Path]) -> None:
    """The list that a snapshot names, with a manifest of these files and one of the snapshot before."""
    number, metadata = snapshot["snapshot-id"], table / "metadata"
    others = long(0) + long(1) + long(99) + text("file:/gone") + long(9)
    entries = [long(1) + long(0) + text(str(file)) + long(4) for file in added]
    (metadata / f"m{number}.avro").write_bytes(avro_file(MANIFEST, [*entries, others]))
    older = text(f"/elsewhere/metadata/m{number - 1}.avro") + long(0) + long(number - 1)
    listed = text(f"/elsewhere/metadata/m{number}.avro") + long(0) + long(number)
    (metadata / Path(snapshot["manifest-list"]).name).write_bytes(avro_file(MANIFESTS, [listed, older]))


class Lake:
    """Snapshots 1 to 4, each of one file that was appended to the one before."""

    def __init__(self, root: Path) -> None:
        self.table, self.checkpoint = root / "table", root / "checkpoint"
        self.snapshots: list[dict[str, Any]] = []
        for number in range(1, 5):
            self.snapshot(number, number - 1 or None)
        for log in ("offsets", "commits", "sources/0/offsets"):
            (self.checkpoint / log).mkdir(parents=True)
        (self.checkpoint / "metadata").write_bytes(encode_metadata(QueryMetadata(ID)))
        self.began(offset(1, 0))

    def snapshot(self, number: int, parent: int | None, operation: str = "append", rows: int = 4) -> None:
        summary = {"operation": operation, "added-data-files": "1", "added-records": str(rows)}
        made = {"snapshot-id": number, "timestamp-ms": number * 1000, "summary": summary}
        self.snapshots.append(made if parent is None else made | {"parent-snapshot-id": parent})
        self.is_now(number)

    def is_now(self, current: int | None) -> None:
        told = {"current-snapshot-id": current, "snapshots": self.snapshots}
        (self.table / "metadata").mkdir(parents=True, exist_ok=True)
        (self.table / "metadata" / "v1.metadata.json").write_text(json.dumps(told))

    def write_files(self) -> None:
        """Each snapshot's data file, and the manifests that name it."""
        (self.table / "data").mkdir()
        for one in self.snapshots:
            number = one["snapshot-id"]
            file = self.table / "data" / f"{number}.parquet"
            file.touch()
            one["manifest-list"] = f"/elsewhere/metadata/snap-{number}.avro"
            write_manifests(self.table, one, [file])
        self.is_now(self.snapshots[-1]["snapshot-id"])

    def lose(self, number: int) -> None:
        (self.table / "data" / f"{number}.parquet").unlink()

    def expire(self, *numbers: int) -> None:
        self.snapshots = [one for one in self.snapshots if one["snapshot-id"] not in numbers]
        self.is_now(self.snapshots[-1]["snapshot-id"])

    def began(self, text: str) -> None:
        (self.checkpoint / "sources" / "0" / "offsets" / "0").write_text(text)

    def ran(self, *lines: str, committed: int) -> None:
        for batch, line in enumerate(lines):
            head = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
            (self.checkpoint / "offsets" / str(batch)).write_text(f"v1\n{head}\n{line}")
        for batch in range(committed):
            (self.checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def scene(self, trigger: Trigger | None = None, options: Mapping[str, str] | None = None) -> Scene:
        evidence = gather_evidence(load_checkpoint(open_store(str(self.checkpoint)), any_place=True))
        start = Start(NEWEST, trigger, options={"path": str(self.table), **(options or {})})
        scene = Scene(evidence, start)
        return replace(scene, inputs=load_inputs(scene, Doors([str(self.checkpoint), str(self.table)])))

    def inputs(self, **options: str) -> list[IcebergInput]:
        return [one for one in self.scene(options=options).inputs if isinstance(one, IcebergInput)]

    def judge(self, trigger: Trigger | None = None, options: Mapping[str, str] | None = None) -> Diagnosis:
        return diagnose(self.scene(trigger, options))


def told(diagnosis: Diagnosis) -> tuple[str, str | None, str | None, list[str]]:
    """Outcome, phase and class of the failure, and the ids of errors and warnings."""
    said = diagnosis.prediction
    ids = [finding.id for finding in diagnosis.findings if finding.severity != "info"]
    if said.error is None:
        return said.outcome, None, None, ids
    return said.outcome, said.error.phase, said.error.class_name.rpartition(".")[2], ids
