"""What a way out costs, told from the two ends: the checkpoint as it is, and the restart that it leads to."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.positions import positions
from ckpttool.laws.restart import predict_restart
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import empty_entries


class Cost(Struct, frozen=True):
    """Rows read once more, rows that no sink will have, rows that a sink will have twice. None: not known."""

    replayed: int | None = 0
    lost: int | None = 0
    duplicated: int | None = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            total((self.replayed, other.replayed)),
            total((self.lost, other.lost)),
            total((self.duplicated, other.duplicated)),
        )

    @property
    def rank(self) -> tuple[tuple[bool, int], ...]:
        """Lost rows weigh most, then those that are there twice; what is not known comes after what is."""
        return tuple((rows is None, rows or 0) for rows in (self.lost, self.duplicated, self.replayed))

    @property
    def guarantee(self) -> str:
        if self.lost == 0 and self.duplicated == 0:
            return "exactly once"
        if self.lost == 0:
            return "at least once: nothing is lost, rows may be repeated"
        if self.duplicated == 0:
            return "at most once: nothing is repeated, rows may be lost"
        return "unknown: depends on what the sink has" if None in (self.lost, self.duplicated) else "none"


FREE = Cost()
UNKNOWN = Cost(None, None, None)


def total(rows: Iterable[int | None]) -> int | None:
    known = list(rows)
    return None if None in known else sum(row for row in known if row is not None)


def cost_of(before: Scene, after: Scene) -> Cost:
    """Of the restart that `after` leads to, for somebody who stands at `before`."""
    if _is_another_query_from_here(before, after) and not before.is_async:
        return FREE
    restart = predict_restart(after)
    following = restart.batch_id or 0
    knowing = replace(before, sinks=after.sinks)  # what was committed counts, not what a repair says of it
    if restart.outcome == "fresh_start" and (before.reached > 0 or before.committed is not None):
        # Where a source begins is decided anew, so anything may be read again, or never.
        untouched = knowing.any_holds(0) is False and knowing.any_skips(0) is False
        return Cost(None, None, 0 if untouched else None)
    replays_as_logged = restart.outcome == "replay" and before.has_offsets(following)
    cost = _run_again(knowing, following) if replays_as_logged else FREE
    for batch_id in _ever_planned(before, following + 1 if replays_as_logged else following):
        cost += _planned_anew(knowing, rows_of(before, batch_id), batch_id)
    for batch_id in _never_run(before, following):
        cost += _left_out(knowing, batch_id)
    if before.is_async or before.evidence.mode == "async":
        cost += _unrecorded(knowing)
    return cost + Cost(0, 0, None) if _has_forgotten_files(before, after) else cost


def _is_another_query_from_here(before: Scene, after: Scene) -> bool:
    """Under an id of its own, its batches are none of these: it begins where this one stands, and no sink is ahead."""
    if after.root == before.root or after.is_replay or before.is_replay:
        return False
    if _ever_planned(before, before.reached + 1):
        return False
    metadata, here, there = after.checkpoint.metadata, before.entry(before.planned), after.entry(after.planned)
    if metadata is None or metadata == before.checkpoint.metadata or here is None:
        return False
    if there is None and after.planned is None:
        stands, begins = ([one.start for one in positions(scene)] for scene in (before, after))
        return len(stands) == len(here.sources) and stands == begins  # all are Kafka's, and have written that down
    return there is not None and here.sources == there.sources


def _unrecorded(knowing: Scene) -> Cost:
    """With asynchronous progress batches above the newest offsets may have run, and are run again under new numbers."""
    keeps_nothing = bool(knowing.sinks) and not knowing.witnesses
    return Cost(None, 0, 0 if keeps_nothing else None)


def _has_forgotten_files(before: Scene, after: Scene) -> bool:
    """Whether files that a sink may have look new, before and after; what a repair empties it counts itself."""
    left = {log.name: empty_entries(log) for log in after.checkpoint.source_logs}
    return any(set(empty_entries(log)) & set(left.get(log.name, ())) for log in before.checkpoint.source_logs)


def _ever_planned(scene: Scene, first: int) -> Iterable[int]:
    """The batches from `first` on that the logs or a sink ever heard of."""
    names = scene.checkpoint.offset_names, scene.checkpoint.commit_names
    heard = {number for one in names for number in one.ids if number >= first}
    for view in scene.witnesses:
        heard.update(write.batch_id for write in view.sink.writes if write.batch_id is not None)
        heard.update(number for number in (view.recorded,) if number is not None)
    return sorted(number for number in heard if number >= first)


def rows_of(scene: Scene, batch_id: int) -> int | None:
    """As the offsets tell, else as the sink counted."""
    batch = scene.batch(batch_id)
    if batch and batch.rows is not None:
        return batch.rows
    writes = (view.latest_write(batch_id) for view in scene.witnesses)
    return next((write.rows for write in writes if write and write.rows is not None), None)


def _run_again(knowing: Scene, batch_id: int) -> Cost:
    """With the offsets it has: a sink that skips it must have it."""
    rows = rows_of(knowing, batch_id)
    if not knowing.sinks:
        return Cost(rows, 0, None)
    cost = Cost(rows)
    for view in knowing.witnesses:
        skipped, held = view.skips(batch_id), view.holds(batch_id)
        if skipped:
            cost += Cost(0, 0 if held is not False else rows, 0)
        else:
            cost += Cost(0, 0, 0 if held is False else rows if held and skipped is False else None)
    return cost


def _planned_anew(knowing: Scene, rows: int | None, batch_id: int) -> Cost:
    """With offsets that nobody knows yet: a sink must neither skip it nor have its rows."""
    if not knowing.sinks:
        return UNKNOWN
    skipped, held = knowing.any_skips(batch_id), knowing.any_holds(batch_id)
    once_more = rows if held and len(knowing.witnesses) == 1 else None
    return Cost(rows, 0 if skipped is False else None, 0 if held is False else once_more)


def _left_out(knowing: Scene, batch_id: int) -> Cost:
    """A planned batch that Spark takes for done."""
    held = knowing.all_hold(batch_id)
    return Cost(0, 0 if held else rows_of(knowing, batch_id) if held is False else None, 0)


def _never_run(before: Scene, following: int) -> Iterable[int]:
    """Without any commit only the newest is in doubt: Spark itself takes those before it for done."""
    if before.is_async or before.is_realtime:
        return ()
    committed = before.reached - 1 if before.committed is None else before.committed
    return range(committed + 1, min(following, before.reached + 1))
