"""State schema files, below `state/<operator>`: `0/[<store>/]_metadata/schema` (v1, v2), `_stateSchema/<store>/…` (v3).

Writers: `SchemaHelper.SchemaV1Writer` (Spark 3.1), `SchemaV2Writer` (3.2 to master), `SchemaV3Writer` (4.0 to master).
Development builds before 4.0.0 wrote version 3 without schema ids. Spark reads no further than the last schema, so
whatever follows it is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json_object, parse_version
from ckpttool.formats.state.java_io import JavaReader
from ckpttool.model import ColumnFamilySchema, Json, Position, StateSchema

NEWEST_VERSION = 3
DEFAULT_FAMILY = "default"


def parse_state_schema(data: bytes) -> StateSchema:
    reader = JavaReader(data)
    version = parse_version(reader.utf(), NEWEST_VERSION)
    if version == 3:
        return StateSchema(version, _families(reader))
    read_text = reader.utf if version == 1 else reader.chunks
    key, value = _json_object(reader, read_text), _json_object(reader, read_text)
    return StateSchema(version, (ColumnFamilySchema(DEFAULT_FAMILY, key, value),))


def _families(reader: JavaReader) -> tuple[ColumnFamilySchema, ...]:
    start = reader.position
    count = reader.int32()
    if count < 0:
        raise MalformedFile(
            f"{count} column families", expected="how many column families follow", position=Position(byte=start)
        )
    return tuple(_family(reader) for _ in range(count))  # a count that lies ends at the end of the file


def _family(reader: JavaReader) -> ColumnFamilySchema:
    name = reader.utf()
    has_ids = _has_schema_ids(reader)
    key_schema_id = reader.int16() if has_ids else 0
    key = _json_object(reader, reader.chunks)
    value_schema_id = reader.int16() if has_ids else 0
    value = _json_object(reader, reader.chunks)
    encoder = _json_object(reader, reader.chunks)
    user_key = _json_object(reader, reader.chunks)
    return ColumnFamilySchema(name, key, value, key_schema_id, value_schema_id, encoder, user_key or None)


def _has_schema_ids(reader: JavaReader) -> bool:
    """After the name come an id and a count, or only the count: a count below 65536 begins with two zero bytes."""
    return reader.peek_int32() & 0xFFFF == 0


def _json_object(reader: JavaReader, read_text: Callable[[], str]) -> dict[str, Json]:
    start = reader.position
    text = read_text()
    try:
        return parse_json_object(text)
    except MalformedFile as error:
        raise MalformedFile(
            f"the schema at byte {start}: {error.message}",
            expected=error.expected,
            position=Position(byte=start),
            spark=error.spark,
        ) from None
