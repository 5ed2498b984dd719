"""Valid bytes of each file, made without the code under test: text by `json.dumps`, Java framing by `struct`."""

from __future__ import annotations

import base64
import json
from struct import pack
from typing import Any

from hypothesis import strategies as st

from tests.encoders import encode_hadoop_crc

Json = object  # any value of JSON, made here and not looked into

longs = st.integers(-(2**63), 2**63 - 1)
ints = st.integers(-(2**31), 2**31 - 1)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | longs | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


def compact_json(value: Json) -> str:
    """JSON as Jackson writes it: no spaces, nothing escaped that need not be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def log_file(version: int, *lines: Json) -> bytes:
    return "\n".join((f"v{version}", *map(compact_json, lines))).encode()


def json_object(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Json]]:
    """An object with these fields in this order; `fixed_dictionaries` may shuffle them."""
    return st.tuples(*fields.values()).map(lambda values: dict(zip(fields, values, strict=True)))


def _log_files(line: st.SearchStrategy[dict[str, Json]]) -> st.SearchStrategy[bytes]:
    return st.lists(line, max_size=5).map(lambda lines: log_file(1, *lines))


# -- the query, its batches --------------------------------------------------------------------------------------------

query_metadata = st.uuids().map(lambda identity: compact_json({"id": str(identity)}).encode())

_batch_metadata = st.builds(
    lambda known, unknown: known | {name: value for name, value in unknown.items() if name not in known},
    json_object(
        {"batchWatermarkMs": longs, "batchTimestampMs": longs, "conf": st.dictionaries(texts, texts, max_size=3)}
    ),
    json_objects,
).map(compact_json)
_offset_texts = st.just("-") | json_values.map(compact_json)
_named_offsets = st.builds(
    lambda name, offset: f"{name}:{offset}",
    texts.map(lambda name: name.replace(":", "")),
    json_values.map(compact_json),
)


def _lines(*lines: str) -> bytes:
    return "\n".join(lines).encode()


offset_logs = st.one_of(
    st.builds(lambda metadata, sources: _lines("v1", metadata, *sources), _batch_metadata, st.lists(_offset_texts)),
    st.builds(lambda metadata, sources: _lines("v2", metadata, *sources), _batch_metadata, st.lists(_named_offsets)),
    st.lists(_offset_texts, min_size=1).map(lambda sources: _lines("v1", "", *sources)),  # continuous processing
)

_state_ids = st.dictionaries(st.integers(0, 99).map(str), st.lists(st.lists(texts, max_size=2), max_size=3), max_size=2)
_sink = json_object({"sinkName": texts, "commitOffset": texts, "providerName": texts, "apiVersion": texts})
_sinks = st.lists(_sink, min_size=1, max_size=3, unique_by=lambda sink: sink["sinkName"]).map(
    lambda sinks: {str(sink["sinkName"]): sink | {"isActive": number == 0} for number, sink in enumerate(sinks)}
)
commit_logs = st.one_of(
    st.just(log_file(1, {})),
    st.builds(lambda watermark: log_file(1, {"nextBatchWatermarkMs": watermark}), longs),
    st.builds(
        lambda watermark, ids: log_file(2, {"nextBatchWatermarkMs": watermark, "stateUniqueIds": ids}),
        longs,
        _state_ids,
    ),
    st.builds(
        lambda watermark, sinks: log_file(3, {"nextBatchWatermarkMs": watermark, "sinkMetadataMap": sinks}),
        longs,
        _sinks,
    ),
)


# -- logs of sources and sinks -----------------------------------------------------------------------------------------

source_logs = _log_files(json_object({"path": texts, "timestamp": longs, "batchId": longs}))

sink_logs = _log_files(
    json_object(
        {
            "path": texts,
            "size": longs,
            "isDir": st.booleans(),
            "modificationTime": longs,
            "blockReplication": ints,
            "blockSize": longs,
            "action": st.sampled_from(["add", "delete"]),
        }
    )
)

_topic_maps = st.dictionaries(
    texts, st.dictionaries(st.integers(0, 99).map(str), st.integers(0, 2**63 - 1), max_size=3), max_size=3
).map(compact_json)
_any_byte = st.integers(0, 255).map(lambda byte: bytes((byte,)))

initial_offsets = st.one_of(
    st.builds(lambda byte, offset: byte + b"v1\n" + offset.encode(), _any_byte, _topic_maps),
    st.builds(lambda byte, offset: byte + offset.encode(), _any_byte, _topic_maps),
    longs.map(lambda time: f"v1\n{time}".encode()),
    json_objects.map(lambda value: log_file(1, value)),
    st.binary(min_size=1, max_size=20).map(lambda state: b"v1\n" + base64.urlsafe_b64encode(state)),
    json_objects.map(lambda value: compact_json(value).encode()),
)

contents = st.binary(max_size=700) | st.integers(500, 2100).map(bytes)
hadoop_crcs = contents.map(encode_hadoop_crc)

spark_checksums = st.fixed_dictionaries(
    {
        "algorithm": st.just("CRC32C"),
        "value": ints,
        "mainFileSize": longs,
        "timestampMs": longs,
        "creator": st.fixed_dictionaries({"executorId": texts, "taskInfo": texts}),
    }
).map(lambda checksum: compact_json(checksum).encode())


# -- state -------------------------------------------------------------------------------------------------------------


def modified_utf8(text: str) -> bytes:
    """What Java's `writeUTF` writes after the length: each UTF-16 unit for itself, NUL in two bytes."""
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = [chr(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2)]
    return "".join(pairs).encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")


