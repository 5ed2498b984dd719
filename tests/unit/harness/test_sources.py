"""The same rows as files, as records of a topic, as versions of a table: where each stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import Refused
from ckpttool.harness.place import JobPlace
from ckpttool.harness.sources import given_input, input_of, reader_of

ROWS: list[list[dict[str, Any]]] = [[{"id": 0, "at": "2023-11-14T22:13:20Z"}, {"id": 1}], [{"id": 2}, {"id": 3}]]


class Asked:
    """What would be sent to the Spark."""

    def __init__(self, error: Any = None) -> None:
        self.requests: list[Mapping[str, Any]] = []
        self.error = error

    def __call__(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:  # noqa: ARG002
        self.requests.append(request)
        return {"error": self.error}


def places(kind: Any, tmp_path: Path) -> list[tuple[str, int, int]]:
    made = input_of(kind, JobPlace(tmp_path), ROWS, "id LONG", "broker:9092")
    return [(record.place.split("/")[-1], record.position, int(record.fields["id"])) for record in made.records()]


def test_places(tmp_path: Path) -> None:
    assert places("file", tmp_path) == [
        ("00000.json", 0, 0),
        ("00000.json", 1, 1),
        ("00001.json", 0, 2),
        ("00001.json", 1, 3),
    ]
    assert places("kafka", tmp_path) == [("0", 0, 0), ("1", 0, 1), ("0", 1, 2), ("1", 1, 3)]
    assert places("delta", tmp_path) == [("0", 0, 0), ("0", 0, 1), ("1", 0, 2), ("1", 0, 3)]
    assert places("rate-micro-batch", tmp_path) == [("", number, number) for number in range(4)]


def test_files_are_one_per_batch_and_in_order(tmp_path: Path) -> None:
    asked = Asked()
    made = input_of("file", JobPlace(tmp_path), ROWS, None, None)
    made.make(asked)
    first, second = sorted((tmp_path / "input").iterdir())
    assert first.read_text().count("\n") == 2
    assert first.stat().st_mtime < second.stat().st_mtime
    assert made.reader()["options"] == {"maxFilesPerTrigger": "1"}
    assert next(record.fields.get("at") for record in made.records()) == 1_700_000_000_000
    assert asked.requests == []


def test_a_topic_gets_its_rows_in_turn(tmp_path: Path) -> None:
    asked = Asked()
    made = input_of("kafka", JobPlace(tmp_path), ROWS, "id LONG", "broker:9092")
    made.make(asked)
    (request,) = asked.requests
    assert [row[0] for row in request["rows"]] == [0, 1, 0, 1]
    assert made.reader()["options"]["maxOffsetsPerTrigger"] == "2"
    assert made.reader()["options"]["subscribe"] == request["topic"]


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no broker is given"):
        input_of("kafka", JobPlace(tmp_path), ROWS, "id LONG", None)
    asked = Asked([{"message": "no such broker"}])
    for kind in ("kafka", "delta"):
        with pytest.raises(Refused, match="no such broker"):
            input_of(kind, JobPlace(tmp_path), ROWS, "id LONG", "broker:9092").make(asked)


def test_given_input(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"id": 2}\n\n{"id": 3}\n')
    (tmp_path / "a.json").write_text('{"id": 1}\n')
    (tmp_path / "_SUCCESS.json").write_text("")
    assert given_input(tmp_path) == [[{"id": 1}], [{"id": 2}, {"id": 3}]]
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(Refused, match="cannot be read"):
        given_input(tmp_path)
    with pytest.raises(Refused, match="has 0 files"):
        given_input(tmp_path / "none")


@pytest.mark.parametrize("kind", ["file", "kafka", "delta", "rate-micro-batch"])
def test_how_it_is_read_is_read_back(kind: Any, tmp_path: Path) -> None:
    made = input_of(kind, JobPlace(tmp_path), ROWS, "id LONG", "broker:9092").reader()
    assert reader_of(JobPlace(tmp_path), json.dumps(made).encode(), "broker:9092") == made


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("file", {"format": "jdbc"}),
        ("file", {"options": {"driver": "a.Class"}}),
        ("file", {"path": "/elsewhere"}),
        ("file", {"path": "http://elsewhere/"}),
        ("file", {"options": []}),
        ("file", {"more": 1}),
        ("kafka", {"options": {"kafka.bootstrap.servers": "elsewhere:9092"}}),
        ("kafka", {"options": {"kafka.sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule"}}),
        ("rate-micro-batch", {"select": ["reflect('java.lang.System', 'exit', 1)"]}),
        ("rate-micro-batch", {"select": [["value AS id"]]}),
    ],
)
def test_a_reader_of_somebody_else_is_refused(kind: Any, change: dict[str, Any], tmp_path: Path) -> None:
    made = input_of(kind, JobPlace(tmp_path), ROWS, "id LONG", "broker:9092").reader() | change
    with pytest.raises(Refused):
        reader_of(JobPlace(tmp_path), json.dumps(made).encode(), "broker:9092")


def test_what_is_no_reader_is_refused(tmp_path: Path) -> None:
    for text in (b"", b"[]", b"{}", b'"json"', b'{"format": []}', b"\xff"):
        with pytest.raises(Refused):
            reader_of(JobPlace(tmp_path), text, None)
