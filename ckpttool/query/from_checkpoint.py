"""The query that a checkpoint shows: what its files pin, and no word more. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from ckpttool.connectors.base import TopicOffset
from ckpttool.formats.names import parse_long
from ckpttool.formats.state.schema import DEFAULT_FAMILY
from ckpttool.formats.state.types import parse_type
from ckpttool.model import Operator as OnDisk
from ckpttool.model import OperatorMetadata, OperatorStore, SourceLog, StateSchema
from ckpttool.query.model import (
    DescribedFrom,
    DescribedSource,
    Description,
    Meaning,
    Query,
    QueryOperator,
    QueryTrigger,
    StateVariable,
    StoreSchema,
)
from ckpttool.releases import Release, parse_release
from ckpttool.scene.batches import Batch, SourceProgress
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.scene.source_logs import log_of
from ckpttool.state.tables import JOIN, TRANSFORM, infer_operator, state_conf, variables_of
from ckpttool.storage.urls import redact_url

_STREAMING = "spark.sql.streaming."
# The layouts of state that the offsets pin, by the operators that have them.
FORMATS = {
    "stateStoreSave": f"{_STREAMING}aggregation.stateFormatVersion",
    JOIN: f"{_STREAMING}join.stateFormatVersion",
    "flatMapGroupsWithState": f"{_STREAMING}flatMapGroupsWithState.stateFormatVersion",
}
NOT_TOLD = (
    "name",
    "output_mode",
    "watermarks",
    "sink",
    "output_schema",
    "plan",
    "sources.options",
    "sources.schema",
    "operators.meaning",
    "operators.inputs",
)


def describe_checkpoint(evidence: Evidence) -> Description:
    """`evidence`: of a checkpoint with what Spark opens of it; older batches change nothing."""
    checkpoint = evidence.checkpoint
    query = query_of(evidence)
    written_by = evidence.written_by
    exactly = written_by.min if written_by.min == written_by.max else None
    return Description(DescribedFrom("checkpoint", redact_url(checkpoint.url)), exactly, (query,))


def query_of(evidence: Evidence) -> Query:
    newest = evidence.newest
    conf = dict(newest.entry.metadata.conf) if newest and newest.entry and newest.entry.metadata else {}
    scene = Scene(evidence, Start(_any_release(evidence)))
    not_told = [*NOT_TOLD, *([] if evidence.mode == "continuous" else ["trigger"]), *([] if newest else ["sources"])]
    return Query(
        name=None,
        where=None,
        checkpoint=redact_url(evidence.checkpoint.url),
        not_told=tuple(not_told),
        trigger=QueryTrigger("continuous") if evidence.mode == "continuous" else None,
        sources=tuple(sorted(_sources(scene, newest), key=lambda one: one.index)) if newest else (),
        operators=tuple(operator_of(one, conf) for one in evidence.checkpoint.operators),
        conf=conf,
    )


def _any_release(evidence: Evidence) -> Release:
    """Which kind a source is follows from no release."""
    return parse_release(evidence.written_by.max or "4.0.0")


# -- sources -----------------------------------------------------------------------------------------------------------


def _sources(scene: Scene, newest: Batch) -> Iterator[DescribedSource]:
    for source in newest.sources:
        kind, place = scene.kind_of(source) or "unknown", _place(source, log_of(scene, source))
        yield DescribedSource(source.number, source.own_name, kind, place=place)


def _place(source: SourceProgress, log: SourceLog | None) -> str | None:
    """Topics; of files the directory that all those of the newest entries lie in, which may be a part of the place."""
    if isinstance(source.offset, TopicOffset):
        return ",".join(sorted(source.offset.topics)) or None
    paths = [entry.path for number in sorted(log.entries) for entry in log.entries[number]] if log else []
    above = {posixpath.dirname(path) for path in paths}
    return redact_url(above.pop()) if len(above) == 1 else None


# -- operators ---------------------------------------------------------------------------------------------------------


def operator_of(operator: OnDisk, conf: Mapping[str, str]) -> QueryOperator:
    """`conf`: what the offsets pin."""
    stores = tuple(one for store in operator.stores for one in _stores(store, conf))
    name = operator.name or _inferred(stores, conf)
    variables = state_variables(operator.metadata)
    return QueryOperator(
        id=operator.id,
        name=name,
        partitions=next((store.partitions for store in operator.stores if store.partitions is not None), None),
        state_format=state_format(name, conf),
        stores=stores,
        meaning=Meaning(variables=variables) if name in TRANSFORM else None,
    )


def state_format(name: str | None, conf: Mapping[str, str]) -> int | None:
    return parse_long(conf.get(FORMATS.get(name or "", ""), ""))


def _stores(store: OperatorStore, conf: Mapping[str, str]) -> Iterator[StoreSchema]:
    schema = store.schema
    if schema is None:
        yield StoreSchema(store.name, None, None, None)
        return
    yield from stores_of(store.name, schema, conf)


def stores_of(name: str, schema: StateSchema, conf: Mapping[str, str]) -> Iterator[StoreSchema]:
    """A store of version 3 has a schema for each of its column families; the first is there for all."""
    several = len(schema.column_families) > 1
    encoding = state_conf(conf, "hdfs").encoding  # which no provider has a say in
    for family in schema.column_families:
        if several and family.name == DEFAULT_FAMILY:
            continue
        yield StoreSchema(name, family.name if schema.version >= 3 else None, family.key, family.value, encoding)


def _inferred(stores: tuple[StoreSchema, ...], conf: Mapping[str, str]) -> str | None:
    """Before Spark 4.0 nothing names an operator of one store, but its schema may give it away."""
    if len(stores) != 1 or stores[0].key_schema is None:
        return None
    key, value = parse_type(stores[0].key_schema), parse_type(stores[0].value_schema)
    return infer_operator(key, value, state_conf(conf, "hdfs").aggregation_format)


def state_variables(metadata: OperatorMetadata | None) -> tuple[StateVariable, ...]:
    return tuple(StateVariable(*one) for one in variables_of(metadata))
