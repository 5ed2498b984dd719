"""What the tasks of a Kinesis source leave below `sources/<n>`, and what a restart makes of it when it is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.formats.names import parse_log_names
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.unit.laws.inputs.lake import told

STATE = "IllegalStateException"
SHARDS = ("shardId-000000000000", "shardId-000000000001")


def position(number: int, shard: str | None = None, commits: str = "shard-source") -> dict[str, Any]:
    """In a line all fields are texts; what a task leaves is json4s, and of qubole without the part of a record."""
    fields = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": f"{number}"}
    if shard is None:
        return fields | {"subSequenceNumber": "-1", "isLast": "true"}
    part = {"subSequenceNumber": -1, "isLast": True} if commits == "shard-source" else {}
    return {"shardId": shard} | fields | part


class Stream:
    """Batches 0 and 1 of the query, which the connector counts from 6."""

    def __init__(self, root: Path, commits: str = "shard-source", committed: int = 2) -> None:
        self.root, self.folder = root, root / "sources" / "0" / commits
        (root / "offsets").mkdir()
        (root / "commits").mkdir()
        (root / "metadata").write_text('{"id":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"}')
        for batch in range(2):
            line = {"metadata": {"batchId": f"{batch + 6}", "streamName": "s"}}
            line |= {shard: position(batch) for shard in SHARDS}
            head = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
            (root / "offsets" / f"{batch}").write_text(f"v1\n{head}\n{json.dumps(line)}")
            for shard in SHARDS:
                self.leave(batch + 6, shard)
        for batch in range(committed):
            (root / "commits" / f"{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')

    def leave(self, batch: int, shard: str, text: str | None = None) -> None:
        (self.folder / f"{batch}").mkdir(parents=True, exist_ok=True)
        end = position(batch + 1, shard, self.folder.name)
        (self.folder / f"{batch}" / shard).write_text(text or json.dumps(end))

    def lose(self, batch: int, *shards: str) -> None:
        for shard in shards or SHARDS:
            (self.folder / f"{batch}" / shard).unlink()
        if not shards:
            (self.folder / f"{batch}").rmdir()

    def judge(self, **options: str) -> Diagnosis:
        evidence = gather_evidence(load_checkpoint(open_store(str(self.root))))
        return diagnose(
            Scene(evidence, Start((3, 5, 7), options={key.replace("_", "."): options[key] for key in options}))
        )


@pytest.mark.parametrize("commits", ["shard-source", "shard-commit"])
def test_what_the_tasks_left_is_enough(tmp_path: Path, commits: str) -> None:
    assert told(Stream(tmp_path, commits).judge()) == ("new_batch", None, None, [])


@pytest.mark.parametrize("commits", ["shard-source", "shard-commit"])
def test_the_ends_of_the_newest_batch_are_needed(tmp_path: Path, commits: str) -> None:
    stream = Stream(tmp_path, commits)
    stream.lose(6)
    assert told(stream.judge())[0] == "new_batch"
    stream.lose(7)
    assert told(stream.judge()) == ("error", "batch", STATE, ["kinesis-shard-commits-missing"])


def test_a_batch_that_runs_again_needs_none(tmp_path: Path) -> None:
    stream = Stream(tmp_path, committed=1)
    stream.lose(7)
    assert told(stream.judge())[0] == "replay"


@pytest.mark.parametrize(("commits", "fate"), [("shard-source", "a second time"), ("shard-commit", "begin anew")])
def test_a_shard_without_an_end_names_itself(tmp_path: Path, commits: str, fate: str) -> None:
    stream = Stream(tmp_path, commits)
    stream.lose(7, SHARDS[1])
    diagnosis = stream.judge()
    assert told(diagnosis) == ("new_batch", None, None, ["kinesis-shard-commit-missing"])
    assert SHARDS[1] in diagnosis.findings[0].message
    assert fate in diagnosis.findings[0].message
    assert diagnosis.exit_code == 1


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        (" ", "MismatchedInputException"),
        ("{", "JsonEOFException"),
        ("{}", "MappingException"),
        ('{"shardId":1,"iteratorType":"LATEST","iteratorPosition":""}', "MappingException"),
    ],
)
def test_an_end_that_cannot_be_read_stops_the_batch(tmp_path: Path, text: str, raised: str) -> None:
    stream = Stream(tmp_path)
    stream.leave(7, SHARDS[0], text)
    assert told(stream.judge())[:3] == ("error", "batch", raised)


def test_ends_that_nobody_leaves_again_stop_the_batch_after_the_one_that_runs_again(tmp_path: Path) -> None:
    stream = Stream(tmp_path, "shard-commit", committed=1)
    stream.lose(7)
    evidence = gather_evidence(load_checkpoint(open_store(str(stream.root))))
    scene = Scene(evidence, Start((3, 5, 7)))
    has_it = SinkEvidence("file", "out", ledger=(LedgerEntry(None, 1),), names=parse_log_names(["0", "1"]))
    assert told(diagnose(replace(scene, sinks=(has_it,)))) == ("replay", None, None, ["kinesis-shard-commits-missing"])
    without = replace(has_it, ledger=(LedgerEntry(None, 0),), names=parse_log_names(["0"]))
    assert told(diagnose(replace(scene, sinks=(without,)))) == ("replay", None, None, [])


def test_ends_may_be_kept_elsewhere(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    for batch in (6, 7):
        stream.lose(batch)
    stream.folder.rmdir()
    diagnosis = stream.judge()
    assert diagnosis.prediction.outcome == "unknown"
    assert "Query" in diagnosis.prediction.why[0]
    assert told(stream.judge(kinesis_metadataCommitterType="DYNAMODB"))[0] == "new_batch"
