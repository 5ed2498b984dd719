"""The laws of a Delta source, in the order in which it comes to them. Pure.

When the query starts, the source is asked for the last range: as the batch that runs again, or, if that is committed,
only to be sure. Then it looks for new versions, and stops at the first that it cannot pass on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

import ckpttool.laws.inputs.delta_errors as errors
from ckpttool.connectors.delta import NEXT_VERSION, DeltaOffset
from ckpttool.formats.delta_log import DeltaCommit, DeltaLogNames
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import Complaint, Law
from ckpttool.laws.inputs.delta_errors import has_delta_4_4
from ckpttool.laws.inputs.delta_schema import has_mapped_columns, reads_on
from ckpttool.laws.inputs.files import unread, unseen
from ckpttool.model import Finding, Severity
from ckpttool.releases import OLDEST_DELTA_RUN
from ckpttool.scene.inputs import DeltaInput, files_between, first_version
from ckpttool.scene.scene import Doubt, Failure, Part, Phase, Scene, Trouble

_FILES_PER_BATCH = 1000
_EVERYTHING = float("inf")


class SourceTable(Struct, frozen=True):
    """A table and the query that reads it."""

    input: DeltaInput
    scene: Scene

    @property
    def start(self) -> DeltaOffset | None:
        return self.input.range.start

    @property
    def end(self) -> DeltaOffset:
        return self.input.range.end

    @property
    def table_id(self) -> str | None:
        return self.input.metadata.table_id if self.input.metadata else None

    @property
    def versions(self) -> Sequence[int]:
        return self.input.names.commits

    @property
    def asked_when(self) -> Phase:
        """A range that runs again is read in its batch; an empty one has been asked for before."""
        scene = self.scene
        empty = self.start is None or self.start == self.end
        follows = scene.committed is not None and scene.committed + 1 == scene.planned
        return "init" if not scene.is_replay or (follows and empty) else "batch"

    def option(self, name: str) -> str | None:
        return self.scene.start.option(name)

    def is_on(self, *names: str, default: bool = False) -> bool:
        return any((self.option(name) or str(default)).strip().lower() == "true" for name in names)

    @property
    def tracks_schema(self) -> bool:
        """Changes are kept in a log of their own, and the query goes on from one to the next."""
        return bool(self.option("schemaTrackingLocation") or self.option("schemaLocation"))

    @property
    def has_starting_option(self) -> bool:
        return bool(self.option("startingVersion") or self.option("startingTimestamp"))

    @property
    def fails_on_loss(self) -> bool:
        return self.is_on("failOnDataLoss", default=True)

    @property
    def files_per_batch(self) -> float:
        given = parse_long(self.option("maxFilesPerTrigger") or "")
        if self.scene.start.trigger == "once":
            return _EVERYTHING
        return given if given is not None else 1 if self.option("maxBytesPerTrigger") else _FILES_PER_BATCH

    @property
    def files_looked_through(self) -> float:
        """How far one look for new versions goes; with this trigger the first goes to the end of the log."""
        return _EVERYTHING if self.scene.start.trigger == "available-now" else self.files_per_batch

    def trouble(self, phase: Phase, complaint: Complaint, why: str, *, sure: bool = True) -> Trouble:
        """A failure as Spark reports it, with the finding that tells of it; a doubt where it is not known to be so."""
        told = Finding(complaint.finding, "error", self.input.path, why, None, complaint.next_step)
        checked = self.scene.release >= OLDEST_DELTA_RUN and not self.is_on("readChangeFeed", "readChangeData")
        if not sure or not checked:
            return Trouble(phase, Doubt(why), replace(told, severity="warning"))
        batch_id = self.scene.next_id if phase == "batch" else None
        failure = Failure(phase, complaint.class_name, complaint.condition, complaint.message, why, batch_id)
        return Trouble(phase, failure, replace(told, spark=complaint.error))

    def silent_loss(self, complaint: Complaint, why: str) -> Trouble:
        """Spark goes on as if nothing were missing."""
        told = Finding(complaint.finding, "error", self.input.path, why, None, complaint.next_step)
        return Trouble(self.asked_when, None, told)


class DeltaLaw(Law, frozen=True):
    """`of_table`: what makes the table of no use; `of_range`: what the source trips over when it is asked for the last
    range; `of_version`: what in a new version stops the query, given the number that was expected; `of_new`: what it
    does not find behind the range."""

    needs: Part = "inputs"
    severities: tuple[Severity, ...] = ("error", "warning")
    of_table: Callable[[SourceTable], Trouble | None] | None = None
    of_range: Callable[[SourceTable], Iterator[Trouble]] | None = None
    of_version: Callable[[SourceTable, DeltaCommit, int], Trouble | None] | None = None
    of_new: Callable[[SourceTable], Iterator[Trouble]] | None = None


def met(input: DeltaInput, scene: Scene) -> Iterator[Trouble]:
    """Nobody comes to what lies behind an obstacle; but of one range all is told."""
    table = SourceTable(input, scene)
    unusable = (law.of_table(table) for law in LAWS if law.of_table)
    if first := next(filter(None, unusable), None):
        yield first
        return
    asked = [law.of_range for law in LAWS if law.of_range and table.start != table.end]
    before = [trouble for ask in asked for trouble in ask(table)]
    yield from before
    if not any(trouble.obstacle for trouble in before):
        yield from _new_versions(table)


# -- the table itself --------------------------------------------------------------------------------------------------


def _no_table(table: SourceTable) -> Trouble | None:
    why = "there is no Delta table, and without its schema the query cannot be made"
    return None if table.input.exists else table.trouble("start", errors.NO_TABLE, why)


def _log_hole(table: SourceTable) -> Trouble | None:
    names = table.input.names
    broken = _broken_snapshot(names, max([*names.commits[-1:], *names.checkpoints]))
    return table.trouble("start", *broken) if broken else None


def _broken_snapshot(names: DeltaLogNames, version: int) -> tuple[Complaint, str] | None:
    """Why the table as of a version cannot be put together: from the checkpoint before it, and every commit since."""
    base = max((one for one in names.checkpoints if one <= version), default=-1)
    since = [one for one in names.commits if base < one <= version]
    expected = next((number for number, one in enumerate(since, base + 1) if one != number), base + 1 + len(since))
    if expected <= version:
        complaint = errors.LOG_CUT_OFF if expected == base + 1 else errors.LOG_WITH_HOLE
        return complaint, f"commit {expected} of the table is gone, and no checkpoint makes up for it"
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
    return table.trouble(table.asked_when, errors.OTHER_TABLE, why)


# -- the last range ----------------------------------------------------------------------------------------------------


class _Beginning(Struct, frozen=True):
    """Where the last range begins. `is_snapshot`: it reads all rows of that version, not only its changes. `is_broken`:
    the table as of then cannot be put together.

    `sure`: False where it is assumed that the query was first started without a version to start at."""

    version: int
    is_snapshot: bool
    is_broken: bool
    sure: bool = True


def _beginning(table: SourceTable) -> _Beginning | None:
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
    return _Beginning(version, is_snapshot, _broken_snapshot(table.input.names, version) is not None, sure)


def _changed_schema(table: SourceTable) -> Iterator[Trouble]:
    """What was written at the beginning of the range is compared with the schema of now, whatever lies between."""
    begun = _beginning(table)
    if begun is None or begun.is_broken:
        return
    changed = [commit.version for commit in table.input.commits if commit.metadata and commit.version > begun.version]
    before, current = table.input.metadata_before, table.input.metadata
    if not changed or current is None or table.tracks_schema or (table.start is None and table.has_starting_option):
        return
    readable = None if before is None else reads_on(before, current)
    if not readable:
        why = f"version {changed[0]} changed the table's schema, and what was written before cannot be read with it"
        yield table.trouble(table.asked_when, _schema_complaint(table), why, sure=readable is False)


def _schema_complaint(table: SourceTable) -> Complaint:
    metadata = [one for one in (table.input.metadata, table.input.metadata_before) if one]
    mapped, started = has_mapped_columns(*metadata), table.has_starting_option
    return errors.schema_changed(table.scene.release, mapped=mapped, started_at_version=started)


def _lost_snapshot(table: SourceTable) -> Iterator[Trouble]:
    """Spark's answer is known where the commit alone is gone, and where everything up to the version is."""
    begun = _beginning(table)
    if begun is None or not begun.is_snapshot or not begun.is_broken:
        return
    release, left = table.scene.release, table.input.names.up_to(begun.version)
    complaint = errors.snapshot_gone(release)
    sure = begun.sure and has_delta_4_4(release) is not None and not left.commits and not left.checkpoints
    if begun.version in left.checkpoints:
        sure = begun.sure
        complaint = replace(complaint, class_name=ILLEGAL_STATE, condition=None, message=errors.COMMIT_GONE.message)
    why = f"the stream is inside the snapshot of version {begun.version}, which cannot be put together any more"
    yield table.trouble(table.asked_when, complaint, why, sure=sure)


