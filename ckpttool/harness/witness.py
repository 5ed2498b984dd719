"""The state after a recovery, as Spark shows it and as our own reader does: a second witness, and the only one before
Spark 4.0, which has no `statestore` source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckpttool.errors import CkptError
from ckpttool.harness.history import Disk, Run, StateRow
from ckpttool.harness.judge.base import canonical
from ckpttool.harness.judge.state import leaves
from ckpttool.harness.place import JobPlace
from ckpttool.harness.session import Ask, Died, Late

SECONDS = 60.0
State = Mapping[int, tuple[StateRow, ...]]  # by batch


def state_after(
    ask: Ask, place: JobPlace, run: Run, disk: Disk, variable: str | None = None
) -> tuple[State | None, str | None]:
    """The state after the last commit, or why it cannot be told. `variable`: of transformWithState, where it is."""
    if not disk.commits:
        return None, None
    batch = max(disk.commits)
    ours, why = read_state(place, batch, variable or "default")
    if run.spark_version.startswith("3."):
        return None if ours is None else {batch: ours}, why
    stores = stores_of(disk.state_files or (), variable)
    request = {"do": "state", "checkpoint": str(place.checkpoint), "stores": stores, "batch": batch}
    request["conf"] = dict(run.conf)  # not all of it is in the offset log
    try:
        answer = ask(request, SECONDS)
        failed = answer["error"] and answer["error"][-1]["message"]
    except (Late, Died) as error:
        failed = str(error)[-300:]
    if failed:
        return None, f"the state of batch {batch} cannot be read: {failed[:200]}"
    theirs = tuple(_state_row(row["operator"], row["store"], row["partition_id"], row) for row in answer["rows"])
    if ours is not None and not say_the_same(ours, theirs):
        return None, f"Spark and ckpt state show different state of batch {batch}"
    return {batch: theirs}, None


def stores_of(state_files: Iterable[str], variable: str | None = None) -> list[dict[str, Any]]:
    """How Spark's `statestore` source is asked for the stores of operators that have a single one each."""
    operators = sorted({first for path in state_files if (first := path.partition("/")[0]).isdecimal()})
    named = {"stateVarName": variable} if variable else {}
    return [
        {"operator": int(one), "store": variable or "default", "options": {"operatorId": one, **named}}
        for one in operators
    ]


def _state_row(operator: int, store: str, partition: int, row: Mapping[str, Any]) -> StateRow:
    return StateRow(operator=operator, store=store, partition=partition, key=row.get("key"), value=row.get("value"))


def read_state(place: JobPlace, batch: int, store: str) -> tuple[tuple[StateRow, ...] | None, str | None]:
    """The rows of these stores after a batch; or why they cannot be read."""
    from ckpttool.report.state_rows import line_renderer
    from ckpttool.state.reader import open_state
    from ckpttool.storage.store import open_store

    found = []
    try:
        reader = open_state(open_store(str(place.checkpoint)), batch)
        for table in (one for one in reader.tables if one.name == store):
            render = line_renderer(table)
            rows = ((row.partition, json.loads(render(row))) for row in reader.rows(table))
            found += [_state_row(table.operator, store, partition, shown) for partition, shown in rows]
    except CkptError as error:
        return None, f"the state of batch {batch} cannot be read: {error.message}"
    if reader.findings:
        return None, f"the state of batch {batch} cannot be read: {reader.findings[0].message}"
    return tuple(found), None


def say_the_same(some: Sequence[StateRow], others: Sequence[StateRow]) -> bool:
    """Names of columns and spellings of times left aside, as the judge does."""
    return Counter(map(_comparable, some)) == Counter(map(_comparable, others))


def _comparable(row: StateRow) -> str:
    return canonical([row.operator, row.partition, leaves(row.key), leaves(row.value)])
