"""The schema log of a Delta source, as `PersistedMetadata` is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.delta_log import TrackedSchema
from ckpttool.formats.delta_schema_log import parse_tracked_schema

SCHEMA = '{"type":"struct","fields":[]}'
ENTRY: dict[str, Any] = {
    "tableId": "4be1f3e0-6c34-4a6d-8f28-0c2dcd1a1a3c",
    "deltaCommitVersion": 7,
    "dataSchemaJson": SCHEMA,
    "partitionSchemaJson": SCHEMA,
    "sourceMetadataPath": "file:/ckpt/sources/0",
    "tableConfigurations": {"delta.columnMapping.mode": "name"},
}


def written(fields: dict[str, Any]) -> bytes:
    return f"v1\n{json.dumps(fields)}\nmore".encode()


def test_what_a_source_goes_by() -> None:
    assert parse_tracked_schema(written(ENTRY)) == TrackedSchema(ENTRY["tableId"], 7, SCHEMA, "file:/ckpt/sources/0")


@pytest.mark.parametrize("data", [b"", b"v1", b"v1\n{", b"v1\n[]", written(ENTRY | {"tableId": None})])
def test_what_is_no_entry(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_tracked_schema(data)


def test_a_newer_version_is_not_read() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_tracked_schema(b"v2\n{}")
