"""A small Delta table, and a checkpoint of a query that reads it in one batch for each version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.metadata import encode_metadata
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import CommitLogEntry, Finding, OffsetLogEntry, OffsetMetadata, QueryMetadata, SourceOffset
from ckpttool.reading.inputs import load_inputs
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Doubt, Failure, Scene, Start
from ckpttool.storage.doors import Doors

ID = "0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"
NEWEST: Release = (4, 2, 0)


def schema(**types: Any) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return json.dumps({"type": "struct", "fields": fields})


def metadata(table_id: str = ID, **more: Any) -> dict[str, Any]:
    told = {"id": table_id, "schemaString": schema(id="long"), "partitionColumns": [], "configuration": {}}
    return {"metaData": told | more}


def offset(version: int, index: int = -1, *, initial: bool = False, table_id: str = ID) -> str:
    place = {"reservoirId": table_id, "reservoirVersion": version, "index": index, "isStartingVersion": initial}
    return json.dumps({"sourceVersion": 1, **place})


class Place:
    """Versions 0 to 4, of which the first makes the table and each other adds one file, named after it."""

    def __init__(self, root: Path) -> None:
        self.table, self.checkpoint = root / "table", root / "checkpoint"
        self.log = self.table / "_delta_log"
        self.log.mkdir(parents=True)
        self.commit(0, metadata())
        for version in range(1, 5):
            self.add(version)
        (self.checkpoint / "offsets").mkdir(parents=True)
        (self.checkpoint / "commits").mkdir()
        (self.checkpoint / "metadata").write_bytes(encode_metadata(QueryMetadata(ID)))

    def commit(self, version: int, *actions: object, operation: str = "WRITE") -> None:
        info = {"commitInfo": {"timestamp": version * 1000, "operation": operation}}
        (self.log / f"{version:020}.json").write_text("\n".join(map(json.dumps, [info, *actions])))

    def add(self, version: int, files: int = 1) -> None:
        names = [f"v{version}" if number == 0 else f"v{version}-{number}" for number in range(files)]
        for name in names:
            (self.table / name).touch()
        self.commit(version, *({"add": {"path": name, "dataChange": True}} for name in names))

    def remove(self, version: int, *more: object) -> None:
        self.commit(version, {"remove": {"path": "v1", "dataChange": True}}, *more, operation="DELETE")

    def forget(self, *versions: int) -> None:
        for version in versions:
            (self.log / f"{version:020}.json").unlink()

    def checkpoint_log(self, version: int, *actions: object) -> None:
        """A checkpoint in JSON, which holds what matters here."""
        name = f"{version:020}.checkpoint.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json"
        (self.log / name).write_text("\n".join(map(json.dumps, actions or [metadata()])))

    def batch(self, number: int, *texts: str | None, committed: bool = True) -> None:
        sources = tuple(SourceOffset(index, None, text) for index, text in enumerate(texts))
        entry = OffsetLogEntry(number, 1, OffsetMetadata(0, 1_700_000_000_000, {}), sources)
        (self.checkpoint / "offsets" / str(number)).write_bytes(encode_offset_log(entry))
        if committed:
            (self.checkpoint / "commits" / str(number)).write_bytes(encode_commit_log(CommitLogEntry(number, 1, 0)))

    def ran(self, *, committed: bool = True) -> None:
        """Batches 0 and 1: the snapshot of version 3, then version 4."""
        self.batch(0, offset(4))
        self.batch(1, offset(5), committed=committed)

    def look(self, *look_at: str, **options: str) -> tuple[InputEvidence, ...]:
        start = Start(NEWEST, options={"path": str(self.table), **options})
        return load_inputs(Scene(gather_evidence(self._load()), start), self.doors(*look_at))

    def judge(self, release: Release = NEWEST, **given: Any) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
        return judge_inputs(self.scene(release, **given))

    def scene(self, release: Release = NEWEST, **given: Any) -> Scene:
        options = {"path": str(self.table), **given.pop("options", {})}
        evidence = gather_evidence(self._load())
        scene = Scene(evidence, Start(release, options=options, **given))
        return replace(scene, inputs=load_inputs(scene, self.doors()))

    def doors(self, *look_at: str) -> Doors:
        return Doors([str(self.checkpoint), str(self.table)], look_at=look_at)

    def _load(self) -> Any:
        return load_checkpoint(open_store(str(self.checkpoint)))


def told(answer: tuple[Failure | Doubt | None, tuple[Finding, ...]]) -> tuple[str | None, str | None, list[str]]:
    """Phase and condition (`doubt` for a doubt), and the ids of the findings."""
    obstacle, findings = answer
    ids = [finding.id for finding in findings]
    if isinstance(obstacle, Failure):
        return obstacle.phase, obstacle.condition or obstacle.class_name, ids
    return ("doubt" if obstacle else None), None, ids
