"""Changes of state that the job keeps itself: applyInPandasWithState and transformWithState."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.sweep.changes.catalogue import STREAMING, Base, Change
from tests.differential.sweep.changes.query import Asked, Groups, Variable
from tests.samples.catalogue import ROCKSDB

GROUPED = Asked(groups=Groups(), mode="update")
GROUPS = Base("groups", GROUPED, since="3.4")
SEEN = Variable("seen", "n LONG")
NOTE = Variable("note", "text STRING")
NUMBER = Variable("number", "n INT")
KEPT = Asked(variables=(SEEN, NUMBER, NOTE), mode="update")
BASES = tuple(
    Base(f"variables-{encoding}", KEPT, ROCKSDB | {f"{STREAMING}stateStore.encodingFormat": encoding}, since="4.0")
    for encoding in ("unsaferow", "avro")
)
UNREAD = "what it held is not read any more"
OLD_STAYS = "what was counted before stays counted"


def own_state_changes() -> Iterator[Change]:
    to = GROUPS.to
    yield to("output-column-added", _grouped(gives="k STRING, seen LONG, more LONG"), "output-schema-changed")
    yield to("state-retyped", _grouped(state="seen STRING"), "state-value-changed")
    yield to("state-narrower", _grouped(state="seen INT"), "state-value-changed")
    yield to("state-field-added", _grouped(state="seen LONG, again LONG"), "state-value-changed")
    yield to("state-field-renamed", _grouped(state="counted LONG"), "state-field-renamed")
    yield to("timeout", _grouped(timeout="ProcessingTimeTimeout"), "timeout-changed")
    yield to("function", _grouped(step=2), "plan-changed", kept=OLD_STAYS)
    for base in BASES:
        yield from _variables(base)


def _grouped(**changed: object) -> Asked:
    return GROUPED.but(groups=Groups(**changed))  # type: ignore[arg-type]


def _variables(base: Base) -> Iterator[Change]:
    def of(*variables: Variable) -> Asked:
        return KEPT.but(variables=variables)

    to, again = base.to, Variable("again", "n LONG")
    yield to("added", of(SEEN, NUMBER, NOTE, again), "state-variable-added")
    yield to("removed", of(SEEN, NUMBER), "state-variable-removed", lost=UNREAD)
    yield to("wider", of(SEEN, Variable("number", "n LONG"), NOTE), "state-variable-retyped")
    yield to("to-string", of(SEEN, Variable("number", "n STRING"), NOTE), "state-variable-retyped")
    yield to("field-added", of(SEEN, NUMBER, Variable("note", "text STRING, more LONG")), "state-variable-retyped")
    narrow = Variable("note", "text STRING, more LONG", width=1)
    yield to("field-added-old-code", of(SEEN, NUMBER, narrow), "state-variable-retyped")
    both = ("state-variable-added", "state-variable-removed")
    yield to("renamed", of(SEEN, NUMBER, Variable("remark", "text STRING")), *both, lost=UNREAD)
    stateless = Asked(select=("id", "k"))
    yield to("to-stateless", stateless, "operator-removed")
    yield to("to-count", Asked(keys=("k",), values=("count(*) AS n",), mode="update"), "operator-replaced")
