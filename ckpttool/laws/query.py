"""The query as a whole: sink, watermark, kind of execution, path, and whether it seems to run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.scene import Failure, Scene
from ckpttool.words import listed, spell_span


def _memory_sink(scene: Scene) -> Failure | None:
    """The memory sink keeps nothing that a restart could go on from; complete output needs nothing."""
    described = scene.query
    kinds: set[str] = {sink.kind for sink in scene.sinks} | (
        {described.sink.kind} if described and described.sink else set()
    )
    if "memory" not in kinds or "offsets" not in scene.checkpoint.root_names:
        return None
    if described and described.output_mode:
        if described.output_mode == "complete":
            return None
    elif scene.checkpoint.has_state_directory:
        return None  # a stateful query that was meant to be restarted has complete output
    return Failure(
        "start",
        "org.apache.spark.sql.AnalysisException",
        "_LEGACY_ERROR_TEMP_1299" if scene.release >= since.LEGACY_CONDITIONS else None,
        "This query does not support recovering from checkpoint location",
        "the memory sink refuses a checkpoint that has offsets",
        path=layout.OFFSETS,
    )


STARTED = (
    Law(
        "memory-sink",
        "The memory sink, unless its output mode is complete, refuses a location with `offsets/`.",
        "ResolveWriteToStream",
        _memory_sink,
        symptom="the memory sink, and a checkpoint that has offsets",
        next_step="give the query another sink, or another checkpointLocation",
        errors=("This query does not support recovering from checkpoint location",),
    ),
)
DAY_MS = 86_400_000
YEAR_MS = 365 * DAY_MS
ALIVE_AT_LEAST_MS = 60_000
_MODES = {
    "async": "batches between the logged ones are not recorded, so a restart repeats work (at least once). Without "
    "asynchronous progress tracking it fails unless the two newest batches are consecutive",
    "continuous": "batch ids are epochs, and a micro-batch query cannot start from here",
    "realtime": "offsets without a commit are deleted at a restart, and their rows are read again",
}


def check_watermark(scene: Scene) -> Iterator[Finding]:
    for before, batch in pairwise(batch for batch in scene.evidence.batches if batch.watermark_ms is not None):
        if (batch.watermark_ms or 0) < (before.watermark_ms or 0):
            yield Finding(
                id="watermark-regression",
                severity="warning",
                path=layout.offsets(batch.id),
                message=f"the watermark goes back from batch {before.id} to this one",
                expected="a watermark that never falls",
                next_step="an offline rewind or a hand edit: late rows are accepted again",
            )
    yield from _ahead_of_the_clock(scene)


def _ahead_of_the_clock(scene: Scene) -> Iterator[Finding]:
    """Times a few days ahead may be meant; what is years ahead is a row of the future, and a query that keeps state
    drops all others. One without state drops nothing."""
    newest = scene.evidence.newest
    if newest is None or newest.planned_ms is None:
        return
    after = newest.commit.next_watermark_ms if newest.commit else None
    watermark_ms = max(newest.watermark_ms or 0, after or 0)
    ahead_ms = watermark_ms - max(newest.planned_ms, scene.now_ms or 0)
    if watermark_ms <= newest.planned_ms + DAY_MS:
        return
    drops = scene.is_stateful and ahead_ms > YEAR_MS
    says = "Spark drops every row before it as late" if drops else "rows before it count as late"
    yield Finding(
        id="watermark-in-the-future",
        severity="error" if drops else "warning",
        path=layout.commits(newest.id) if (after or 0) > (newest.watermark_ms or 0) else layout.offsets(newest.id),
        message=f"the watermark is {spell_span(watermark_ms - newest.planned_ms)} ahead of its batch. {says}",
        expected="a watermark behind the clock",
        next_step="put it back with ckpt plan watermark PATH --set T, and filter such rows before withWatermark",
    )


def check_mode(scene: Scene) -> Iterator[Finding]:
    if meaning := _MODES.get(scene.evidence.mode):
        message = f"{scene.evidence.mode_reason}: {meaning}"
        yield Finding(id=f"mode-{scene.evidence.mode}", severity="info", path=layout.OFFSETS, message=message)


def check_escaped_path(scene: Scene) -> Iterator[Finding]:
    if "%25" in scene.checkpoint.url:
        yield Finding(
            id="legacy-escaped-checkpoint-path",
            severity="warning",
            path="",
            message="the path was escaped more than once, as Spark up to 2.4 did",
            expected="the path as the query spells it",
            next_step="move the checkpoint to the unescaped path before starting with Spark 3 or later",
        )


def check_place(scene: Scene) -> Iterator[Finding]:
    """Spark begins a query wherever it is told to; where something else lies, that is hardly meant."""
    names = [name for name in scene.checkpoint.root_names if not name.startswith(".")]
    if names and not set(names) & {"metadata", "offsets", "commits", "sources", "state"}:
        yield Finding(
            id="not-a-checkpoint",
            severity="warning",
            path=".",
            message=f"nothing here is a query's, but {listed(names)}: Spark would begin a new query among that",
            next_step="give the directory that the query has as checkpointLocation",
        )


def check_inside_table(scene: Scene) -> Iterator[Finding]:
    """VACUUM removes what the table does not know, except below names that begin with `_` or `.`."""
    own = _bare(scene.checkpoint.url)
    above = [one.path.split("/") for one in scene.checkpoint.ledgers if one.kind == "delta"]
    tables = {"/".join(own.split("/")[: -len(up)]): "VACUUM" for up in above if set(up) == {".."}}
    tables |= {_bare(sink.path): _CLEANERS[sink.kind] for sink in scene.sinks if sink.kind in _CLEANERS and sink.exists}
    for table, cleaner in tables.items():
        below = own.removeprefix(f"{table}/")
        if below != own and not any(part.startswith(("_", ".")) for part in below.split("/")):
            yield Finding(
                id="checkpoint-inside-table",
                severity="warning",
                path=".",
                message=f"it lies in the directory of the table {table}, where {cleaner} removes it",
                expected="another place, or a name that begins with `_` or `.`",
                next_step="stop the query, move the checkpoint out of the table's directory, and start it from there",
            )


def _bare(url: str) -> str:
    return url.removeprefix("file://").rstrip("/")


def check_alive(scene: Scene) -> Iterator[Finding]:
    """A query is taken for alive while its newest batch is younger than three of its batches, or than a minute."""
    planned = [batch.planned_ms for batch in scene.evidence.batches if batch.planned_ms is not None]
    if not planned or scene.now_ms is None:
        return
    intervals = sorted(later - earlier for earlier, later in pairwise(planned))
    limit_ms = max(ALIVE_AT_LEAST_MS, 3 * intervals[len(intervals) // 2] if intervals else 0)
    newest_ms = planned[-1]
    vanished = any(fault.id == "file-vanished" for fault in scene.checkpoint.faults)
    if vanished or 0 <= scene.now_ms - newest_ms < limit_ms:
        yield Finding(
            id="looks-alive",
            severity="warning",
            path=layout.OFFSETS,
            message="files vanished while they were read"
            if vanished
            else f"the newest batch is {(scene.now_ms - newest_ms) // 1000} s old",
            expected="a stopped query",
            next_step="what is shown may be outdated already. Stop the query to be sure",
        )


_CLEANERS = {"delta": "VACUUM", "iceberg": "remove_orphan_files"}
TOLD = (
    Law(
        "checkpoint-inside-table",
        "the checkpoint lies where VACUUM of a table removes it",
        look=check_inside_table,
        severities=("warning",),
    ),
    Law("watermark-regression", "the watermark went back", look=check_watermark, severities=("warning",)),
    Law(
        "watermark-in-the-future",
        "the watermark is ahead of the clock",
        look=check_watermark,
        severities=("error", "warning"),
    ),
    Law("mode-async", "written with asynchronous progress tracking", look=check_mode, severities=("info",)),
    Law("mode-continuous", "written by continuous processing", look=check_mode, severities=("info",)),
    Law("mode-realtime", "written in real-time mode", look=check_mode, severities=("info",)),
    Law(
        "legacy-escaped-checkpoint-path",
        "the path is escaped as Spark 2.4 did",
        look=check_escaped_path,
        severities=("warning",),
        errors=("we detected a possible problem with the location of your checkpoint",),
        often=1,
    ),
    Law(
        "not-a-checkpoint", "something else lies where the query would begin", look=check_place, severities=("warning",)
    ),
    Law("looks-alive", "the query seems to run", look=check_alive, severities=("warning",), needs="clock"),
)
# What only several checkpoints show.
OF_A_FLEET = (
    Law("query-id-shared", "another checkpoint has the same query id", severities=("warning",), needs="fleet"),
)