def _lost_commits(table: SourceTable) -> Iterator[Trouble]:
    begun = _beginning(table)
    if begun is None:
        return
    if begun.is_broken and table.input.metadata and has_mapped_columns(table.input.metadata):
        why = f"the table has mapped columns, and its state at version {begun.version} is not there to compare with"
        yield table.trouble(table.asked_when, errors.expired(table.scene.release), why, sure=False)
    gap = _gap_in_range(table, begun)
    if gap and table.fails_on_loss:
        yield _expired(table, table.asked_when, *gap, sure=begun.sure)
    elif gap and table.scene.is_replay:
        yield _passed_over(table, *gap)


def _gap_in_range(table: SourceTable, begun: _Beginning) -> tuple[int, int] | None:
    """Comparing schemas, where the beginning is there to compare with, opens the first commit behind the range."""
    if not _reads_commits(table, begun):
        return None
    looks_ahead = not begun.is_broken and table.end.index != NEXT_VERSION
    return _gap(table.versions, begun.version, table.end.version + looks_ahead)


def _reads_commits(table: SourceTable, begun: _Beginning) -> bool:
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
    return table.trouble(phase, errors.expired(table.scene.release), why, sure=sure)


def _passed_over(table: SourceTable, expected: int, found: int) -> Trouble:
    which = f"version {expected}" if expected + 1 == found else f"versions {expected} to {found - 1}"
    why = f"{which} of the table cannot be read any more: failOnDataLoss=false passes over the rows"
    return table.silent_loss(errors.expired(table.scene.release), why)


