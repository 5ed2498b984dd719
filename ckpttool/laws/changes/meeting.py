"""What Spark makes of the operators of a query on the state that is there: which it refuses, and how.

From 4.0 on the driver compares the operators' names by their numbers (IncrementalExecution,
checkOperatorValidWithMetadata), and then the schemas of each store; before, a task compares the schemas of the store
that it opens, and nobody asks whose they are (StateStore.scala, StateSchemaCompatibilityChecker).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.laws.base import SPARK_RUNTIME
from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.schemas import columns, fits, unlike
from ckpttool.laws.given import FORCED
from ckpttool.laws.state_errors import what_is_raised
from ckpttool.model import Json
from ckpttool.query.model import QueryOperator, StoreSchema
from ckpttool.releases import since
from ckpttool.scene.scene import Failure
from ckpttool.scene.state_chain import Fault
from ckpttool.state.tables import JOIN, TRANSFORM

SCHEMA_CHECK = "spark.sql.streaming.stateStore.stateSchemaCheck"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STREAMING = "spark.sql.streaming."
_STORES = "org.apache.spark.sql.execution.streaming.state."
DEDUP, WITHIN, AGGREGATE, SESSION = (
    "dedupe",
    "dedupeWithinWatermark",
    "stateStoreSave",
    "sessionWindowStateStoreSaveExec",
)
# What a checkpoint pins, and the schemas of these operators go by; a session may have had another value when its query
# was described.
_SHAPING: Mapping[str, tuple[str, ...]] = {
    f"{_STREAMING}join.stateFormatVersion": (JOIN,),
    f"{_STREAMING}flatMapGroupsWithState.stateFormatVersion": ("flatMapGroupsWithState", "applyInPandasWithState"),
    f"{_STREAMING}stateStore.encodingFormat": TRANSFORM,
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": (DEDUP, WITHIN),
    f"{_STREAMING}statefulOperator.alwaysNullableOutput.enabled": (AGGREGATE, SESSION, JOIN, DEDUP, WITHIN),
}


class StorePair(Struct, frozen=True):
    """A store of an operator as it is held, and as the query has it."""

    operator: int
    name: str
    held: StoreSchema | None
    new: StoreSchema | None

    @property
    def is_known(self) -> bool:
        return self.held is not None and self.held.key_schema is not None and self.new is not None

    @property
    def key_fits(self) -> bool:
        return self.held is not None and self.new is not None and fits(self.held.key_schema, self.new.key_schema)

    @property
    def value_fits(self) -> bool:
        return self.held is not None and self.new is not None and fits(self.held.value_schema, self.new.value_schema)

    @property
    def is_avro(self) -> bool:
        return self.held is not None and self.held.encoding == "avro"


def names_checked(deploy: Deploy) -> bool:
    """Whether the driver compares which operators there are: it skips that where no operator has metadata."""
    if deploy.release < since.OPERATOR_METADATA or deploy.begins_anew:
        return False
    if deploy.scene is None:
        return any(one.name for one in deploy.held.operators)
    return any(one.metadata is not None for one in deploy.scene.checkpoint.operators)


def name_refused(deploy: Deploy, number: int) -> Failure | None:
    """The number of an operator that is held and not in the query, or the other way round, or is another one's."""
    held, new = deploy.held_operator(number), operator_of(deploy, number)
    if not names_checked(deploy) or (held and held.name) == (new and new.name):
        return None
    why = f"operator {number} is {_named(held)} in state/{number}, and {_named(new)} in the query"
    condition = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    message = "Streaming stateful operator name does not match with the operator in state metadata"
    return _in_batch(deploy, SPARK_RUNTIME, condition, message, why, layout.operator(number))


def _named(operator: QueryOperator | None) -> str:
    return "no operator" if operator is None else operator.name or "an operator without a name"


def operator_of(deploy: Deploy, number: int) -> QueryOperator | None:
    return next((one for one in deploy.new.operators if one.id == number), None)


def state_missing(deploy: Deploy, number: int) -> Failure | None:
    """An operator that has no state yet, in a query that has committed batches: what it would begin with is loaded."""
    if deploy.begins_anew:
        return None
    why = f"operator {number} is new, and batch {deploy.next_id} loads state that it never wrote"
    if deploy.release >= since.STATE_DIRECTORY and not deploy.held.operators:
        error, message = what_is_raised(Fault("missing", ""), "state", deploy.release, "no-state-directory")
        return _in_batch(deploy, error.class_name, error.condition, message, why, "state")
    rocksdb = "RocksDB" in deploy.held.conf.get(PROVIDER, "")
    path = f"{layout.operator(number)}/0/{deploy.next_id}.{'zip' if rocksdb else 'delta'}"
    error, message = what_is_raised(Fault("missing", ""), path, deploy.release)
    return _in_batch(deploy, error.class_name, error.condition, message, why, path)


