"""The reference: what a query makes of its batches, in plain Python, knowing nothing of how Spark does it. Pure.

Each kind of operator is one function. It takes the batches in order and says of each what it gives to the sink, and
what the state is after it. A window or a duplicate depends on the watermark, and that is computed here too: zero for
the first batch, then the latest event time of all batches before, less the delay. Times are milliseconds.

Every operator's rows may be given other names and fewer columns: `rename`, old → new, then `columns`, default all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.harness.history import Fields, Transformation
from ckpttool.harness.reading import BatchInput
from ckpttool.model import Json

DEFAULT_STORE = "default"
# The settings that every operator with event time has.
EVENT_TIME, DELAY = "event_time", "delay_ms"

# A row's key and value in the state: the leaves of Spark's structures in their order, without the nulls.
Leaves = tuple[Json, ...]
Stored = Mapping[Leaves, Leaves]
# Batch by batch: what it gives to the sink, and the state after it.
Steps = Iterator[tuple[Sequence[Fields], Stored]]


class Folded(Struct, frozen=True):
    """`rows`: batch → what it gives to the sink. `state`: batch → the store after it; None: there is no state.
    `watermarks`: batch → the watermark it runs with; None: the query has none."""

    rows: Mapping[int, tuple[Fields, ...]]
    store: str | None = None
    state: Mapping[int, Stored] | None = None
    watermarks: Mapping[int, int] | None = None


class Timed(Struct, frozen=True):
    """A batch with the two watermarks that count in it: the one that rows are late by, and the one that evicts."""

    batch: BatchInput
    late_ms: int
    evicted_ms: int


def fold(operator: Transformation, batches: Sequence[BatchInput]) -> Folded | str:
    """What the operator makes of the batches, or why that cannot be told."""
    folder = FOLDS.get(operator.kind)
    if folder is None:
        return f"there is no fold for the operator {operator.kind}"
    if _depends_on_batches(operator) and any(batch.is_joint for batch in batches):
        return "where the first batches ended is not known, and what the sink got depends on it"
    try:
        timed = _with_watermarks(operator.settings, batches)
        steps = {each.batch.batch_id: step for each, step in zip(timed, folder(operator.settings, timed), strict=True)}
        rows = {batch: tuple(_chosen(operator.settings, row) for row in given) for batch, (given, _) in steps.items()}
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        return f"the operator {operator.kind} does not fit the input: {type(error).__name__} {error}"
    watermarks = {each.batch.batch_id: each.evicted_ms for each in timed}
    folded = Folded(rows, watermarks=None if operator.settings.get(EVENT_TIME) is None else watermarks)
    if operator.kind == "map":
        return folded
    store = operator.settings.get("store", DEFAULT_STORE)
    return replace(folded, store=store, state={batch: stored for batch, (_, stored) in steps.items()})


def _depends_on_batches(operator: Transformation) -> bool:
    """Whether the sink gets other rows if the same input is cut into other batches: always where rows can be late."""
    return operator.kind == "count" or operator.settings.get(EVENT_TIME) is not None


def _with_watermarks(settings: Fields, batches: Iterable[BatchInput]) -> list[Timed]:
    column, delay = settings.get(EVENT_TIME), settings.get(DELAY, 0)
    found: list[Timed] = []
    reached = before = 0
    for batch in batches:
        late = before if batch.drops_late_by_batch_before else reached
        found.append(Timed(batch, late, reached))
        before = reached
        if column is not None:
            reached = max([reached, *(row.fields[column] - delay for row in batch.records)])
    return found


# -- the operators -----------------------------------------------------------------------------------------------------


def _map(_: Fields, batches: Sequence[Timed]) -> Steps:
    """Row by row, as they are."""
    return (([record.fields for record in each.batch.records], {}) for each in batches)


def _dedup(settings: Fields, batches: Sequence[Timed]) -> Steps:
    """The first row of each key. `keys`; with `event_time` late rows are dropped, and keys that contain it forgotten;
    `within_watermark`: every key is forgotten after the delay."""
    keys, at, delay = settings["keys"], settings.get(EVENT_TIME), settings.get(DELAY, 0)
    within = bool(settings.get("within_watermark"))
    seen: dict[Leaves, int | None] = {}  # until when
    for timed in batches:
        given = []
        for record in timed.batch.records:
            row = record.fields
            key, time_ms = _leaves(row, keys), None if at is None else row[at]
            if (time_ms is not None and time_ms <= timed.late_ms) or key in seen:
                continue
            given.append(row)
            seen[key] = None if time_ms is None else time_ms + delay if within else time_ms if at in keys else None
        seen = {key: until for key, until in seen.items() if until is None or until > timed.evicted_ms}
        # Spark keeps the time of expiry in microseconds.
        yield given, {key: (until * 1000,) if within and until else () for key, until in seen.items()}


def _window(settings: Fields, batches: Sequence[Timed]) -> Steps:
    """Tumbling windows in append mode, given once the watermark has passed their end. `window_ms`, `keys`, `value`:
    the column that is summed. Gives `window_start`, `window_end`, the keys, `count`, and `sum` if there is a value."""
    at, size, keys, value = settings[EVENT_TIME], settings["window_ms"], settings.get("keys", []), settings.get("value")
    open_windows: dict[Leaves, Leaves] = {}
    for timed in batches:
        for record in timed.batch.records:
            start = record.fields[at] // size * size
            if start + size > timed.late_ms:
                _add(open_windows, (start, start + size, *_leaves(record.fields, keys)), record.fields, value)
        closed = {key: found for key, found in open_windows.items() if key[1] <= timed.evicted_ms}
        open_windows = {key: found for key, found in open_windows.items() if key not in closed}
        names = ("window_start", "window_end", *keys)
        yield [_aggregate(names, key, found) for key, found in closed.items()], dict(open_windows)


def _count(settings: Fields, batches: Sequence[Timed]) -> Steps:
    """A running count per key, and the sum of `value`. `mode` update (the keys that changed) or complete (all)."""
    keys, value = settings["keys"], settings.get("value")
    totals: dict[Leaves, Leaves] = {}
    for timed in batches:
        for record in timed.batch.records:
            _add(totals, _leaves(record.fields, keys), record.fields, value)
        changed = {_leaves(record.fields, keys) for record in timed.batch.records}
        given = totals if settings.get("mode", "update") == "complete" else {key: totals[key] for key in changed}
        yield [_aggregate(keys, key, found) for key, found in given.items()], dict(totals)


def _running(settings: Fields, batches: Sequence[Timed]) -> Steps:
    """Each row with its number among those of its key and the sum of `value` so far: what a function over groups with
    state makes. Within a batch rows are taken in the order of the column `order`. `store`: the state variable."""
    keys, order, value = settings["keys"], settings["order"], settings.get("value")
    totals: dict[Leaves, Leaves] = {}
    for timed in batches:
        given = []
        for record in sorted(timed.batch.records, key=lambda record: record.fields[order]):
            key = _leaves(record.fields, keys)
            _add(totals, key, record.fields, value)
            given.append({**record.fields, **_aggregate((), (), totals[key])})
        yield given, dict(totals)


FOLDS: dict[str, Callable[[Fields, Sequence[Timed]], Steps]] = {
    "map": _map,
    "dedup": _dedup,
    "window": _window,
    "count": _count,
    "running": _running,
}


# -- rows --------------------------------------------------------------------------------------------------------------


def _chosen(settings: Fields, row: Fields) -> dict[str, Json]:
    renamed, names = settings.get("rename", {}), settings.get("columns")
    row = {renamed.get(name, name): value for name, value in row.items()}
    return {name: value for name, value in row.items() if names is None or name in names}


def _leaves(row: Fields, names: Sequence[str]) -> Leaves:
    return tuple(row[name] for name in names)


def _add(totals: dict[Leaves, Leaves], key: Leaves, row: Fields, value: Any) -> None:
    count, *sums = totals.get(key, (0, 0))
    totals[key] = (count + 1, sums[0] + row[value]) if value is not None else (count + 1,)


def _aggregate(names: Sequence[str], key: Leaves, found: Leaves) -> dict[str, Json]:
    return {**dict(zip(names, key, strict=True)), **dict(zip(("count", "sum"), found, strict=False))}
