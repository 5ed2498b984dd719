"""The schema log of a Delta source, in the field order of Delta's `PersistedMetadata`."""

from __future__ import annotations

import json

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.delta_schema_log import parse_delta_schema_log
from ckpttool.model import DeltaSchemaLogEntry

SCHEMA = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
NO_COLUMNS = '{"type":"struct","fields":[]}'
PROTOCOL = '{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}'
OLD = {
    "tableId": "4be1f3e0-6c34-4a6d-8f28-0c2dcd1a1a3c",
    "deltaCommitVersion": 7,
    "dataSchemaJson": SCHEMA,
    "partitionSchemaJson": NO_COLUMNS,
    "sourceMetadataPath": "file:/ckpt/sources/0",
}
NEW = OLD | {
    "tableConfigurations": {"delta.columnMapping.mode": "name"},
    "protocolJson": PROTOCOL,
    "previousMetadataSeqNum": 3,
}


def _file(fields: dict[str, object]) -> bytes:
    return b"v1\n" + json.dumps(fields, separators=(",", ":")).encode()


def test_all_fields() -> None:
    assert parse_delta_schema_log(_file(NEW)) == DeltaSchemaLogEntry(
        table_id="4be1f3e0-6c34-4a6d-8f28-0c2dcd1a1a3c",
        delta_commit_version=7,
        data_schema_json=SCHEMA,
        partition_schema_json=NO_COLUMNS,
        source_metadata_path="file:/ckpt/sources/0",
        table_configurations={"delta.columnMapping.mode": "name"},
        protocol_json=PROTOCOL,
        previous_seq=3,
    )


def test_the_later_fields_are_optional() -> None:
    entry = parse_delta_schema_log(_file(OLD))
    assert (entry.table_configurations, entry.protocol_json, entry.previous_seq) == (None, None, None)


def test_lines_after_the_second_are_not_read() -> None:
    assert parse_delta_schema_log(_file(OLD) + b"\nnot JSON") == parse_delta_schema_log(_file(OLD))


@pytest.mark.parametrize("field", OLD)
def test_the_first_five_fields_are_required(field: str) -> None:
    with pytest.raises(MalformedFile, match=f"`{field}` is missing"):
        parse_delta_schema_log(_file({name: value for name, value in OLD.items() if name != field}))


@pytest.mark.parametrize("configurations", [[], {"a": 1}, {"a": None}, {"\ud800": "b"}])
def test_configurations_are_texts_by_name(configurations: object) -> None:
    with pytest.raises(MalformedFile, match="tableConfigurations"):
        parse_delta_schema_log(_file(OLD | {"tableConfigurations": configurations}))


@pytest.mark.parametrize("data", [b"", b"v1", b"v1\n", b"v1\n{}", b"{}"])
def test_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_delta_schema_log(data)


def test_a_newer_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_delta_schema_log(b"v2\n{}")
