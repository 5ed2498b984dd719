"""Operator metadata of Spark 4.0 and of a development build before it."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.model import OperatorMetadata, SparkError, StoreMetadata

V1 = (
    b'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"dedupe"},'
    b'"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":5}]}'
)
PROPERTIES = (
    rb'"operatorPropertiesJson":"{\"timeMode\":\"NoTime\",\"outputMode\":\"Update\",\"stateVariables\":'
    rb'[{\"stateName\":\"countState\",\"stateVariableType\":\"ValueState\",\"ttlEnabled\":false}]}"}'
)
SCHEMA_PATH = "file:/tmp/ckpt/state/0/_stateSchema/default/0_6b12d3c5-57e6-4001-8321-3ae63d6be7a0"


def _v2(schema_field: str) -> bytes:
    store = f'{{"storeName":"default","numColsPrefixKey":0,"numPartitions":5,{schema_field}}}'
    head = 'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},"stateStoreInfo":['
    return f"{head}{store}],".encode() + PROPERTIES


def test_version_1() -> None:
    assert parse_operator_metadata(V1) == OperatorMetadata(1, 0, "dedupe", (StoreMetadata("default", 5),))


def test_join_has_four_stores() -> None:
    names = ("left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue")
    stores = ",".join(f'{{"storeName":"{name}","numColsPrefixKey":0,"numPartitions":5}}' for name in names)
    data = f'v1\n{{"operatorInfo":{{"operatorId":0,"operatorName":"symmetricHashJoin"}},"stateStoreInfo":[{stores}]}}'
    assert tuple(store.name for store in parse_operator_metadata(data.encode()).stores) == names


def test_version_2() -> None:
    metadata = parse_operator_metadata(_v2(f'"stateSchemaFilePaths":["{SCHEMA_PATH}","{SCHEMA_PATH}x"]'))
    assert (metadata.version, metadata.name) == (2, "transformWithStateExec")
    assert metadata.stores == (StoreMetadata("default", 5, 0, (SCHEMA_PATH, SCHEMA_PATH + "x")),)
    assert metadata.properties["stateVariables"] == [
        {"stateName": "countState", "stateVariableType": "ValueState", "ttlEnabled": False}
    ]


def test_a_single_path_before_the_release() -> None:
    (store,) = parse_operator_metadata(_v2(f'"stateSchemaFilePath":"{SCHEMA_PATH}"')).stores
    assert store.schema_paths == (SCHEMA_PATH,)


def test_json_over_several_lines_is_read() -> None:
    assert parse_operator_metadata(V1.replace(b",", b",\r\n  ")) == parse_operator_metadata(V1)


def test_version_1_keeps_no_schema_paths() -> None:
    data = V1.replace(b'"numPartitions":5', b'"numPartitions":5,"stateSchemaFilePaths":["x"]')
    assert parse_operator_metadata(data) == parse_operator_metadata(V1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"operatorId":0', b'"operatorId":"0"'),
        (b'"operatorId":0', b'"operatorId":9223372036854775808'),
        (b'"operatorName"', b'"name"'),
        (b'{"operatorId":0,"operatorName":"dedupe"}', b"[]"),
        (b'"numPartitions":5', b'"numPartitions":2147483648'),
        (b'"stateStoreInfo":[', b'"stateStoreInfo":[1,'),
        (b'"stateStoreInfo"', b'"stores"'),
        (b"}]}", b"}]"),
        (b"v1", b"v0"),
    ],
)
def test_malformed(old: bytes, new: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_operator_metadata(V1.replace(old, new))


@pytest.mark.parametrize(
    "data",
    [
        b"v1",
        _v2('"stateSchemaFilePaths":"x"'),
        _v2('"stateSchemaFilePaths":[1]'),
        _v2('"stateSchemaFilePaths":["\\ud800"]'),
        _v2('"other":1'),
        _v2('"stateSchemaFilePaths":[]').replace(PROPERTIES, b'"operatorPropertiesJson":"[]"}'),
        _v2('"stateSchemaFilePaths":[]').replace(PROPERTIES, b'"operatorPropertiesJson":"{"}'),
        _v2('"stateSchemaFilePaths":[]').replace(PROPERTIES, b'"x":1}'),
    ],
)
def test_malformed_version_2(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_operator_metadata(data)


def test_a_newer_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_operator_metadata(V1.replace(b"v1", b"v3"))


def test_the_version_is_that_of_the_place() -> None:
    assert parse_operator_metadata(V1, 1) == parse_operator_metadata(V1)
    with pytest.raises(MalformedFile) as raised:
        parse_operator_metadata(V1, 2)
    assert raised.value.spark == SparkError("java.lang.IllegalArgumentException")
    with pytest.raises(MalformedFile, match="version 2"):
        parse_operator_metadata(b"v2\nno JSON", 1)