def java_utf(text: str) -> bytes:
    raw = modified_utf8(text)
    return pack(">H", len(raw)) + raw


def java_chunks(text: str, size: int = 65535) -> bytes:
    """`size` is 65535 in Spark; smaller ones cut characters apart just as well."""
    units = text.encode("utf-16-be")
    pieces = [units[at : at + 2 * size].decode("utf-16-be", "surrogatepass") for at in range(0, len(units), 2 * size)]
    return pack(">i", len(pieces)) + b"".join(java_utf(piece) for piece in pieces)


_schema_texts = st.dictionaries(texts, texts, max_size=1).map(compact_json)
_chunked = st.builds(java_chunks, _schema_texts, st.sampled_from([65535, 7]))
_ids = st.integers(0, 2**15 - 1).map(lambda number: pack(">h", number))

_families = st.builds(
    lambda name, *parts: java_utf(name) + b"".join(parts), texts, _ids, _chunked, _ids, _chunked, _chunked, _chunked
)
_families_before_release = st.builds(
    lambda name, *parts: java_utf(name) + b"".join(parts), texts, _chunked, _chunked, _chunked, _chunked
)


def _version_3(families: list[bytes]) -> bytes:
    return java_utf("v3") + pack(">i", len(families)) + b"".join(families)


state_schemas = st.one_of(
    st.builds(lambda key, value: java_utf("v1") + java_utf(key) + java_utf(value), _schema_texts, _schema_texts),
    st.builds(lambda key, value: java_utf("v2") + key + value, _chunked, _chunked),
    st.lists(_families, max_size=2).map(_version_3),
    st.lists(_families_before_release, max_size=2).map(_version_3),
)

_operator = st.fixed_dictionaries({"operatorId": longs, "operatorName": texts})
_store = {"storeName": texts, "numColsPrefixKey": ints, "numPartitions": ints}
_operator_v1 = st.fixed_dictionaries(
    {"operatorInfo": _operator, "stateStoreInfo": st.lists(st.fixed_dictionaries(_store), max_size=4)}
).map(lambda metadata: log_file(1, metadata))
_operator_v2 = st.fixed_dictionaries(
    {
        "operatorInfo": _operator,
        "stateStoreInfo": st.lists(
            st.fixed_dictionaries(_store | {"stateSchemaFilePaths": st.lists(texts, max_size=2)})
            | st.fixed_dictionaries(_store | {"stateSchemaFilePath": texts}),
            max_size=2,
        ),
        "operatorPropertiesJson": json_objects.map(compact_json),
    }
).map(lambda metadata: log_file(2, metadata))

operator_metadata = _operator_v1 | _operator_v2
