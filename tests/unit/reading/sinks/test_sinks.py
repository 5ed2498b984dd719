"""Which kind a sink is, what is no table, and the sinks that real Spark wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.errors import Unavailable
from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import SinkEvidence
from ckpttool.storage.store import LocalStore

Q = "q"


@pytest.mark.parametrize("name", ["kafka", "jdbc", "foreachBatch", "foreachbatch", "memory", "NOOP"])
def test_named_sinks_are_not_looked_for(name: str) -> None:
    evidence = load_sink(name, query_id=Q)
    assert evidence.kind.lower() == name.lower()
    assert evidence.ledger == ()


def test_a_directory_that_holds_no_record(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "part-0.parquet").touch()
    assert load_sink(str(tmp_path), query_id=Q) == SinkEvidence("unknown", str(tmp_path))
    missing = load_sink(str(tmp_path / "nowhere"), query_id=Q)
    assert (missing.kind, missing.exists, missing.error) == ("unknown", False, None)
    (tmp_path / "empty").mkdir()
    assert not load_sink(str(tmp_path / "empty"), query_id=Q).exists
    assert load_sink(str(tmp_path / "part-0.parquet"), query_id=Q).error, "a file is no sink"


def test_files_of_a_batch_function_that_numbers_its_writes_are_what_a_table_has_left(tmp_path: Path) -> None:
    (tmp_path / "part-00000-8a1c0d5e-0000-4000-8000-000000000000-c000.snappy.parquet").touch()
    found = load_sink(str(tmp_path), query_id=Q)
    assert (found.kind, found.log_gone, found.was_table) == ("file", True, True)
    left = load_sink(str(tmp_path), query_id=Q, txn_app_id="my-job")
    assert (left.exists, left.key, left.key_given, left.log_gone) == (False, "my-job", True, False)


def test_files_of_json_are_of_no_table(tmp_path: Path) -> None:
    (tmp_path / "part-00000-8a1c0d5e-0000-4000-8000-000000000000-c000.json").touch()
    found = load_sink(str(tmp_path), query_id=Q)
    assert (found.kind, found.log_gone, found.was_table) == ("file", True, False)


class Unreachable(LocalStore):
    def list(self, path: str = "") -> list[str]:  # noqa: ARG002
        raise Unavailable("no route to host")


def test_an_unreachable_sink_is_evidence() -> None:
    assert isinstance(load_sink(Unreachable("/x"), query_id=Q).error, Unavailable)
    assert load_sink("nonsense://x/y", query_id=Q).error


@pytest.mark.parametrize(
    ("name", "path", "kind", "last"),
    [
        ("3.5.7-delta-to-delta-sound", "table", "delta", 3),
        ("4.2.0-kafka-to-delta-crashed-after-sink-commit", "table", "delta", 2),
        ("4.2.0-kafka-to-delta-crashed-after-offset-log", "table", "delta", 1),
        ("3.5.7-file-to-parquet-crashed-after-sink-commit", "output", "file", 2),
        ("4.2.0-file-compacted-sound", "output", "file", 7),
    ],
)
def test_samples(sample: Callable[[str], Path], name: str, path: str, kind: str, last: int) -> None:
    root = sample(name)
    metadata = next(root.glob("**/metadata"))
    evidence = load_sink(str(root / path), query_id=json.loads(metadata.read_text())["id"])
    assert (evidence.kind, evidence.incomplete, evidence.faults, evidence.error) == (kind, None, (), None)
    entry = evidence.entry(evidence.key)
    assert entry
    assert entry.batch_id == last
    assert evidence.write_of(evidence.key, last)
    assert not any(write.rows_lost or write.rows_unsure for write in evidence.writes)
