"""What is made of the text of a Connect server and the messages of its client. With a real server:
tests/differential/test_jobs_vs_spark.py."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.from_connect import connected_query
from ckpttool.query.model import QueryTrigger
from ckpttool.reading.checkpoint import open_checkpoint
from ckpttool.scene.evidence import gather_evidence
from tests.samples.place import REPOSITORY, about

PRINTED = Path(__file__).with_name("printed")
READ = {
    "provider": "json",
    "options": {"path": "/data/in", "maxFilesPerTrigger": "2", "password": "tiger"},
    "table": None,
}


def raw(**changed: Any) -> dict[str, Any]:
    text = (PRINTED / "two_operators-extended-4.2.0.txt").read_text()
    return {"name": "orders", "where": "a.py:3", "checkpoint": "/ck", "output_mode": "append", "format": "noop",
            "trigger": {"processingTime": "2 minutes"}, "place": None, "options": {}, "function": None,
            "reads": [READ], "output_schema": {"type": "struct", "fields": []}, "conf": {}, "explained": text,
            **changed}  # fmt: skip


def test_the_plan_is_the_servers_and_the_rest_the_writers() -> None:
    query = connected_query(raw())
    assert [one.name for one in query.operators] == ["stateStoreSave", "dedupe"]
    assert query.operators[0].meaning
    assert query.watermarks
    assert (query.name, query.checkpoint, query.output_mode) == ("orders", "/ck", "append")
    assert query.trigger == QueryTrigger("processing-time", 120_000)
    assert query.sources[0].options == {"maxFilesPerTrigger": "2", "password": "***", "path": "/data/in"}
    assert query.sources[0].format == "json"
    assert set(query.not_told) == {"sources.schema", "operators.stores"}


def test_options_are_not_told_where_reads_are_not_those_of_the_plan() -> None:
    query = connected_query(raw(reads=[READ, READ]))
    assert query.sources[0].options == {}
    assert "sources.options" in query.not_told


@pytest.mark.parametrize(
    ("given", "interval_ms"),
    [("1 minute", 60_000), ("interval 1.5 seconds", 1500), ("2 weeks", 1_209_600_000), ("x", None)],
)
def test_intervals_are_read_as_they_are_typed(given: str, interval_ms: int | None) -> None:
    trigger = connected_query(raw(trigger={"processingTime": given})).trigger
    assert trigger == QueryTrigger("processing-time", interval_ms)


@pytest.mark.parametrize("name", ["3.5.7-windowed-agg-hdfs-sound", "4.2.0-windowed-agg-hdfs-sound"])
def test_schemas_of_state_are_those_that_a_batch_left(name: str) -> None:
    """With metadata or, before 4.0, without."""
    root = REPOSITORY / name / str(about(name)["checkpoint"])
    found = [path for path in root.rglob("*") if path.is_file() and "_metadata" in path.parts]
    files = {str(path.relative_to(root)): base64.b64encode(path.read_bytes()).decode() for path in found}
    text = (PRINTED / "windows-extended-3.5.7.txt").read_text()
    query = connected_query(raw(explained=text, files=files))
    (operator,) = query.operators
    shown = query_of(gather_evidence(open_checkpoint(str(root))))
    assert [one.value_schema for one in operator.stores] == [one.value_schema for one in shown.operators[0].stores]
    assert operator.stores[0].name == "default"
    assert "operators.stores" not in query.not_told
