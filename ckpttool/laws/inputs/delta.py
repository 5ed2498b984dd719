"""The laws of a Delta source, in the order in which it comes to them. Pure.

When the query starts, the source is asked for the last range: as the batch that runs again, or, if that is committed,
only to be sure. Then it looks for new versions, and stops at the first that it cannot pass on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

import ckpttool.laws.inputs.delta_errors as errors
from ckpttool.connectors.delta import NEXT_VERSION, DeltaOffset
from ckpttool.formats.delta_log import DeltaCommit, DeltaFile
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import RESTORE, answering
from ckpttool.laws.inputs.base import DeltaLaw, DeltaRequest, SourceTable
from ckpttool.laws.inputs.delta_errors import Raised, has_delta_4_4
from ckpttool.laws.inputs.delta_schema import has_mapped_columns, reads_on
from ckpttool.laws.inputs.delta_tracking import TRACKED
from ckpttool.laws.inputs.files import unread, unseen
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput, first_version
from ckpttool.scene.scene import Doubt, Phase, Scene, Trouble

_EXPIRED = "delta-log-expired"
_HOLE = "delta-log-hole"
_CHANGED = "delta-source-schema-or-updates"
_FEED = "delta-change-feed-off"
_GO_ON = "start with a new checkpoint, or go on without those rows by failOnDataLoss=false"
_ANEW = "start with a new checkpoint, and see to it that what was read already is not read again"


def met(input: DeltaInput, scene: Scene) -> Iterator[Trouble]:
    """Nobody comes to what lies behind an obstacle. Of what comes after a batch that runs again it is told."""
    table = SourceTable(input, scene)
    unusable = (law.of_table(table) for law in answering(LAWS, scene.unasked) if law.of_table)
    if first := next(filter(None, unusable), None):
        yield first
        return
    for asked in _requests(table):
        later = scene.is_replay and asked.end is None
        for trouble in _asked(table, asked):
            yield replace(trouble, obstacle=None) if later else trouble
            if trouble.obstacle and not later:
                return


def count_rows(input: DeltaInput, scene: Scene) -> int | None:
    """How many rows the batch reads that runs again, if each of its files tells."""
    table = SourceTable(input, scene)
    if not scene.replays_as_logged or table.reads_changes or input.error or not input.exists:
        return None
    asked = next(_requests(table))
    if asked.end is None or (asked.start.is_initial_snapshot and input.snapshot is None):
        return None
    files = _files_of(table, asked)
    excluded = table.excluded(files)
    if excluded is None:
        return None
    rows = [file.rows for file in files if file not in excluded]
    return None if None in rows else sum(one for one in rows if one is not None)


def _requests(table: SourceTable) -> Iterator[DeltaRequest]:
    """The last range, unless it is empty; and then what is new."""
    begun = _beginning(table) if table.start != table.end else None
    if begun is not None:
        start, sure = begun
        yield DeltaRequest(table.asked_when, start, table.end, _is_broken(table, start.version), sure=sure)
    end = table.end
    yield DeltaRequest("batch", end, None, _is_broken(table, end.version), is_first=begun is None)


def _asked(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    laws = tuple(answering(LAWS, table.scene.unasked))
    for trouble in (one for law in laws if law.of_request for one in law.of_request(table, asked)):
        yield trouble
        if trouble.obstacle:
            return
    seen = _in_snapshot(table, asked)
    for commit, expected in _opened(table, asked):
        later = asked.end is None and seen > table.files_looked_through
        answers = (law.of_version(table, asked, commit, expected) for law in laws if law.of_version)
        stopped = next(filter(None, answers), None)
        if stopped:
            yield replace(stopped, obstacle=None) if later else stopped
            if stopped.obstacle or stopped.finding.id == TRACKED.id:
                return
        seen += len(table.files_of(asked, commit))
    yield from (trouble for law in laws if law.of_end for trouble in law.of_end(table, asked))


def _opened(table: SourceTable, asked: DeltaRequest) -> Iterator[tuple[DeltaCommit, int]]:
    """The commits that are opened, each with the version that was expected. The change feed is read one further; of a
    range that does not leave the initial snapshot, none is."""
    commits = {commit.version: commit for commit in table.input.commits}
    start, last = asked.start, asked.end.version if asked.end else None
    expected = start.version + start.is_initial_snapshot
    if start.is_initial_snapshot and last is not None and last <= start.version and not table.reads_changes:
        return
    for version in table.versions[bisect_left(table.versions, expected) :]:
        if version not in commits:
            return  # not read
        yield commits[version], expected
        if last is not None and version >= last + table.reads_changes:
            return
        expected = version + 1


def _in_snapshot(table: SourceTable, asked: DeltaRequest) -> int:
    """How many files of it are still to come."""
    return max(0, len(table.input.snapshot or ()) - asked.start.index - 1) if asked.start.is_initial_snapshot else 0


# -- the table itself --------------------------------------------------------------------------------------------------


def _no_table(table: SourceTable) -> Trouble | None:
    why = "there is no Delta table, and without its schema the query cannot be made"
    step = "restore the table, or start with a new checkpoint once there is one"
    if table.input.exists:
        return None
    return table.raises("start", errors.NO_TABLE, "delta-source-table-gone", why, step)


def _log_hole(table: SourceTable) -> Trouble | None:
    broken = _broken_snapshot(table, max([*table.versions[-1:], *table.input.names.checkpoints]))
    step = "restore the missing files of _delta_log. Nobody can read the table without them"
    return table.raises("start", broken[0], _HOLE, broken[1], step) if broken else None


def _broken_snapshot(table: SourceTable, version: int) -> tuple[Raised, str] | None:
    """Why the table as of a version cannot be put together: from the checkpoint before it, and every commit since."""
    names = table.input.names
    if version > max([*names.commits[-1:], *names.checkpoints]):
        return errors.NO_SUCH_VERSION, f"the table has no version {version}"
    base = max((one for one in names.checkpoints if one <= version), default=-1)
    since = [one for one in names.commits if base < one <= version]
    expected = next((number for number, one in enumerate(since, base + 1) if one != number), base + 1 + len(since))
    why = f"commit {expected} of the table is gone, and no checkpoint makes up for it"
    if not since and base < 0:
        return errors.snapshot_gone(table.scene.release), f"of the table up to version {version} nothing is left"
    if since and since[0] != base + 1:
        return errors.LOG_CUT_OFF, why
    if since and expected <= since[-1]:
        return errors.LOG_WITH_HOLE, why
    if since and since[-1] != version:
        return errors.LAST_COMMIT_GONE, why
    if since or (base == version and version in names.commits):
        return None
    if base < version and base in names.commits:
        return errors.NO_SUCH_VERSION, why
    return errors.COMMIT_GONE, f"commit {base} of the table is gone, and its checkpoint does not do without"


def _unknown(table: SourceTable) -> Trouble | None:
    why = table.input.waiting or (None if table.table_id else "the log does not tell which table this is")
    if why is None:
        return None
    return Trouble("batch", Doubt(why), Finding("source-unreadable", "warning", table.input.path, why))


def _another_table(table: SourceTable) -> Trouble | None:
    read = [one.table_id for one in (table.end, table.start) if one and one.table_id != table.table_id]
    if not read:
        return None
    why = f"the table has the id {table.table_id}. The checkpoint has read {read[0]}"
    step = "give the path of the table that was read. To go on in this one: ckpt plan offsets --set N=version:V@TABLE"
    return table.raises(table.asked_when, errors.OTHER_TABLE, "delta-source-table-id-changed", why, step)


# -- before commits are read ------------------------------------------------------------------------------------------


def _beginning(table: SourceTable) -> tuple[DeltaOffset, bool] | None:
    """Where the range begins, and whether that is sure. None: at a time, or at the latest version of then."""
    if table.start is not None:
        return table.start, True
    given = parse_long(table.option("startingVersion") or "")
    if given is None and table.has_starting_option:
        return None
    version = first_version(table.input.range) if given is None else given
    start = DeltaOffset("certain", 1, table.end.table_id, version, NEXT_VERSION, given is None)
    return start, table.end.is_initial_snapshot or given is not None


def _is_broken(table: SourceTable, version: int) -> bool:
    return _broken_snapshot(table, version) is not None


def _changed_schema(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """What was written at the beginning of the range is compared with the schema of now, whatever lies between."""
    if not asked.is_first or table.tracks_schema or asked.end is None:
        return
    broken = _broken_snapshot(table, asked.start.version)
    if broken:
        if table.input.metadata and has_mapped_columns(table.input.metadata):
            why = (
                f"the table has mapped columns, and its state at version {asked.start.version} is not there to compare"
            )
            raised = errors.nothing_to_compare(broken[0])
            yield table.raises(asked.phase, raised, _EXPIRED, why, _ANEW, sure=asked.sure)
        return
    changed = [one.version for one in table.input.commits if one.metadata and one.version > asked.start.version]
    current, before = table.input.metadata, table.metadata_at(asked.start.version)
    at_its_own = table.start is None and table.has_starting_option
    if not changed or current is None or at_its_own:
        return
    readable = None if before is None else reads_on(before, current)
    if not readable:
        why = f"version {changed[0]} changed the table's schema, and what was written before cannot be read with it"
        yield _unlike_schema(table, asked.phase, why, sure=readable is False)


def _gap_while_comparing(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """To find changes of the schema in the range, the first commit behind it is opened, too."""
    if not asked.is_first or table.tracks_schema or asked.end is None or asked.is_broken or not table.fails_on_loss:
        return
    last = asked.end.version if asked.ends_before is None else asked.end.version - 1
    if gap := _gap(table.versions, asked.start.version, last + 1):
        yield _expired(table, asked.phase, *gap, sure=asked.sure)


def _unlike_schema(table: SourceTable, phase: Phase, why: str, *, sure: bool) -> Trouble:
    if has_mapped_columns(*(one for one in (table.input.metadata, table.input.metadata_before) if one)):
        raised, step = errors.schema_mapped(table.scene.release), "give the source a schemaTrackingLocation"
        return table.raises(phase, raised, _CHANGED, why, f"{step} below the checkpoint", sure=sure)
    raised = errors.schema_changed(started_at_version=table.has_starting_option)
    return table.raises(phase, raised, _CHANGED, why, _ANEW, sure=sure)


def _lost_snapshot(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    version = asked.start.version
    broken = _broken_snapshot(table, version) if asked.start.is_initial_snapshot else None
    if broken:
        why = f"the stream is inside the snapshot of version {version}, which cannot be put together: {broken[1]}"
        known = has_delta_4_4(table.scene.release) is not None or broken[0][1] not in errors.OF_ITS_RELEASE
        sure = asked.sure and known
        yield table.raises(asked.phase, broken[0], "delta-initial-snapshot-gone", why, _ANEW, sure=sure)


def _feed_off(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """Whether the table keeps a change feed is asked of its state where the range begins. Of what is new, only when a
    batch is made of it."""
    version = asked.start.version
    if not table.reads_changes or (asked.end is None and max(table.versions, default=-1) < version):
        return
    if asked.end and asked.end.version < version:
        why = f"the range goes back from version {version} to {asked.end.version}, which the change feed refuses"
        yield table.raises(asked.phase, errors.FEED_BACKWARDS, _FEED, why, RESTORE)
    if broken := _broken_snapshot(table, version):
        yield table.raises(asked.phase, broken[0], _FEED, broken[1], _ANEW, sure=asked.sure)
        return
    metadata = table.metadata_at(version)
    if metadata and metadata.configuration.get("delta.enableChangeDataFeed", "false").lower() != "true":
        why = f"version {version} of the table keeps no change feed, and the stream reads it"
        step = "read the table without readChangeFeed, or start with a new checkpoint behind that version"
        yield table.raises(asked.phase, errors.NO_CHANGE_FEED, _FEED, why, step)


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


# -- commits -----------------------------------------------------------------------------------------------------------


def _gap_before(table: SourceTable, asked: DeltaRequest, commit: DeltaCommit, expected: int) -> Trouble | None:
    if commit.version == expected:
        return None
    if table.fails_on_loss:
        return _expired(table, asked.phase, expected, commit.version, sure=asked.sure)
    return _passed_over(table, expected, commit.version) if asked.phase == "batch" else None


def _cannot_pass_on(table: SourceTable, asked: DeltaRequest, commit: DeltaCommit, expected: int) -> Trouble | None:
    """Every commit is checked by the options of now, also one that the query has read before by others."""
    if commit.version != expected and table.fails_on_loss:
        return None  # that comes first
    if commit.version == asked.ends_before and not table.reads_changes:
        return None
    current = table.input.metadata
    readable = None if current is None or commit.metadata is None else reads_on(commit.metadata, current)
    if commit.metadata and not readable and not table.tracks_schema:
        why = f"version {commit.version} gives the table a schema that cannot be read with that of now"
        return _unlike_schema(table, asked.phase, why, sure=readable is False)
    allows = table.reads_changes or table.is_on("ignoreChanges", "ignoreFileDeletion", "skipChangeCommits")
    if not commit.takes_data or allows or (not commit.new_data and table.is_on("ignoreDeletes")):
        return None
    what = f"version {commit.version} ({commit.operation})" if commit.operation else f"version {commit.version}"
    why = f"{what} takes rows out of the table, and a stream cannot pass that on"
    raised, step = errors.ROWS_DELETED, "set ignoreDeletes=true if the stream may go on without passing that on"
    if commit.new_data:
        raised, step = errors.ROWS_CHANGED, "set skipChangeCommits=true if the stream may leave such commits out"
    return table.raises(asked.phase, raised, _CHANGED, why, step)


def _lost_tail(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """The log ends before the range does: somebody has put back an older copy of it."""
    start, end = asked.start, asked.end
    if end is None or not table.versions:
        return
    takes_files = end.index >= 0 and (start.version < end.version or start.index < end.index)
    wanted = end.version if takes_files else end.version - 1
    read = [commit.version for commit, _ in _opened(table, asked) if commit.version <= end.version]
    seen = max([start.version - (not start.is_initial_snapshot), *read])
    if seen >= wanted:
        return
    why = f"the stream has seen version {wanted} of the table, whose log ends at {table.versions[-1]}"
    if table.versions[-1] > wanted:
        why = f"the stream has seen version {wanted} of the table, which is gone from its log"
    checked, step = has_delta_4_4(table.scene.release), f"bring the newer log back, or {_ANEW}"
    if checked is False:  # what will be written under these numbers is not read either
        yield table.tells("delta-trailing-commit-missed", why, step)
    else:
        sure = asked.sure and checked is True
        yield table.raises(asked.phase, errors.TAIL_MISSED, "delta-trailing-commit-missed", why, step, sure=sure)


# -- data files --------------------------------------------------------------------------------------------------------


def _lost_data_of(table: SourceTable, asked: DeltaRequest) -> Iterator[Trouble]:
    """A range that is only asked for when the query starts is not read."""
    if asked.phase == "batch":
        yield from _lost_data(table, asked, _files_of(table, asked))


def _files_of(table: SourceTable, asked: DeltaRequest) -> list[DeltaFile]:
    commits = [commit for commit, _ in _opened(table, asked)]
    return table.files_of(asked, *commits, snapshot=table.input.snapshot or ())


def _lost_data(table: SourceTable, asked: DeltaRequest, files: Sequence[DeltaFile]) -> Iterator[Trouble]:
    excluded = table.excluded(files)
    if excluded is None:
        return
    gone = [number for number, file in enumerate(files) if file.path in table.input.data.gone and file not in excluded]
    if not gone:
        return
    which = f"data file {files[gone[0]].path}" + (f" and {len(gone) - 1} more" if len(gone) > 1 else "")
    step = "restore the files, or go on without their rows by spark.sql.files.ignoreMissingFiles=true"
    if table.scene.is_on("spark.sql.files.ignoreMissingFiles", default=False):
        why = f"{which} is gone, and spark.sql.files.ignoreMissingFiles reads on without its rows"
        yield table.tells("delta-source-data-gone", why, step)
        return
    why, raised = f"{which} is gone: vacuumed before the stream had read it", errors.data_gone(table.scene.release)
    trouble = table.raises("batch", raised, "delta-source-data-gone", why, step)
    in_next_batch = asked.end is not None or gone[0] < table.files_per_batch
    yield trouble if in_next_batch else replace(trouble, obstacle=None)


LAWS = (
    DeltaLaw(
        "delta-source-table-gone",
        "there is no Delta table at the source's path",
        of_table=_no_table,
        errors=("DELTA_SCHEMA_NOT_SET",),
    ),
    DeltaLaw(
        _HOLE,
        "the Delta table that a source reads cannot be put together",
        of_table=_log_hole,
        errors=errors.PRINTED_OF_HOLES,
    ),
    DeltaLaw(
        "source-unreadable",
        "the table that a source reads could not be read",
        check=unread,
        look=unseen,
        severities=("warning",),
        of_table=_unknown,
    ),
    DeltaLaw(
        "delta-source-table-id-changed",
        "the source's table is another one than before",
        of_table=_another_table,
        errors=("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",),
        often=3,
    ),
    DeltaLaw(
        _CHANGED,
        "a version of the source's table that the stream cannot pass on",
        of_request=_changed_schema,
        of_version=_cannot_pass_on,
        errors=errors.PRINTED_OF_CHANGES,
        often=3,
    ),
    TRACKED,
    DeltaLaw(
        _EXPIRED,
        "a Delta source needs commits that were cleaned up",
        of_request=_gap_while_comparing,
        of_version=_gap_before,
        errors=("DELTA_MISSING_FILES_UNEXPECTED_VERSION",),
        often=3,
    ),
    DeltaLaw(
        "delta-initial-snapshot-gone",
        "the snapshot that a Delta source is still reading is gone",
        of_request=_lost_snapshot,
        errors=errors.PRINTED_OF_SNAPSHOTS,
    ),
    DeltaLaw(
        _FEED,
        "a Delta source reads a change feed that the table does not keep, or not for this range",
        of_request=_feed_off,
        errors=errors.PRINTED_OF_FEEDS,
    ),
    DeltaLaw(
        "delta-trailing-commit-missed",
        "the source's table ends before the offsets do",
        of_end=_lost_tail,
        errors=errors.PRINTED_OF_TAILS,
    ),
    DeltaLaw(
        "delta-source-data-gone",
        "data files that a Delta source has yet to read are gone",
        of_end=_lost_data_of,
        errors=errors.PRINTED_OF_DATA,
        often=3,
    ),
)
