"""`offsets/<batch>`: the write-ahead log of end offsets. Writer: `OffsetSeqLog`.

Version 1 (Spark 2.1 on): a metadata line, then one line per source in plan order, `-` for "no offset yet". An empty
metadata line is written by continuous processing. Version 2 (4.2 on): `<source id>:<offset>` lines in any order,
sources without an offset left out. The offsets themselves stay text here; `connectors/` knows their meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import (
    ILLEGAL_STATE,
    json_type,
    long_field,
    parse_json_fields,
    parse_lines,
    parse_version,
)
from ckpttool.formats.limits import check
from ckpttool.model import Json, OffsetLogEntry, OffsetMetadata, Position, SourceOffset, SparkError
from ckpttool.words import quote

NEWEST_VERSION = 2
NO_OFFSET = "-"
_KNOWN_FIELDS = frozenset({"batchWatermarkMs", "batchTimestampMs", "conf"})


def parse_offset_log(data: bytes, batch_id: int) -> OffsetLogEntry:
    check("lines", data.count(b"\n") + data.count(b"\r"))
    lines = parse_lines(data)
    version = parse_version(lines[0], NEWEST_VERSION)
    if len(lines) < 2:
        raise MalformedFile(
            "the file ends after the version line",
            expected="a metadata line and one line per source",
            position=Position(line=2, byte=0),
            spark=SparkError("java.util.NoSuchElementException"),
        )
    metadata_text = lines[1].strip()
    metadata = parse_offset_metadata(metadata_text) if metadata_text not in ("", "null") else None
    if version == 1:
        sources = tuple(
            SourceOffset(index, None, None if text == NO_OFFSET else text) for index, text in enumerate(lines[2:])
        )
        return OffsetLogEntry(batch_id, version, metadata, sources)
    if metadata is None:
        raise MalformedFile(
            "the metadata line is empty",
            expected="metadata, which version 2 requires",
            position=Position(line=2, byte=0),
            spark=SparkError(ILLEGAL_STATE),
        )
    return OffsetLogEntry(batch_id, version, metadata, tuple(map(_parse_map_line, range(len(lines) - 2), lines[2:])))


def parse_offset_metadata(text: str, line: int = 2) -> OffsetMetadata:
    fields = parse_json_fields(text, line)
    return OffsetMetadata(
        watermark_ms=long_field(fields, "batchWatermarkMs", line=line),
        timestamp_ms=long_field(fields, "batchTimestampMs", line=line),
        conf=_parse_conf(fields.get("conf"), line),
        unknown_fields={name: value for name, value in fields.items() if name not in _KNOWN_FIELDS},
    )


def encode_offset_log(entry: OffsetLogEntry) -> bytes:
    """Spark's own bytes: LF as a separator, so no newline at the end."""
    lines = [f"v{entry.version}", _encode_metadata(entry.metadata) if entry.metadata else ""]
    for source in entry.sources:
        text = NO_OFFSET if source.text is None else source.text
        lines.append(text if source.name is None else f"{source.name}:{text}")
    return "\n".join(lines).encode()


def _encode_metadata(metadata: OffsetMetadata) -> str:
    fields: dict[str, Json] = {
        "batchWatermarkMs": metadata.watermark_ms,
        "batchTimestampMs": metadata.timestamp_ms,
        "conf": dict(metadata.conf),
        **metadata.unknown_fields,
    }
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _parse_map_line(index: int, line: str) -> SourceOffset:
    name, colon, text = line.partition(":")
    if not colon:
        raise MalformedFile(
            f"{quote(line)} is not a source's line",
            expected="`<source id>:<offset>`",
            position=Position(line=index + 3, byte=0),
            spark=SparkError(ILLEGAL_STATE),
        )
    return SourceOffset(index, name, None if text == NO_OFFSET else text)


def _parse_conf(value: Json, line: int) -> Mapping[str, str]:
    """A map of text; numbers and booleans are taken as their text, as json4s takes them."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedFile(
            f"`conf` is a JSON {json_type(value)}", expected="`conf`: an object of texts", position=Position(line=line)
        )
    check("settings", len(value))
    return {key: entry if isinstance(entry, str) else json.dumps(entry) for key, entry in value.items()}