def schema_refused(deploy: Deploy, pair: StorePair) -> Failure | None:
    """Of a store that is there on both sides. Deduplication has nothing in its values, and does not look at them."""
    if not schemas_checked(deploy) or not pair.is_known:
        return None
    new = operator_of(deploy, pair.operator)
    ignores_values = new is not None and new.name == DEDUP
    key, value = pair.key_fits, pair.value_fits or ignores_values
    if key and (value or (pair.is_avro and _is_variable(pair))):
        return None
    part = "value" if key else "key"
    why = f"the {part} of {pair.name} in state/{pair.operator} has another schema than in the query"
    path = layout.operator(pair.operator)
    if deploy.release < since.VALUE_SCHEMA_CONDITION:
        message = "Provided schema doesn't match to the schema for existing state"
        return _in_batch(deploy, f"{_STORES}StateSchemaNotCompatible", None, message, why, path)
    name, condition = (
        f"StateStore{part.title()}SchemaNotCompatible",
        f"STATE_STORE_{part.upper()}_SCHEMA_NOT_COMPATIBLE",
    )
    message = f"Provided {part} schema does not match existing state {part} schema"
    return _in_batch(deploy, f"{_STORES}{name}", condition, message, why, path)


def _is_variable(pair: StorePair) -> bool:
    return pair.held is not None and pair.held.column_family is not None


def evolution_refused(deploy: Deploy, pair: StorePair) -> Failure:
    """Avro reads old rows with a new schema where its own rules allow that."""
    why = f"Avro does not read the stored rows of {pair.name} with the type that it has in the query"
    condition = "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"
    class_name = f"{_STORES}StateStoreInvalidValueSchemaEvolution"
    message = "Schema evolution is not possible"
    return _in_batch(deploy, class_name, condition, message, why, layout.operator(pair.operator))


def config_refused(deploy: Deploy, number: int, name: str, before: str, after: str) -> Failure:
    """What transformWithState keeps of how it was run, and compares (TransformWithStateVariableUtils)."""
    class_name = f"{_STORES}StateStoreInvalidConfigAfterRestart"
    why = f"transformWithState keeps its {name}, which was {before} and is {after}"
    condition, message = "STATE_STORE_INVALID_CONFIG_AFTER_RESTART", f"Cannot change {name}"
    return _in_batch(deploy, class_name, condition, message, why, layout.operator(number))


def kind_refused(deploy: Deploy, number: int, variable: str, before: str, after: str) -> Failure:
    class_name = f"{_STORES}StateStoreInvalidVariableTypeChange"
    why = f"the variable {variable} was a {before} and is a {after}"
    condition, message = "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE", f"Cannot change {variable}"
    return _in_batch(deploy, class_name, condition, message, why, layout.operator(number))


def schemas_checked(deploy: Deploy) -> bool:
    given = deploy.scene.conf(SCHEMA_CHECK, "true") if deploy.scene else "true"
    return given.strip().lower() != "false"


def _in_batch(deploy: Deploy, class_name: str, condition: str | None, message: str, why: str, path: str) -> Failure:
    return Failure("batch", class_name, condition, message, why, deploy.next_id, path=path)


# -- stores, as the checkpoint pins their formats ----------------------------------------------------------------------


def pairs_of(held: QueryOperator, new: QueryOperator) -> Iterator[StorePair]:
    """Store by store, those of the query first."""
    shaped = _in_format(new, held.state_format)
    stored = {(one.name, one.column_family): one for one in held.stores}
    wanted = {(one.name, one.column_family): one for one in shaped}
    for key in dict.fromkeys((*wanted, *stored)):
        yield StorePair(new.id, key[1] or key[0], stored.get(key), wanted.get(key))


def _in_format(new: QueryOperator, state_format: int | None) -> Sequence[StoreSchema]:
    """Version 1 of an aggregation's state keeps the key with the value; which one it is, the checkpoint pins."""
    if new.name != AGGREGATE or None in (state_format, new.state_format):
        return new.stores
    return [replace(one, value_schema=_value_in(state_format == 1, one)) for one in new.stores]


def _value_in(with_key: bool, store: StoreSchema) -> Json:
    """Before 4.0 a description has them in version 2, whatever the session's."""
    key, value = list(columns(store.key_schema)), list(columns(store.value_schema))
    has_key = bool(key) and [one["name"] for one in value[: len(key)]] == [one["name"] for one in key]
    if has_key == with_key or not key:
        return store.value_schema
    return {"type": "struct", "fields": [*key, *value] if with_key else value[len(key) :]}


def shaped_otherwise(deploy: Deploy, operator: QueryOperator) -> str | None:
    """The setting under which the query was described, where the checkpoint pins another, and the operator goes by
    it: then its schemas are not those that Spark will plan."""
    for key, names in _SHAPING.items():
        described = deploy.new.conf.get(key)
        pinned = deploy.held.conf.get(key, FORCED.get(key, "false"))
        if operator.name in names and described and pinned and described.lower() != pinned.lower():
            return f"{key} is {described} in the description, and the checkpoint pins {pinned}"
    return None


def only_names_differ(pair: StorePair) -> bool:
    if pair.held is None or pair.new is None:
        return False
    both = ((pair.held.key_schema, pair.new.key_schema), (pair.held.value_schema, pair.new.value_schema))
    return all(one.fits for stored, new in both for one in unlike(stored, new))
