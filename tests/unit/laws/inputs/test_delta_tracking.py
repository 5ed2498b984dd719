"""A Delta source that keeps a log of schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.scene.scene import Failure
from tests.unit.laws.inputs.places import ID, Place, metadata, schema, told


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.ran()
    return made


def mapped_schema(**columns: str) -> str:
    fields = [
        {"name": name, "type": "long", "nullable": True, "metadata": {"delta.columnMapping.physicalName": physical}}
        for name, physical in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def track(place: Place, *entries: tuple[int, str]) -> str:
    log = place.checkpoint / "_schemas" / f"_schema_log_{ID}"
    log.mkdir(parents=True)
    for number, (version, columns) in enumerate(entries):
        entry = {"tableId": ID, "deltaCommitVersion": version, "dataSchemaJson": columns}
        entry |= {"partitionSchemaJson": "{}", "sourceMetadataPath": "sources/0"}
        (log / str(number)).write_text(f"v1\n{json.dumps(entry)}")
    return str(log.parent)


def test_a_stream_that_tracks_schemas_comes_to_a_change_and_ends(place: Place) -> None:
    tracked = {"schemaTrackingLocation": track(place, (0, schema(id="long")))}
    place.commit(5, metadata())
    assert place.judge(options=tracked) == (None, ()), "nothing is otherwise"
    place.commit(6, metadata(schemaString=schema(id="string")))
    place.remove(7)
    obstacle, (finding,) = place.judge(options=tracked)
    assert (obstacle, finding.id, finding.severity) == (None, "delta-schema-tracked", "warning")


def test_a_stream_that_tracks_schemas_cannot_pass_over_commits(place: Place) -> None:
    tracked = {"schemaTrackingLocation": track(place, (0, schema(id="long")))}
    obstacle, _ = place.judge(options=tracked | {"failOnDataLoss": "false"})
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.class_name) == ("init", "java.lang.IllegalArgumentException")


@pytest.mark.parametrize(
    ("now", "given", "condition"),
    [
        ({"b": "p1"}, {}, "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"),
        ({"b": "p1"}, {"allowSourceColumnRename": "always"}, None),
        ({"b": "p1"}, {"allowSourceColumnRename": "7"}, None),
        (
            {"b": "p1"},
            {"allowSourceColumnRename": "6"},
            "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
        ),
        (
            {"c": "p2"},
            {"allowSourceColumnRename": "always"},
            "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
        ),
        ({"a": "p1", "c": "p2"}, {}, None),
    ],
)
def test_a_column_that_was_renamed_or_dropped_has_to_be_allowed(
    place: Place, now: dict[str, str], given: dict[str, str], condition: str | None
) -> None:
    location = track(place, (0, mapped_schema(a="p1")), (7, mapped_schema(**now)))
    tracked = {"schemaTrackingLocation": location} | given
    assert told(place.judge(options=tracked))[:2] == (("init", condition) if condition else (None, None))
