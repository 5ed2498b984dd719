"""The schema log of a Delta source: `<schemaTrackingLocation>/_schema_log_<tableId>[_<trackingId>]/<seq>`.

Writer: Delta's `DeltaSourceMetadataTrackingLog` (a `PersistedMetadata` through `JsonSchemaSerializer`), log version 1,
Delta 2.4 to master: `v1`, then one line of JSON. Delta reads that line only.
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.delta_log import TrackedSchema
from ckpttool.formats.envelope import parse_json_object, parse_lines, parse_version
from ckpttool.formats.values import Fields
from ckpttool.model import Position

NEWEST_VERSION = 1


def parse_tracked_schema(data: bytes) -> TrackedSchema:
    lines = parse_lines(data)
    parse_version(lines[0], NEWEST_VERSION)
    if len(lines) < 2:
        raise MalformedFile(
            "the line after the version is missing",
            expected="one JSON object with the schema",
            position=Position(line=2, byte=0),
        )
    entry = Fields(parse_json_object(lines[1], line=2), line=2)
    return TrackedSchema(
        table_id=entry.text("tableId"),
        version=entry.long("deltaCommitVersion"),
        schema=entry.text("dataSchemaJson"),
        source_path=entry.text("sourceMetadataPath"),
    )
