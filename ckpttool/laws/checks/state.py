"""The directories below `state/`, as far as names and pinned configuration tell."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.formats.names import holes
from ckpttool.laws.base import Law
from ckpttool.laws.checks.logs import is_unread, spell_gaps
from ckpttool.model import Finding
from ckpttool.scene.evidence import partition_count
from ckpttool.scene.scene import Scene


def check_directories(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    numbers = [operator.id for operator in checkpoint.operators]
    named = any(commit.state_unique_ids for commit in checkpoint.commits.values())
    if (
        not numbers
        and not is_unread(checkpoint, "state")
        and (named or (scene.evidence.newest and scene.evidence.newest.watermark_ms))
    ):
        yield Finding(
            id="state-directory-missing",
            severity="error" if named else "warning",
            path=layout.STATE,
            message="the commits name the state of operators, and there is none"
            if named
            else "a watermark moves, which only a stateful query needs, and there is no state",
            expected=layout.operator(0),
            next_step="restore state/ from a backup",
        )
    if numbers and not (checkpoint.offset_names.ids or checkpoint.commit_names.ids):
        yield Finding(
            id="state-without-batches",
            severity="error",
            path=layout.STATE,
            message="there is state, and no batch in the logs",
            expected="offsets/ that belong to the state, or no state",
            next_step="restore the logs; Spark up to 4.0 starts at batch 0 over the old state",
        )
    missing = [range(numbers[0])] if numbers and numbers[0] > 0 else holes(numbers)
    if missing:
        yield Finding(
            id="operator-directory-missing",
            severity="error",
            path=layout.operator(missing[0].start),
            message=f"operator {spell_gaps(missing)} missing",
            expected="operators numbered from 0",
            next_step="restore the directory from a backup",
        )


def check_partitions(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    pinned = partition_count(scene.evidence, newest.id) if newest else None
    if newest is None or pinned is None or not pinned.isdecimal():
        return
    before = partition_count(scene.evidence, newest.id - 1)
    if before not in (None, pinned) and scene.checkpoint.last_commit_batch != newest.id:
        yield Finding(
            id="unfinished-repartition",
            severity="error",
            path=layout.offsets(newest.id),
            message=f"pins {pinned} partitions where offsets/{newest.id - 1} pins {before}, and was not committed",
            expected=f"{before} partitions, or a finished repartition",
            next_step="finish the repartition with the same number; if it is a hand edit, restore the file",
        )
        return
    for operator in scene.checkpoint.operators:
        count = operator.partition_directories
        # Keyless aggregations and global limits use partition 0 alone; a crash in batch 0 leaves some out.
        if count > int(pinned) or (1 < count < int(pinned) and newest.id > 0):
            yield Finding(
                id="partition-count-mismatch",
                severity="error",
                path=layout.operator(operator.id),
                message=f"{count} partitions on disk, and offsets/{newest.id} pins {pinned}",
                expected=f"{pinned} partitions",
                next_step="restore the missing directories, or spark.sql.shuffle.partitions in the newest offsets",
            )


LAWS = (
    Law(
        "state-directory-missing",
        "a stateful query without state",
        look=check_directories,
        severities=("error", "warning"),
    ),
    Law("state-without-batches", "state, but no batch in the logs", look=check_directories),
    Law("operator-directory-missing", "the numbering of `state/` has a hole", look=check_directories),
    Law("partition-count-mismatch", "state has other partitions than are pinned", look=check_partitions),
)