def _lost_tail(table: SourceTable) -> Iterator[Trouble]:
    """The log ends before the range does: somebody has put back an older copy of it."""
    begun = _beginning(table)
    if begun is None or not _reads_commits(table, begun) or _gap_in_range(table, begun):
        return
    end, begin_index = table.end, table.start.index if table.start else NEXT_VERSION
    takes_files = end.index >= 0 and (begun.version < end.version or begin_index < end.index)
    wanted = end.version if takes_files else end.version - 1
    if table.versions[-1] >= wanted:
        return
    why = f"the stream has seen version {wanted} of the table, whose log ends at {table.versions[-1]}"
    checked = has_delta_4_4(table.scene.release)
    if checked is False:  # what will be written under these numbers is not read either
        yield table.silent_loss(errors.TAIL_MISSED, why)
    else:
        yield table.trouble(table.asked_when, errors.TAIL_MISSED, why, sure=begun.sure and checked is True)


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
        return table.trouble("batch", _schema_complaint(table), why, sure=readable is False)
    if not commit.takes_data or table.is_on("ignoreChanges", "ignoreFileDeletion", "skipChangeCommits"):
        return None
    if not commit.new_data and table.is_on("ignoreDeletes"):
        return None
    complaint = errors.ROWS_CHANGED if commit.new_data else errors.ROWS_DELETED
    what = f"version {commit.version} ({commit.operation})" if commit.operation else f"version {commit.version}"
    return table.trouble("batch", complaint, f"{what} takes rows out of the table, and a stream cannot pass that on")


# -- data files --------------------------------------------------------------------------------------------------------


def _lost_data_of_range(table: SourceTable) -> Iterator[Trouble]:
    begun = _beginning(table)
    if table.scene.is_replay and begun and not (begun.is_snapshot and begun.is_broken):
        yield from _lost_data(table, files_between(table.input.commits, table.start, table.end))


def _lost_new_data(table: SourceTable) -> Iterator[Trouble]:
    for trouble in _lost_data(table, files_between(table.input.commits, table.end, None)):
        yield replace(trouble, obstacle=None) if table.scene.is_replay else trouble


def _lost_data(table: SourceTable, files: Sequence[str]) -> Iterator[Trouble]:
    gone = [number for number, file in enumerate(files) if file in table.input.data.gone]
    if not gone or table.option("excludeRegex"):
        return
    which = f"data file {files[gone[0]]}" + (f" and {len(gone) - 1} more" if len(gone) > 1 else "")
    complaint = errors.data_gone(table.scene.release)
    if table.scene.is_on("spark.sql.files.ignoreMissingFiles", default=False):
        why = f"{which} is gone, and spark.sql.files.ignoreMissingFiles reads on without its rows"
        yield table.silent_loss(complaint, why)
        return
    trouble = table.trouble("batch", complaint, f"{which} is gone: vacuumed before the stream had read it")
    in_next_batch = table.scene.is_replay or gone[0] < table.files_per_batch
    yield trouble if in_next_batch else replace(trouble, obstacle=None)


LAWS = (
    DeltaLaw("delta-source-table-gone", "there is no Delta table at the source's path", of_table=_no_table),
    DeltaLaw("delta-log-hole", "the Delta table that a source reads cannot be put together", of_table=_log_hole),
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
        "delta-source-schema-or-updates",
        "a version of the source's table that the stream cannot pass on",
        of_range=_changed_schema,
        of_version=_cannot_pass_on,
    ),
    DeltaLaw(
        "delta-log-expired",
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
