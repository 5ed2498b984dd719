"""The laws of a Delta source, in the order in which it comes to them. Pure.

When the query starts, the source is asked for the last range: as the batch that runs again, or, if that is committed,
only to be sure. Then it looks for new versions, and stops at the first that it cannot pass on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

import ckpttool.laws.inputs.delta_errors as errors
from ckpttool.connectors.delta import NEXT_VERSION
from ckpttool.formats.delta_log import DeltaCommit, DeltaLogNames
from ckpttool.formats.names import parse_long
from ckpttool.laws.inputs.base import Beginning, DeltaLaw, SourceTable
from ckpttool.laws.inputs.delta_errors import Raised, has_delta_4_4
from ckpttool.laws.inputs.delta_schema import has_mapped_columns, reads_on
from ckpttool.laws.inputs.files import unread, unseen
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput, files_between, first_version
from ckpttool.scene.scene import Doubt, Phase, Scene, Trouble

_EXPIRED = "delta-log-expired"
_HOLE = "delta-log-hole"
_CHANGED = "delta-source-schema-or-updates"
_GO_ON = "start with a new checkpoint, or go on without those rows by failOnDataLoss=false"
_ANEW = "start with a new checkpoint, and see to it that what was read already is not read again"


def met(input: DeltaInput, scene: Scene) -> Iterator[Trouble]:
    """Nobody comes to what lies behind an obstacle; but of one range all is told."""
    table = SourceTable(input, scene)
    unusable = (law.of_table(table) for law in LAWS if law.of_table)
    if first := next(filter(None, unusable), None):
        yield first
        return
    begun = _beginning(table) if table.start != table.end else None
    before = [trouble for law in LAWS if law.of_range and begun for trouble in law.of_range(table, begun)]
    yield from before
    if not any(trouble.obstacle for trouble in before):
        yield from _new_versions(table)


# -- the table itself --------------------------------------------------------------------------------------------------


def _no_table(table: SourceTable) -> Trouble | None:
    why = "there is no Delta table, and without its schema the query cannot be made"
    step = "restore the table, or start with a new checkpoint once there is one"
    if table.input.exists:
        return None
    return table.raises("start", errors.NO_TABLE, "delta-source-table-gone", why, step)


def _log_hole(table: SourceTable) -> Trouble | None:
    names = table.input.names
    broken = _broken_snapshot(names, max([*names.commits[-1:], *names.checkpoints]))
    step = "restore the missing files of _delta_log; nobody can read the table without them"
    return table.raises("start", broken[0], _HOLE, broken[1], step) if broken else None


def _broken_snapshot(names: DeltaLogNames, version: int) -> tuple[Raised, str] | None:
    """Why the table as of a version cannot be put together: from the checkpoint before it, and every commit since."""
    base = max((one for one in names.checkpoints if one <= version), default=-1)
    since = [one for one in names.commits if base < one <= version]
    expected = next((number for number, one in enumerate(since, base + 1) if one != number), base + 1 + len(since))
    if expected <= version:
        raised = errors.LOG_CUT_OFF if expected == base + 1 else errors.LOG_WITH_HOLE
        return raised, f"commit {expected} of the table is gone, and no checkpoint makes up for it"
    if version not in names.commits:
        return errors.COMMIT_GONE, f"commit {version} of the table is gone, and its checkpoint does not do without"
    return None


def _unknown(table: SourceTable) -> Trouble | None:
    why = table.input.waiting or (None if table.table_id else "the log does not tell which table this is")
    if why is None:
        return None
    return Trouble("batch", Doubt(why), Finding("source-unreadable", "warning", table.input.path, why))


def _another_table(table: SourceTable) -> Trouble | None:
    if table.table_id == table.end.table_id:
        return None
    why = f"the table has the id {table.table_id}; the checkpoint has read {table.end.table_id}"
    return table.raises(table.asked_when, errors.OTHER_TABLE, "delta-source-table-id-changed", why, _ANEW)


# -- the last range ----------------------------------------------------------------------------------------------------


def _beginning(table: SourceTable) -> Beginning | None:
    """None: at a time, or at the latest version of then."""
    given = parse_long(table.option("startingVersion") or "")
    if table.start is not None:
        version, is_snapshot, sure = table.start.version, table.start.is_initial_snapshot, True
    elif given is not None:
        version, is_snapshot, sure = given, False, True
    elif table.has_starting_option:
        return None
    else:
        version, is_snapshot, sure = first_version(table.input.range), True, table.end.is_initial_snapshot
    return Beginning(version, is_snapshot, _broken_snapshot(table.input.names, version) is not None, sure)


def _changed_schema(table: SourceTable, begun: Beginning) -> Iterator[Trouble]:
    """What was written at the beginning of the range is compared with the schema of now, whatever lies between."""
    changed = [commit.version for commit in table.input.commits if commit.metadata and commit.version > begun.version]
    before, current = table.input.metadata_before, table.input.metadata
    at_its_own = table.start is None and table.has_starting_option
    if begun.is_broken or not changed or current is None or table.tracks_schema or at_its_own:
        return
    readable = None if before is None else reads_on(before, current)
    if not readable:
        why = f"version {changed[0]} changed the table's schema, and what was written before cannot be read with it"
        yield _unlike_schema(table, table.asked_when, why, sure=readable is False)


def _unlike_schema(table: SourceTable, phase: Phase, why: str, *, sure: bool) -> Trouble:
    if has_mapped_columns(*(one for one in (table.input.metadata, table.input.metadata_before) if one)):
        raised, step = errors.schema_mapped(table.scene.release), "give the source a schemaTrackingLocation"
        return table.raises(phase, raised, _CHANGED, why, f"{step} below the checkpoint", sure=sure)
    raised = errors.schema_changed(started_at_version=table.has_starting_option)
    return table.raises(phase, raised, _CHANGED, why, _ANEW, sure=sure)


def _lost_snapshot(table: SourceTable, begun: Beginning) -> Iterator[Trouble]:
    """Spark's answer is known where the commit alone is gone, and where everything up to the version is."""
    if not begun.is_lost_snapshot:
        return
    release, left = table.scene.release, table.input.names.up_to(begun.version)
    raised = errors.snapshot_gone(release)
    sure = begun.sure and has_delta_4_4(release) is not None and not left.commits and not left.checkpoints
    if begun.version in left.checkpoints:
        sure, raised = begun.sure, errors.COMMIT_GONE
    why = f"the stream is inside the snapshot of version {begun.version}, which cannot be put together any more"
    yield table.raises(table.asked_when, raised, "delta-initial-snapshot-gone", why, _ANEW, sure=sure)


