"""P6: the state after each batch is the fold of the input up to it. Pure.

Keys and values are compared by their leaves in order, nulls left out: Spark's names for them differ between operators.
A value may have more leaves behind those that the fold knows (a timeout, for one).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ckpttool.harness.fold import Leaves, Stored
from ckpttool.harness.history import StateRow
from ckpttool.harness.judge.base import UNKNOWN_JOB, Anomaly, Facts, Outcome, Unknown, Valid, canonical, conclude
from ckpttool.model import Json
from ckpttool.words import counted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def state_is_the_fold(facts: Facts) -> Outcome:
    """P6: the state that the query goes on with is what the input so far makes it."""
    found = _compared(facts)
    if isinstance(found, Unknown) and facts.is_damaged:
        if not facts.case.drained:
            return Valid("damaged by hand, the query stops: it goes on with no state")
        if facts.case.state is None and facts.case.state_why:
            return Valid(f"damaged by hand, {facts.case.state_why}")
    return found


def _compared(facts: Facts) -> Outcome:
    folded = facts.folded
    if facts.run.operator.kind in ("map", UNKNOWN_JOB):
        return None
    if isinstance(folded, str):
        return Unknown(folded)
    if folded.state is None or folded.store is None:
        return None
    if facts.case.state is None:
        if _is_told_by_what_followed(facts):
            return Valid("not read; the batches that followed have the right rows")
        return Unknown(facts.case.state_why or "the state was not read")
    if not facts.case.state:
        return Unknown("no version of the state was read")
    return conclude(
        anomaly
        for batch, rows in sorted(facts.case.state.items())
        for anomaly in _differences(batch, [row for row in rows if row.store == folded.store], folded.state.get(batch))
    )


def _is_told_by_what_followed(facts: Facts) -> bool:
    """Before 4.0 Spark cannot show its state. The rows of batches that were planned after the crash come out of it, and
    P1 judges them."""
    crash, folded = facts.crash, facts.folded
    if (
        crash is None
        or crash.batch_id is None
        or isinstance(folded, str)
        or not facts.run.spark_version.startswith("3.")
    ):
        return False
    first = crash.batch_id if crash.window == "rebuilt" else crash.batch_id + 1
    return any(batch >= first and folded.rows.get(batch) for batch in facts.case.after.commits)


def _differences(batch: int, rows: Sequence[StateRow], expected: Stored | None) -> Iterator[Anomaly]:
    if expected is None:
        yield Anomaly("state-differs", f"there is state of batch {batch}, and no such batch", batch_id=batch)
        return
    found: dict[str, list[StateRow]] = {}
    for row in rows:
        found.setdefault(canonical(leaves(row.key)), []).append(row)
    wanted: Mapping[str, tuple[Leaves, Leaves]] = {
        canonical(_without_nulls(key)): (key, value) for key, value in expected.items()
    }
    lost = [_shown(*wanted[key]) for key in wanted if key not in found]
    more = [_told(row) for key, some in found.items() for row in some[0 if key not in wanted else 1 :]]
    altered = [
        _told(some[0]) for key, some in found.items() if key in wanted and not _begins(some[0].value, wanted[key][1])
    ]
    for what, witnesses in (("lacks", lost), ("has in excess", more), ("has other values for", altered)):
        if witnesses:
            count = counted(len(witnesses), "key")
            yield Anomaly("state-differs", f"the state after batch {batch} {what} {count}", tuple(witnesses), batch)


def leaves(value: Json) -> list[Json]:
    """The values in a structure of structures, in order; times as milliseconds, nulls left out."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    if value is None:
        return []
    return [_milliseconds(value) if isinstance(value, str) else value]


def _milliseconds(text: str) -> Json:
    """Spark prints times as ISO 8601 with a zone; whatever else it is stays a text."""
    if len(text) < 20 or text[10] != "T":
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment - EPOCH) // timedelta(milliseconds=1) if moment.tzinfo else text


def _without_nulls(values: Leaves) -> list[Json]:
    return [value for value in values if value is not None]


def _begins(value: Json, expected: Leaves) -> bool:
    return canonical(leaves(value)[: len(_without_nulls(expected))]) == canonical(_without_nulls(expected))


def _shown(key: Leaves, value: Leaves) -> dict[str, Json]:
    return {"key": list(key), "value": list(value)}


def _told(row: StateRow) -> dict[str, Json]:
    return {"operator": row.operator, "partition": row.partition, "key": row.key, "value": row.value}
