"""Operator metadata: `state/<operator>/_metadata/metadata` (v1) and `_metadata/v2/<batch>` (v2), since Spark 4.0.

Writers: `OperatorStateMetadataV1Writer` and `OperatorStateMetadataV2Writer`: a version line, then JSON. Version 2 adds
the operator's properties, JSON inside a JSON string, and each store's schema files as absolute URIs; development builds
before 4.0.0 wrote a single `stateSchemaFilePath`.
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json_object, parse_lines, parse_version
from ckpttool.formats.values import Fields
from ckpttool.model import OperatorMetadata, Position, SparkError, StoreMetadata

NEWEST_VERSION = 2


def parse_operator_metadata(data: bytes, wanted: int | None = None) -> OperatorMetadata:
    """`wanted`: the version of the place where it lies, which Spark looks for before it reads on."""
    lines = parse_lines(data)
    version = parse_version(lines[0], NEWEST_VERSION)
    if wanted not in (None, version):
        raise MalformedFile(
            f"it has version {version}, and lies where version {wanted} belongs",
            expected=f"`v{wanted}`",
            position=Position(line=1),
            spark=SparkError("java.lang.IllegalArgumentException"),
        )
    fields = Fields(parse_json_object("\n".join(lines[1:]), line=2), line=2)
    operator = fields.object("operatorInfo")
    return OperatorMetadata(
        version=version,
        operator_id=operator.long("operatorId"),
        name=operator.text("operatorName"),
        stores=tuple(_store(store, version) for store in fields.objects("stateStoreInfo")),
        properties=parse_json_object(fields.text("operatorPropertiesJson"), line=2) if version >= 2 else {},
    )


def _store(store: Fields, version: int) -> StoreMetadata:
    return StoreMetadata(
        name=store.text("storeName"),
        partitions=store.int32("numPartitions"),
        prefix_key_columns=store.int32("numColsPrefixKey"),
        schema_paths=_schema_paths(store) if version >= 2 else (),
    )


def _schema_paths(store: Fields) -> tuple[str, ...]:
    if "stateSchemaFilePath" in store:
        return (store.text("stateSchemaFilePath"),)
    return store.texts("stateSchemaFilePaths")
