"""How the query goes on over time: how long batches take, how far back one can go, and what its trigger costs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from ckpttool.formats import layout
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.batches import Batch
from ckpttool.scene.scene import Scene
from ckpttool.storage.urls import is_local
from ckpttool.words import counted, spell_span

_SECOND_MS, _HOUR_MS, _DAY_MS = 1_000, 3_600_000, 86_400_000
_RETAINED = "spark.sql.streaming.minBatchesToRetain"
_KEPT = 100  # by default
_SKEW_MS, _APART_MS = 60 * _SECOND_MS, 10 * _SECOND_MS
_MANY_FILES = 100_000  # in a day
_OVERSIZED, _ENOUGH_ROWS = 20, 10_000


def _retained(scene: Scene) -> int:
    return parse_long(scene.conf(_RETAINED, "")) or _KEPT


def intervals_of(batches: Sequence[Batch]) -> list[int]:
    planned = [batch.planned_ms for batch in batches if batch.planned_ms is not None]
    return sorted(after - before for before, after in pairwise(planned) if after > before)


def _purge(scene: Scene) -> Iterator[Finding]:
    """Old batches are removed as new ones are planned, from both logs alike."""
    offsets, commits = scene.checkpoint.offset_names, scene.checkpoint.commit_names
    kept, first, last = _retained(scene), offsets.first, offsets.last
    if first is None or last is None or offsets.unlisted_below is not None or scene.mode != "microbatch":
        return
    alone = commits.first is not None and commits.unlisted_below is None and abs(commits.first - first) > kept
    if len(offsets.ids) <= 10 * kept and not alone:
        return
    what = (
        f"offsets/ begins with batch {first} and commits/ with {commits.first}"
        if alone
        else f"{counted(len(offsets.ids), 'file')} lie in offsets/, and {kept} are kept unless {_RETAINED} says more"
    )
    yield Finding(
        "purge-stalled",
        "warning",
        layout.OFFSETS,
        f"old batches are not removed: {what}",
        expected=f"about {kept} batches in both logs",
        next_step="look for refused deletions (`async log purge`) in the driver's log, and for who may delete here",
    )


def _reach(scene: Scene) -> Iterator[Finding]:
    """Only where batches were removed: a query that is younger has nothing to go back to."""
    planned = [batch for batch in scene.evidence.batches if batch.logged_ms is not None and batch.commit]
    first = scene.checkpoint.offset_names.first
    if not planned or not first or planned[0].id > first + 1:
        return
    reach = (planned[-1].logged_ms or 0) - (planned[0].logged_ms or 0)
    if 0 <= reach < _HOUR_MS:
        yield Finding(
            "rewind-horizon-short",
            "info",
            layout.OFFSETS,
            f"one can go back to batch {planned[0].id}, {spell_span(reach)} before the newest, and no further",
            next_step=f"{_RETAINED} keeps more",
        )


def _skew(scene: Scene) -> Iterator[Finding]:
    """Offsets are written as soon as they are planned. Copies are as young as the copying, and each by another span."""
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    if scene.mode != "microbatch" or len(timed) < 3:
        return
    apart = [one.late_ms or 0 for one in timed]
    span = (timed[-1].logged_ms or 0) - (timed[0].logged_ms or 0)
    if max(apart) - min(apart) > _APART_MS or abs(apart[-1]) < _SKEW_MS or span < _SKEW_MS:
        return
    which = "behind" if apart[-1] > 0 else "ahead of"
    yield Finding(
        "clock-skew",
        "warning",
        layout.offsets(timed[-1].id),
        f"the driver's clock is {spell_span(abs(apart[-1]))} {which} that of the file system in {len(timed)} batches",
        expected="one time",
        next_step="set the clocks by NTP: what goes by time (processing time, retention, who came first) goes wrong",
    )


def _uncommitted(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    if not scene.replays_as_logged or newest is None or newest.logged_ms is None or scene.now_ms is None:
        return
    took = [
        one.finished_ms - one.logged_ms
        for one in scene.evidence.batches
        if one.finished_ms is not None and one.logged_ms is not None and one.finished_ms > one.logged_ms
    ]
    age, usual = scene.now_ms - newest.logged_ms, median(took) if took else 0
    if not took or age < max(_HOUR_MS, 20 * usual):
        return
    yield Finding(
        "uncommitted-for-long",
        "warning",
        layout.offsets(newest.id),
        f"batch {newest.id} was planned {spell_span(age)} ago and is not committed. Half of those before took less than"
        f" {spell_span(int(usual) + _SECOND_MS)}",
        expected=layout.commits(newest.id),
        next_step="if the query runs, see what its tasks wait for. If not, ckpt plan-recovery says what a start does",
    )


def _stalled(scene: Scene) -> Iterator[Finding]:
    """Data that waits is what makes the silence a fault, and only brokers tell of it."""
    from ckpttool.kafka.diff import views_of

    newest, every = scene.evidence.newest, intervals_of(scene.evidence.batches)
    if scene.kafka is None or scene.now_ms is None or newest is None or newest.planned_ms is None or not every:
        return
    age, lag = scene.now_ms - newest.planned_ms, sum(view.total_lag for view in views_of(scene, scene.kafka))
    if lag and age > max(10 * median(every), _SKEW_MS):
        yield Finding(
            "query-stalled",
            "warning",
            layout.offsets(newest.id),
            f"the newest batch is {spell_span(age)} old, one came every {spell_span(int(median(every)))}, and"
            f" {counted(lag, 'row')} wait in Kafka",
            expected="a batch",
            next_step="start the query. If it runs, see what its batch waits for",
        )


def _oversized(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    before = [batch.rows for batch in scene.evidence.batches if newest and batch.id < newest.id and batch.rows]
    if not scene.replays_as_logged or newest is None or newest.rows is None or len(before) < 5:
        return
    usual = median(before)
    if newest.rows >= max(_OVERSIZED * usual, _ENOUGH_ROWS):
        yield Finding(
            "pending-batch-oversized",
            "warning",
            layout.offsets(newest.id),
            f"batch {newest.id} has {counted(newest.rows, 'row')}, and half of those before {int(usual):,} or less: it"
            " runs again as it was planned, whatever limits are set now",
            expected="a batch like those before",
            next_step="ckpt plan drop-batch, with maxOffsetsPerTrigger or maxFilesPerTrigger, has it planned in parts",
        )


def _cost(scene: Scene) -> Iterator[Finding]:
    every = intervals_of(scene.evidence.batches)
    if is_local(scene.root) or len(every) < 5:
        return
    logs = sum(log.kind == "file" for log in scene.checkpoint.source_logs)
    stores = sum(store.partitions or 0 for one in scene.checkpoint.operators for store in one.stores)
    files, batches = 2 + logs + stores, _DAY_MS // max(1, int(median(every)))
    if files * batches >= _MANY_FILES:
        yield Finding(
            "batch-cost",
            "info",
            ".",
            f"a batch every {spell_span(int(median(every)))} writes {counted(files, 'file')}:"
            f" {files * batches:,} in a day, each with a few requests",
            next_step="a longer trigger interval, or fewer partitions of state, makes them fewer",
        )


HEALTH = (
    Law(
        "purge-stalled",
        "old batches are not removed",
        look=_purge,
        severities=("warning",),
        errors=("Encountered error while performing async log purge",),
    ),
    Law(
        "rewind-horizon-short",
        "one can go back by less than an hour",
        look=_reach,
        severities=("info",),
        needs="batches",
    ),
    Law(
        "clock-skew",
        "the driver's clock is not that of the file system",
        look=_skew,
        severities=("warning",),
        needs="batches",
    ),
    Law(
        "uncommitted-for-long",
        "a batch was planned long ago and is not committed",
        look=_uncommitted,
        severities=("warning",),
        needs="clock",
    ),
    Law(
        "query-stalled",
        "data waits, and no batch comes",
        look=_stalled,
        severities=("warning",),
        needs="brokers",
        profile="full",
        applies=lambda scene: "kafka" in scene.kinds,
    ),
    Law(
        "pending-batch-oversized",
        "the batch that runs again is far larger than others",
        look=_oversized,
        severities=("warning",),
        needs="batches",
        errors=("OutOfMemoryError",),
        often=1,
    ),
    Law("batch-cost", "batches that write very many files in a day", look=_cost, severities=("info",), needs="batches"),
)
