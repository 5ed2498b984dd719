"""What is told of a changed query where it is not the changes that were asked for. Pure."""

from __future__ import annotations

from ckpttool.laws.base import Law, keeps_state

LAWS = (
    Law(
        "operator-changed",
        "an operator with state is another than the one that wrote it: its kind, its keys, or what it keeps",
        needs="query",
        applies=keeps_state,
        next_step="put the old code back, which goes on where it was; ckpt check-change --query names each change and"
        " what can be done, also for new code that has to stay",
        errors=(
            "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match",
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match",
            "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match",
            "Provided schema doesn't match to the schema for existing state",
            "StateSchemaNotCompatible",
        ),
        often=3,
    ),
)
OPERATOR_CHANGED = LAWS[0]