def _lost_commits(table: SourceTable, begun: Beginning) -> Iterator[Trouble]:
    if begun.is_broken and table.input.metadata and has_mapped_columns(table.input.metadata):
        why = f"the table has mapped columns, and its state at version {begun.version} is not there to compare with"
        yield table.raises(table.asked_when, errors.expired(table.scene.release), _EXPIRED, why, _GO_ON, sure=False)
    gap = _gap_in_range(table, begun)
    if gap and table.fails_on_loss:
        yield _expired(table, table.asked_when, *gap, sure=begun.sure)
    elif gap and table.scene.is_replay:
        yield _passed_over(table, *gap)


def _gap_in_range(table: SourceTable, begun: Beginning) -> tuple[int, int] | None:
    """Comparing schemas, where the beginning is there to compare with, opens the first commit behind the range."""
    looks_ahead = not begun.is_broken and table.end.index != NEXT_VERSION
    last = table.end.version + looks_ahead
    return _gap(table.versions, begun.version, last) if _reads_commits(table, begun) else None


def _reads_commits(table: SourceTable, begun: Beginning) -> bool:
    return not begun.is_broken or not (begun.is_snapshot or table.end.is_initial_snapshot)


def _gap(versions: Sequence[int], first: int, last: int) -> tuple[int, int] | None:
    """The version that is expected and the one that is there instead; up to the first that reaches `last`."""
    expected = first
    for version in versions[bisect_left(versions, first) :]:
        if version > expected:
            return expected, version
        if version >= last:
            return None
        expected = version + 1
    return None


def _expired(table: SourceTable, phase: Phase, expected: int, found: int, *, sure: bool = True) -> Trouble:
    why = f"the stream needs version {expected} of the table, and the log goes on with {found}"
    return table.raises(phase, errors.expired(table.scene.release), _EXPIRED, why, _GO_ON, sure=sure)


def _passed_over(table: SourceTable, expected: int, found: int) -> Trouble:
    which = f"version {expected}" if expected + 1 == found else f"versions {expected} to {found - 1}"
    why = f"{which} of the table cannot be read any more: failOnDataLoss=false passes over the rows"
    return table.tells(_EXPIRED, why, _GO_ON)


def _lost_tail(table: SourceTable, begun: Beginning) -> Iterator[Trouble]:
    """The log ends before the range does: somebody has put back an older copy of it."""
    if not _reads_commits(table, begun) or _gap_in_range(table, begun):
        return
    end, begin_index = table.end, table.start.index if table.start else NEXT_VERSION
    takes_files = end.index >= 0 and (begun.version < end.version or begin_index < end.index)
    wanted = end.version if takes_files else end.version - 1
    if table.versions[-1] >= wanted:
        return
    why = f"the stream has seen version {wanted} of the table, whose log ends at {table.versions[-1]}"
    checked, step = has_delta_4_4(table.scene.release), f"bring the newer log back, or {_ANEW}"
    if checked is False:  # what will be written under these numbers is not read either
        yield table.tells("delta-trailing-commit-missed", why, step)
    else:
        sure = begun.sure and checked is True
        yield table.raises(table.asked_when, errors.TAIL_MISSED, "delta-trailing-commit-missed", why, step, sure=sure)


# -- new versions ------------------------------------------------------------------------------------------------------


