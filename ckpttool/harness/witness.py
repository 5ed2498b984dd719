"""The state as our own reader shows it: a second witness beside Spark, and the only one before 4.0."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from ckpttool.errors import CkptError
from ckpttool.harness.history import StateRow
from ckpttool.harness.judge.base import canonical
from ckpttool.harness.judge.state import leaves
from ckpttool.harness.place import JobPlace


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
            for row in reader.rows(table):
                told = json.loads(render(row))
                key, value = told.get("key"), told.get("value")
                found.append(
                    StateRow(operator=table.operator, store=store, partition=row.partition, key=key, value=value)
                )
    except CkptError as error:
        return None, f"the state of batch {batch} cannot be read: {error.message}"
    if reader.findings:
        return None, f"the state of batch {batch} cannot be read: {reader.findings[0].message}"
    return tuple(found), None


def say_the_same(some: Sequence[StateRow], others: Sequence[StateRow]) -> bool:
    """Names of columns and spellings of times left aside, as the judge does."""
    return Counter(map(_told, some)) == Counter(map(_told, others))


def _told(row: StateRow) -> str:
    return canonical([row.operator, row.partition, leaves(row.key), leaves(row.value)])
