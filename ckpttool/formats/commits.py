"""`commits/<batch>`: the batch is finished. Writer: `CommitLog`.

Version 1 (Spark 2.2 on; `{}` up to 2.3, then the next watermark), version 2 (4.0 on: the ids of the state stores'
checkpoints), version 3 (4.2 on: the sinks by name). Spark trims the first line here, takes a missing second line for
`{}`, and ignores the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import MAPPING, json_type, long_field, parse_json_fields, parse_lines, parse_version
from ckpttool.model import CommitLogEntry, Json, Position, SinkCommit, SparkError

NEWEST_VERSION = 3
REQUIREMENT_FAILED = SparkError("java.lang.IllegalArgumentException")


def parse_commit_log(data: bytes, batch_id: int) -> CommitLogEntry:
    lines = parse_lines(data)
    version = parse_version(lines[0].strip(), NEWEST_VERSION)
    fields = parse_json_fields(lines[1], line=2) if len(lines) > 1 and lines[1].strip() else {}
    watermark = fields.get("nextBatchWatermarkMs")
    return CommitLogEntry(
        batch_id=batch_id,
        version=version,
        next_watermark_ms=None if watermark is None else long_field(fields, "nextBatchWatermarkMs", line=2),
        state_unique_ids=_parse_state_ids(fields.get("stateUniqueIds")),
        sinks=_parse_sinks(fields.get("sinkMetadataMap"), version),
    )


def encode_commit_log(entry: CommitLogEntry) -> bytes:
    fields: dict[str, Json] = {}
    if entry.next_watermark_ms is not None:
        fields["nextBatchWatermarkMs"] = entry.next_watermark_ms
    if entry.state_unique_ids is not None:
        fields["stateUniqueIds"] = {str(operator): ids for operator, ids in entry.state_unique_ids.items()}
    if entry.sinks:
        fields["sinkMetadataMap"] = {sink.name: _encode_sink(sink) for sink in entry.sinks}
    return f"v{entry.version}\n{json.dumps(fields, separators=(',', ':'), ensure_ascii=False)}".encode()


def _parse_state_ids(value: Json) -> Mapping[int, tuple[tuple[str, ...], ...]] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _malformed("stateUniqueIds", value, "operator → partitions → ids")
    return {_parse_operator_id(operator): _parse_partitions(partitions) for operator, partitions in value.items()}


def _parse_operator_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise _malformed("stateUniqueIds", text, "an operator's number as key")
    return int(text)


def _parse_partitions(value: Json) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(_is_list_of_text(ids) for ids in value):
        raise _malformed("stateUniqueIds", value, "one array of ids per partition")
    return tuple(map(tuple, value))


def _is_list_of_text(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _parse_sinks(value: Json, version: int) -> tuple[SinkCommit, ...]:
    if value is not None and not (isinstance(value, dict) and all(isinstance(sink, dict) for sink in value.values())):
        raise _malformed("sinkMetadataMap", value, "sink name → its commit")
    sinks = tuple(_parse_sink(name, fields) for name, fields in (value or {}).items())
    if version == 3 and value is None:
        raise MalformedFile(
            "`sinkMetadataMap` is missing",
            expected="`sinkMetadataMap`: the sinks by name",
            position=Position(line=2),
            spark=SparkError(MAPPING),
        )
    if version == 3 and sum(sink.is_active for sink in sinks) != 1:
        raise MalformedFile(
            f"{sum(sink.is_active for sink in sinks)} sinks are marked active",
            expected="exactly one",
            position=Position(line=2),
            spark=REQUIREMENT_FAILED,
        )
    return sinks


def _parse_sink(name: str, fields: Mapping[str, Json]) -> SinkCommit:
    def text(field: str) -> str:
        value = fields.get(field)
        return value if isinstance(value, str) else ""

    return SinkCommit(
        name, text("commitOffset"), text("providerName"), text("apiVersion"), fields.get("isActive") is True
    )


def _encode_sink(sink: SinkCommit) -> dict[str, Json]:
    return {
        "sinkName": sink.name,
        "commitOffset": sink.commit_offset,
        "providerName": sink.provider,
        "apiVersion": sink.api_version,
        "isActive": sink.is_active,
    }


def _malformed(field: str, value: Json, expected: str) -> MalformedFile:
    return MalformedFile(
        f"`{field}` is a JSON {json_type(value)}", expected=f"`{field}`: {expected}", position=Position(line=2)
    )