def _new_versions(table: SourceTable) -> Iterator[Trouble]:
    """Up to the first version that stops the query: in the next batch, or later, if more files come before it."""
    end = table.end
    commits = {commit.version: commit for commit in table.input.commits}
    expected, seen = end.version + end.is_initial_snapshot, 0
    for version in table.versions[bisect_left(table.versions, expected) :]:
        if version not in commits:
            return  # not read
        later = table.scene.is_replay or seen > table.files_looked_through
        answers = (law.of_version(table, commits[version], expected) for law in LAWS if law.of_version)
        if stopped := next(filter(None, answers), None):
            yield replace(stopped, obstacle=None) if later else stopped
            return
        if not (commits[version].takes_data and table.is_on("skipChangeCommits")):
            seen += len(files_between([commits[version]], end, None))
        expected = version + 1
    yield from (trouble for law in LAWS if law.of_new for trouble in law.of_new(table))


def _gap_before(table: SourceTable, commit: DeltaCommit, expected: int) -> Trouble | None:
    if commit.version == expected:
        return None
    if table.fails_on_loss:
        return _expired(table, "batch", expected, commit.version)
    return _passed_over(table, expected, commit.version)


def _cannot_pass_on(table: SourceTable, commit: DeltaCommit, expected: int) -> Trouble | None:
    if commit.version != expected:
        return None  # that comes first
    current = table.input.metadata
    readable = None if current is None or commit.metadata is None else reads_on(commit.metadata, current)
    if commit.metadata and not readable and not table.tracks_schema:
        why = f"version {commit.version} gives the table a schema that cannot be read with that of now"
        return _unlike_schema(table, "batch", why, sure=readable is False)
    if not commit.takes_data or table.is_on("ignoreChanges", "ignoreFileDeletion", "skipChangeCommits"):
        return None
    if not commit.new_data and table.is_on("ignoreDeletes"):
        return None
    what = f"version {commit.version} ({commit.operation})" if commit.operation else f"version {commit.version}"
    why = f"{what} takes rows out of the table, and a stream cannot pass that on"
    raised, step = errors.ROWS_DELETED, "set ignoreDeletes=true if the stream may go on without passing that on"
    if commit.new_data:
        raised, step = errors.ROWS_CHANGED, "set skipChangeCommits=true if the stream may leave such commits out"
    return table.raises("batch", raised, _CHANGED, why, step)


# -- data files --------------------------------------------------------------------------------------------------------


def _lost_data_of_range(table: SourceTable, begun: Beginning) -> Iterator[Trouble]:
    if table.scene.is_replay and not begun.is_lost_snapshot:
        yield from _lost_data(table, files_between(table.input.commits, table.start, table.end))


def _lost_new_data(table: SourceTable) -> Iterator[Trouble]:
    for trouble in _lost_data(table, files_between(table.input.commits, table.end, None)):
        yield replace(trouble, obstacle=None) if table.scene.is_replay else trouble


def _lost_data(table: SourceTable, files: Sequence[str]) -> Iterator[Trouble]:
    gone = [number for number, file in enumerate(files) if file in table.input.data.gone]
    if not gone or table.option("excludeRegex"):
        return
    which = f"data file {files[gone[0]]}" + (f" and {len(gone) - 1} more" if len(gone) > 1 else "")
    step = "restore the files, or go on without their rows by spark.sql.files.ignoreMissingFiles=true"
    if table.scene.is_on("spark.sql.files.ignoreMissingFiles", default=False):
        why = f"{which} is gone, and spark.sql.files.ignoreMissingFiles reads on without its rows"
        yield table.tells("delta-source-data-gone", why, step)
        return
    why, raised = f"{which} is gone: vacuumed before the stream had read it", errors.data_gone(table.scene.release)
    trouble = table.raises("batch", raised, "delta-source-data-gone", why, step)
    in_next_batch = table.scene.is_replay or gone[0] < table.files_per_batch
    yield trouble if in_next_batch else replace(trouble, obstacle=None)


LAWS = (
    DeltaLaw("delta-source-table-gone", "there is no Delta table at the source's path", of_table=_no_table),
    DeltaLaw(_HOLE, "the Delta table that a source reads cannot be put together", of_table=_log_hole),
    DeltaLaw(
        "source-unreadable",
        "the table that a source reads could not be read",
        check=unread,
        look=unseen,
        severities=("warning",),
        of_table=_unknown,
    ),
    DeltaLaw("delta-source-table-id-changed", "the source's table is another one than before", of_table=_another_table),
    DeltaLaw(
        _CHANGED,
        "a version of the source's table that the stream cannot pass on",
        of_range=_changed_schema,
        of_version=_cannot_pass_on,
    ),
    DeltaLaw(
        _EXPIRED,
        "a Delta source needs commits that were cleaned up",
        of_range=_lost_commits,
        of_version=_gap_before,
    ),
    DeltaLaw(
        "delta-initial-snapshot-gone",
        "the snapshot that a Delta source is still reading is gone",
        of_range=_lost_snapshot,
    ),
    DeltaLaw("delta-trailing-commit-missed", "the source's table ends before the offsets do", of_range=_lost_tail),
    DeltaLaw(
        "delta-source-data-gone",
        "data files that a Delta source has yet to read are gone",
        of_range=_lost_data_of_range,
        of_new=_lost_new_data,
    ),
)
