"""What stops a Delta source that keeps a log of the schemas it has come to (`schemaTrackingLocation`). Pure."""

from __future__ import annotations

from collections.abc import Iterator

import ckpttool.laws.inputs.delta_errors as errors
from ckpttool.formats.delta_log import DeltaCommit
from ckpttool.laws.inputs.base import DeltaLaw, DeltaRequest, SourceTable
from ckpttool.laws.inputs.delta_schema import Change, has_changed, renamed_or_dropped
from ckpttool.model import Finding
from ckpttool.scene.scene import Trouble

_ID = "delta-schema-tracked"
_DONE: dict[Change, str] = {"Rename": "a column was renamed", "Drop": "a column was dropped"}


def _begins_to_track(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """An empty log of schemas gets that of the range; where the table has another one by now, the query ends, and goes
    on with the log when it is started again."""
    if not table.tracks_schema or table.input.tracked or asked.end is None or asked.is_broken:
        return
    current, written = table.input.metadata, table.metadata_at(asked.ends_before or asked.end.version)
    if current is None or (written is not None and not has_changed(written, current)):
        return
    why = f"the log of schemas begins with that of version {asked.end.version}, and the table has another one by now"
    step = "start the query once more: it goes on with the log"
    yield table.raises(asked.phase, errors.SCHEMA_EVOLVED, _ID, why, step, sure=written is not None)


def _tracks(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    yield from _begins_to_track(table, asked)
    yield from _tracks_without_gaps(table, asked)


def _cannot_continue(table: SourceTable) -> Trouble | None:
    """Where a column was renamed or dropped, somebody has to say that the query may go on with it."""
    tracked = table.input.tracked or ()
    if not table.tracks_schema or len(tracked) < 2:
        return None
    before, now = tracked[-2:]
    changes = renamed_or_dropped(before.schema, now.schema)
    blocked = [change for change in changes if not _is_allowed(table, change, now.version)]
    if not blocked:
        return None
    option = f"allowSourceColumn{blocked[0]}"
    why = f"{_DONE[blocked[0]]} as of version {now.version} of the table, and {option} does not allow it"
    step = f"set the option {option}={now.version} if the rest of the query goes with that"
    return table.raises("init", errors.NOT_CONTINUED, _ID, why, step)


def _is_allowed(table: SourceTable, change: Change, version: int) -> bool:
    """By an option, or by a setting, which may name the checkpoint by a number."""
    key = "spark.databricks.delta.streaming.allowSourceColumn"
    keys = (f"{key}{change}", f"{key}RenameAndDrop")
    by_conf = [text for name, text in table.scene.start.conf.items() if name.startswith(keys)]
    given = (*by_conf, table.option(f"allowSourceColumn{change}") or "")
    return any(text.lower() in ("always", str(version)) for text in given)


def _tracks_without_gaps(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """Where commits may be passed over, a change of the schema may be among them."""
    leaves_snapshot = not (asked.start.is_initial_snapshot and asked.end and asked.end.version <= asked.start.version)
    if table.input.tracked and not table.fails_on_loss and leaves_snapshot:
        why = "a source that tracks schemas cannot pass over commits that are missing"
        yield table.raises(asked.phase, errors.TRACKED_WITH_GAPS, _ID, why, "leave failOnDataLoss out")


def _comes_to_change(table: SourceTable, asked: DeltaRequest, commit: DeltaCommit, expected: int) -> Trouble | None:
    """What is new is read up to a change, the log is written, and the query ends."""
    tracked, is_next = table.input.tracked, commit.version == expected
    if not tracked or asked.end or not commit.metadata or not is_next or commit.version <= tracked[-1].version:
        return None
    before = table.metadata_at(commit.version - 1)
    if before is not None and not has_changed(before, commit.metadata):
        return None
    why = f"version {commit.version} changes the table: when the stream has come to it, the query ends, to start anew"
    step = "start the query once more. A column that was renamed or dropped has to be allowed"
    return Trouble(asked.phase, None, Finding(_ID, "warning", table.input.path, why, next_step=step))


TRACKED = DeltaLaw(
    _ID,
    "the schema that a Delta source tracks is not the one that it goes on with",
    of_table=_cannot_continue,
    of_request=_tracks,
    of_version=_comes_to_change,
    errors=(
        "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
        "DELTA_STREAMING_METADATA_EVOLUTION",
        "Using schema from schema tracking log cannot tolerate missing commit files",
    ),
)
