"""The two logs as directories: their names, and what Spark makes of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.formats import layout
from ckpttool.formats.layout import COMPACT_SUFFIX
from ckpttool.formats.names import holes, parse_long
from ckpttool.laws.base import LOCATION_NOT_EMPTY, NO_DIRECTORY, Law, no_directory
from ckpttool.model import Checkpoint, Finding, LogNames
from ckpttool.releases import since
from ckpttool.scene.evidence import left_in_logs
from ckpttool.scene.renames import found_for
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.words import spell_gaps


def _log_directories(scene: Scene) -> Failure | Doubt | None:
    for log in layout.LOGS:
        fault = scene.fault(log)
        if fault and fault.id != NO_DIRECTORY:
            return Doubt(f"{log}/ was not listed: {fault.message}")
    return None


LISTED = (
    Law(
        "log-directory-unread",
        "Both logs must be listed.",
        "HDFSMetadataLog.getLatest",
        _log_directories,
        symptom="offsets/ or commits/ cannot be listed",
    ),
)


def _not_empty_at_start(scene: Scene) -> Failure | None:
    """A first batch wants offsets, commits and state to be empty: also of what a crash left of `offsets/0`."""
    if scene.planned is not None or scene.is_continuous:
        return None
    if not scene.is_on("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", default=True):
        return None
    if scene.committed is not None:
        occupied = "commits"
    elif left := left_in_logs(scene.checkpoint):
        occupied = left[0].rpartition("/")[0]
    elif scene.checkpoint.operators:
        occupied = "state"
    else:
        return None
    return Failure(
        "init",
        LOCATION_NOT_EMPTY,
        "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        "should be empty on batch 0",
        f"there are no offsets, and {occupied}/ is not empty",
    )


def check_first_place(scene: Scene) -> Iterator[Finding]:
    """Only before the first batch anybody minds what else is in a log."""
    checkpoint = scene.checkpoint
    left = left_in_logs(checkpoint)
    if checkpoint.offset_names.ids or checkpoint.commit_names.ids or not left:
        return
    yield Finding(
        id="location-not-empty",
        severity="warning",
        path=left[0],
        message=f"no batch was planned yet, and this is there: Spark 4.1 and later do not start{_and_more(left)}",
        expected="offsets/ and commits/ without any file",
        next_step="set it aside",
    )


def _offsets_no_directory(scene: Scene) -> Failure | None:
    return no_directory(scene, layout.OFFSETS, "init")


FIRST_BATCH = (
    Law(
        "location-not-empty",
        "A query without offsets wants an empty place.",
        "MicroBatchExecution, verifyCheckpointDirectoryEmptyOnStart",
        _not_empty_at_start,
        since=since.EMPTY_LOCATION,
        symptom="something lies where the first batch wants an empty place",
        look=check_first_place,
        severities=("error", "warning"),
        tells=("state-without-batches", "offset-log-lost"),
        errors=("STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",),
        often=3,
    ),
    Law(
        "offsets-no-directory",
        "A file in the place of `offsets/` is taken for an empty log, until the first batch is to be written there.",
        "HDFSMetadataLog.getLatest, Hadoop's LocalFs",
        _offsets_no_directory,
        symptom="a file stands in the place of offsets/",
        tells=("not-a-directory",),
        errors=("ParentNotDirectoryException…/offsets",),
        often=1,
    ),
)


def check_holes(scene: Scene) -> Iterator[Finding]:
    """Holes that no restart looks into; the one just below the newest offsets has its own finding."""
    if scene.mode in ("async", "continuous"):
        return
    for directory, names in _two_logs(scene.checkpoint):
        gaps = [gap for gap in holes(names.ids) if directory == "commits" or gap.stop != names.last]
        if gaps:
            yield Finding(
                id=f"{directory[:-1]}-log-hole",
                severity="warning",
                path=directory,
                message=f"{spell_gaps(gaps)} missing between the first and the last batch",
                expected="consecutive numbers",
                next_step="nothing for a restart, which does not open these files. Find out who deletes here",
            )


def check_names(scene: Scene) -> Iterator[Finding]:
    for directory, names in _two_logs(scene.checkpoint):
        if names.unlisted_below is not None:
            yield Finding(
                id="ids-probed",
                severity="info",
                path=directory,
                message=f"too many files to list: known are the ids {names.unlisted_below} to {names.last}, and no "
                "hole is assumed before the last one",
                next_step="--listing full lists them all. Spark purges old batches unless it was told not to",
            )
        for name in names.non_canonical:
            yield from _non_canonical(directory, name, names)
        for name in names.directories:
            yield Finding(
                id="directory-in-log",
                severity="warning",
                path=f"{directory}/{name}",
                message="a directory stands where a batch file belongs",
                expected="a file",
                next_step="set it aside. Spark before 3.4.4 and 3.5.1 takes it for a batch",
            )
        foreign = [*names.foreign, *names.checksums]
        if foreign:
            yield Finding(
                id="foreign-file",
                severity="info",
                path=f"{directory}/{foreign[0]}",
                message=f"not a name that Spark writes here, and ignored by it{_and_more(foreign)}",
            )


def _non_canonical(directory: str, name: str, names: LogNames) -> Iterator[Finding]:
    number = parse_long(name)
    if number is None or number < 0:
        return
    fatal = names.last is None or number > names.last
    yield Finding(
        id="non-canonical-batch-name",
        severity="error" if fatal else "warning",
        path=f"{directory}/{name}",
        message=f"Spark counts this file as batch {number} and then opens {directory}/{number}",
        expected=f"{directory}/{number}",
        next_step="set the file aside, or give it the plain number",
    )


def check_leftovers(scene: Scene) -> Iterator[Finding]:
    source_logs = ((layout.source(log.name), log.names) for log in scene.checkpoint.source_logs)
    for directory, names in (*_two_logs(scene.checkpoint), *source_logs):
        if names.temporary:
            yield Finding(
                id="leftover-temporary-file",
                severity="info",
                path=f"{directory}/{names.temporary[0]}",
                message=f"left by a write that was cut short. Spark never reads it{_and_more(names.temporary)}",
            )
        for name in names.orphan_crcs:
            yield _orphan_crc(directory, name, names)


def _orphan_crc(directory: str, name: str, names: LogNames) -> Finding:
    """Only the checksum of a file yet to be written matters: renaming the new one onto it fails."""
    stem = name[1:-4]
    number = parse_long(stem.removesuffix(COMPACT_SUFFIX))
    matters = number is not None and (names.last is None or number > names.last)
    consequence = ". On a local disk the next write of that file fails" if matters else ""
    return Finding(
        id="orphan-crc",
        severity="warning" if matters else "info",
        path=f"{directory}/{name}",
        message=f"Hadoop's checksum of {directory}/{stem}, which is gone{consequence}",
        expected=f"{directory}/{stem}",
        next_step="set it aside. Removing such a checksum is always safe",
    )


def check_renames(scene: Scene) -> Iterator[Finding]:
    """What a restart opens and is not there; it is an error where that stops the restart, or is one by itself."""
    for path, temporary in found_for(scene).items():
        if path.startswith(f"{layout.COMMITS}/"):
            continue  # as a crash just before the rename leaves it: the batch runs again
        yield Finding(
            id="rename-lost",
            severity="warning",
            path=path,
            message=f"the file is missing, and {temporary[0]} was to become it: it was written, and never renamed"
            f"{_and_more(temporary)}",
            expected=path,
            next_step="ckpt plan rename-found gives it its name, if it is whole",
        )


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _two_logs(checkpoint: Checkpoint) -> tuple[tuple[str, LogNames], ...]:
    return (("offsets", checkpoint.offset_names), ("commits", checkpoint.commit_names))


NAMES = (
    Law("offset-log-hole", "old offset files are missing between others", look=check_holes, severities=("warning",)),
    Law("commit-log-hole", "commits are missing between others", look=check_holes, severities=("warning",)),
    Law(
        "ids-probed",
        "a log too long to list: its newest ids were found by probing",
        look=check_names,
        severities=("info",),
    ),
    Law("directory-in-log", "a directory has the name of a batch", look=check_names, severities=("warning",)),
    Law("foreign-file", "a file that Spark did not write", look=check_names, severities=("info",)),
    Law(
        "non-canonical-batch-name",
        "a name like `005` counts as a batch and cannot be opened",
        look=check_names,
        severities=("error", "warning"),
    ),
    Law("leftover-temporary-file", "the rest of an interrupted write", look=check_leftovers, severities=("info",)),
    Law(
        "rename-lost",
        "a file of the logs has another name than its own",
        look=check_renames,
        severities=("error", "warning"),
    ),
    Law("orphan-crc", "a checksum without its file", look=check_leftovers, severities=("error", "warning", "info")),
)
