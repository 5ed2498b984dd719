"""A file sink's own log: what in it stops the next batch, or a later one, and whoever reads the sink. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.base import LARGE_LOG_BYTES, RESTORE, Law
from ckpttool.laws.sinks.base import SinkLaw
from ckpttool.laws.sinks.horizon import interval_set, spell_unreadable, what_stops
from ckpttool.model import Finding
from ckpttool.scene.compaction import LOG
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView
from ckpttool.words import counted

_IS_A_FUNCTION = "a batch function leaves no such log: if one writes here, give foreachBatch in place of its path"
_MADE_ANEW = "the next batch makes it anew, without the rows of those before"
_WAS_A_TABLE = "if a Delta table was here, restore its _delta_log"
RESTORE_ENTRIES = "bring the missing entries back, or write one compact entry that lists the existing data files"


def _broken(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    """Of the log; data files that are gone are told with the batches they are of."""
    if not view.sink.exists or not (view.sink.kind == "file" or view.sink.log_gone):
        return
    is_file_sink = view.sink.kind == "file"
    if not (seen.failure or seen.unreadable) or (not is_file_sink and view.logs.committed is None):
        return
    data = {write.rows_lost for write in view.sink.writes}
    if seen.failure is None and seen.unreadable and seen.unreadable.why in data:
        return
    told = [spell_unreadable(seen.unreadable)] if seen.unreadable else []
    told += [f"batch {seen.failure.batch_id} fails: {seen.failure.why}"] if seen.failure else []
    gone = f"there is no {LOG}, nor the log of a table"
    path = f"{view.sink.path}/{LOG}"
    if not is_file_sink:
        message = f"if a file sink writes here: {', and '.join([gone, *told])}"
        yield Finding("spark-metadata-missing-or-moved", "warning", path, message, next_step=_IS_A_FUNCTION)
        return
    message = ", and ".join([*([gone] if view.sink.log_gone else []), *told])
    if view.sink.was_table:
        message = f"{gone}. If a file sink writes here, {', and '.join(told)}. If a Delta table was here, {_MADE_ANEW}"
    step = f"{RESTORE_ENTRIES}. {_WAS_A_TABLE}. {_IS_A_FUNCTION}" if view.sink.log_gone else RESTORE_ENTRIES
    yield Finding("spark-metadata-missing-or-moved", "error", path, message, next_step=step)


def _large(scene: Scene) -> Iterator[Finding]:
    for view in scene.sink_views:
        size = view.sink.log_bytes or 0
        if size >= LARGE_LOG_BYTES:
            yield Finding(
                "sink-log-large",
                "warning",
                f"{view.sink.path}/{LOG}",
                f"the newest compact file has {size / 2**20:,.0f} MiB: the driver holds all of it in memory at every"
                " compaction, and so does whoever reads the output",
                expected="a log that forgets",
                next_step="the file sink's option `retention` has it forget files that are older",
            )


def _sink_log_write(scene: Scene) -> Failure | None:
    stopped = (what_stops(view, scene.release, interval_set(scene)) for view in scene.sink_views)
    return next((failure for failure in stopped if failure), None)


def _mixed(scene: Scene) -> Iterator[Finding]:
    first = next((batch.planned_ms for batch in scene.evidence.batches if batch.planned_ms is not None), None)
    for view in scene.sink_views:
        later = [name for name, ms in view.sink.unlisted.items() if first is not None and ms >= first]
        if later:
            yield Finding(
                "sink-mixed-writers",
                "warning",
                f"{view.sink.path}/{later[0]}",
                f"{counted(len(later), 'file')} in the output are in no entry of {LOG}, and an ordinary write has left"
                " its mark there: whoever reads the output by Spark sees nothing of them",
                expected="one query that writes there",
                next_step="write them elsewhere, or read the output with ignoreMetadata",
            )


HEALTH = (
    Law(
        "sink-mixed-writers",
        "others write into a file sink's output",
        look=_mixed,
        severities=("warning",),
        needs="sinks",
        profile="full",
    ),
    Law("sink-log-large", "the file sink's log is very large", look=_large, severities=("warning",), needs="sinks"),
)
LAWS = (
    Law(
        "sink-log-write",
        "A file sink writes the batch's entry to its log, and every n-th time one that replaces those before.",
        "FileStreamSink.addBatch, CompactibleFileStreamLog.add",
        _sink_log_write,
        symptom="the file sink's log takes no entry for the batch",
        needs="sinks",
        tells=("spark-metadata-missing-or-moved",),
        next_step=f"set aside what stands in its place, or {RESTORE}",
        errors=(
            "Rename destination…/_spark_metadata/…already exists",
            "Race while writing batch",
            "BATCH_METADATA_NOT_FOUND",
            "/_spark_metadata/…doesn't exist",
            "More than Int.MaxValue elements",
        ),
    ),
    SinkLaw(
        "spark-metadata-missing-or-moved",
        "entries of the file sink's log are missing",
        severities=("error", "warning"),
        of_others=_broken,
        errors=(
            "BATCH_METADATA_NOT_FOUND",
            "BATCH_METADATA_NOT_FOUND] Unable to find batch…/_spark_metadata/",
            "Unable to find batch…/_spark_metadata/",
            "/_spark_metadata/…doesn't exist",
        ),
        often=3,
    ),
)
