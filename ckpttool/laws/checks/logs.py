"""`metadata`, and the two logs held against each other and against what Spark makes of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.formats import layout
from ckpttool.formats.layout import COMPACT_SUFFIX
from ckpttool.formats.names import holes, parse_long
from ckpttool.laws.base import Law
from ckpttool.model import Checkpoint, Finding, LogNames
from ckpttool.scene.evidence import left_in_logs
from ckpttool.scene.scene import Scene


def check_metadata(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    if "metadata" in checkpoint.root_names or not (checkpoint.offset_names.ids or checkpoint.commit_names.ids):
        return
    yield Finding(
        id="metadata-missing",
        severity="error",
        path=layout.METADATA,
        message="the query's id is lost; Spark up to 4.1 silently takes a new one, and a sink that knows the query by "
        "its id then writes a replayed batch twice",
        expected='`{"id":"<uuid>"}`',
        next_step="write the file with the old id: from a backup, the sink's ledger, or the driver's log",
    )


def check_heads(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    planned, committed = checkpoint.last_offset_batch, checkpoint.last_commit_batch
    if committed is None or scene.evidence.mode == "continuous" or is_unread(checkpoint, "offsets"):
        return
    if planned is None:
        yield Finding(
            id="offset-log-lost",
            severity="error",
            path=layout.OFFSETS,
            message=f"no offsets are left, and commits/ reaches batch {committed}",
            expected=layout.offsets(committed),
            next_step="restore offsets/ from a backup: the two newest files are enough",
        )
    elif committed > planned:
        yield Finding(
            id="commit-ahead-of-offset",
            severity="error",
            path=layout.commits(committed),
            message=f"the newest offsets are those of batch {planned}: Spark runs that batch again, writes it to the "
            "sink, and only then fails, at every restart",
            expected=layout.offsets(committed),
            next_step=f"restore offsets/{planned + 1} and later, or set the commits above {planned} aside",
        )
    elif planned > committed + 1 and planned - 1 not in checkpoint.offset_names.ids:
        yield Finding(
            id="stray-batch-file",
            severity="error",
            path=layout.offsets(planned),
            message=f"Spark takes it for the newest batch, and the log before it ends near {committed}",
            expected=f"{committed} or {committed + 1} as the highest number",
            next_step="find out who wrote it; if it was not Spark, set it aside",
        )
    elif planned > committed + 1 and scene.evidence.mode == "microbatch":
        yield Finding(
            id="offset-ahead-by-two-or-more",
            severity="error",
            path=layout.offsets(planned),
            message=f"the newest commit is {committed}: Spark runs batch {planned} again and never "
            f"{committed + 1} to {planned - 1}; their rows are lost unless they had been written",
            expected=layout.commits(planned - 1),
            next_step="compare with what the sink has before restarting",
        )


def check_previous_offset(scene: Scene) -> Iterator[Finding]:
    names = scene.checkpoint.offset_names
    if scene.evidence.mode not in ("microbatch", "realtime") or not names.last or names.last - 1 in names.ids:
        return
    yield Finding(
        id="previous-offset-missing",
        severity="error",
        path=layout.offsets(names.last - 1),
        message=f"Spark needs the offsets of batch {names.last - 1} to start batch {names.last} or the one after",
        expected=layout.offsets(names.last - 1),
        next_step="restore the file, or set aside what lies above the hole",
    )


def check_holes(scene: Scene) -> Iterator[Finding]:
    """Holes that no restart looks into; the one just below the newest offsets has its own finding."""
    if scene.evidence.mode in ("async", "continuous"):
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
                next_step="nothing for a restart, which does not open these files; find out who deletes here",
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
                next_step="--listing full lists them all; Spark purges old batches unless it was told not to",
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
                next_step="set it aside; Spark before 3.4.4 and 3.5.1 takes it for a batch",
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
                message=f"left by a write that was cut short; Spark never reads it{_and_more(names.temporary)}",
            )
        for name in names.orphan_crcs:
            yield _orphan_crc(directory, name, names)


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


def _orphan_crc(directory: str, name: str, names: LogNames) -> Finding:
    """Only the checksum of a file yet to be written matters: renaming the new one onto it fails."""
    stem = name[1:-4]
    number = parse_long(stem.removesuffix(COMPACT_SUFFIX))
    matters = number is not None and (names.last is None or number > names.last)
    consequence = "; on a local disk the next write of that file fails" if matters else ""
    return Finding(
        id="orphan-crc",
        severity="warning" if matters else "info",
        path=f"{directory}/{name}",
        message=f"Hadoop's checksum of {directory}/{stem}, which is gone{consequence}",
        expected=f"{directory}/{stem}",
        next_step="set it aside; removing such a checksum is always safe",
    )


def check_commit_versions(scene: Scene) -> Iterator[Finding]:
    versions = sorted({commit.version for commit in scene.checkpoint.commits.values()})
    if len(versions) > 1:
        yield Finding(
            id="mixed-commit-versions",
            severity="info",
            path=layout.COMMITS,
            message=f"the log holds versions {', '.join(f'v{version}' for version in versions)}",
            expected="one version",
            next_step="a restart looks at the newest only; Spark's state reader refuses such a range",
        )


def spell_gaps(gaps: Sequence[range]) -> str:
    """`3 is`, `3 to 5 are`, `3, 7 are`: the subject and verb of a sentence about missing numbers."""
    shown = [str(gap.start) if len(gap) == 1 else f"{gap.start} to {gap.stop - 1}" for gap in gaps[:5]]
    more = f" and {len(gaps) - 5} more gaps" if len(gaps) > 5 else ""
    return f"{', '.join(shown)}{more} {'is' if sum(map(len, gaps)) == 1 else 'are'}"


def is_unread(checkpoint: Checkpoint, path: str) -> bool:
    """Whether nothing can be said about it, because there is a fault already."""
    return any(fault.path == path for fault in checkpoint.faults)


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _two_logs(checkpoint: Checkpoint) -> tuple[tuple[str, LogNames], ...]:
    return (("offsets", checkpoint.offset_names), ("commits", checkpoint.commit_names))


LAWS = (
    Law(
        "commit-ahead-of-offset",
        "a commit without its offsets: a batch is written again at every start",
        look=check_heads,
    ),
    Law("stray-batch-file", "a number far above the others is taken for the newest batch", look=check_heads),
    Law("offset-ahead-by-two-or-more", "planned batches that will never run", look=check_heads),
    Law("offset-log-hole", "old offset files are missing between others", look=check_holes, severities=("warning",)),
    Law("commit-log-hole", "commits are missing between others", look=check_holes, severities=("warning",)),
    Law(
        "ids-probed",
        "a log too long to list; its newest ids were found by probing",
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
    Law("orphan-crc", "a checksum without its file", look=check_leftovers, severities=("error", "warning", "info")),
    Law(
        "mixed-commit-versions", "commits of several format versions", look=check_commit_versions, severities=("info",)
    ),
)
