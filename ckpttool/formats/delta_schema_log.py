"""The schema log of a Delta source: `<schemaTrackingLocation>/_schema_log_<tableId>[_<trackingId>]/<seq>`.

Writer: Delta's `DeltaSourceMetadataTrackingLog` (a `PersistedMetadata` through `JsonSchemaSerializer`), log version 1,
Delta 2.4 to master: `v1`, then one line of JSON. Delta reads that line only.
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json_object, parse_lines, parse_version
from ckpttool.formats.values import Fields
from ckpttool.model import DeltaSchemaLogEntry, Position

NEWEST_VERSION = 1


def parse_delta_schema_log(data: bytes) -> DeltaSchemaLogEntry:
    lines = parse_lines(data)
    parse_version(lines[0], NEWEST_VERSION)
    if len(lines) < 2:
        raise MalformedFile(
            "the line after the version is missing",
            expected="one JSON object with the schema",
            position=Position(line=2, byte=0),
        )
    entry = Fields(parse_json_object(lines[1], line=2), line=2, spark=None)  # Delta reads null and fails later
    return DeltaSchemaLogEntry(
        table_id=entry.text("tableId"),
        delta_commit_version=entry.long("deltaCommitVersion"),
        data_schema_json=entry.text("dataSchemaJson"),
        partition_schema_json=entry.text("partitionSchemaJson"),
        source_metadata_path=entry.text("sourceMetadataPath"),
        table_configurations=entry.optional_text_map("tableConfigurations"),
        protocol_json=entry.optional_text("protocolJson"),
        previous_seq=entry.optional_long("previousMetadataSeqNum"),
    )
