"""What is told of a changed query where it is not the changes that were asked for. Pure."""

from __future__ import annotations

from ckpttool.laws.base import Law, keeps_state

_OLD_CODE = (
    "put the old code back, which goes on where it was. ckpt check-change --query names each change and what can be"
)
OPERATOR_CHANGED = Law(
    "operator-changed",
    "an operator with state is another than the one that wrote it",
    needs="query",
    applies=keeps_state,
    next_step=f"{_OLD_CODE} done, also for new code that has to stay",
    errors=(
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match",
    ),
    often=3,
)
SCHEMA_CHANGED = Law(
    "operator-schema-changed",
    "an operator has other keys, or keeps something else, than what is in the state",
    needs="query",
    applies=keeps_state,
    next_step=f"{_OLD_CODE} done, also for new code that has to stay",
    errors=(
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match",
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match",
        "Provided schema doesn't match to the schema for existing state",
        "StateSchemaNotCompatible",
        "The streaming query failed by state format invalidation",
    ),
    often=3,
)
LAWS = (OPERATOR_CHANGED, SCHEMA_CHANGED)
