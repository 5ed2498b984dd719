"""What the inputs do to a restart. Pure.

The Delta source refuses to go on where something is not as it was. The file source does not: it lists the files of its
log once more, passes over those that are gone, and the batch is committed without their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ckpttool.errors import Unavailable
from ckpttool.laws.base import Law
from ckpttool.laws.inputs.delta_rules import judge_table
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput, FileInput, InputEvidence, Lookup
from ckpttool.scene.scene import PHASES, Doubt, Failure, Scene, Trouble
from ckpttool.words import counted


def judge_inputs(inputs: Sequence[InputEvidence], scene: Scene) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    """The first thing that stops the restart at an input, and all that there is to be told."""
    troubles = [trouble for one in inputs for trouble in _judge(one, scene)]
    # Two sources are asked one after the other within each phase.
    troubles.sort(key=lambda trouble: PHASES.index(trouble.phase))
    obstacle = next((trouble.obstacle for trouble in troubles if trouble.obstacle), None)
    return obstacle, tuple(trouble.finding for trouble in troubles)


def _judge(one: InputEvidence, scene: Scene) -> Iterator[Trouble]:
    if isinstance(one, FileInput):
        yield from _judge_files(one, scene)
    elif one.error is not None:
        yield _unread(one)
    else:
        yield from judge_table(one, scene)
        yield from _not_looked_for(one.data, one.range.path, scene.next_id)


def _unread(table: DeltaInput) -> Trouble:
    assert table.error
    why = f"the source's table could not be read: {table.error.message}"
    finding_id = "source-unreachable" if isinstance(table.error, Unavailable) else "source-unreadable"
    told = Finding(finding_id, "warning", table.path, why, next_step=table.error.next_step)
    return Trouble("batch", Doubt(why), told)


def _judge_files(files: FileInput, scene: Scene) -> Iterator[Trouble]:
    path, batch = files.range.path, scene.planned
    gone = sorted(files.files.gone)
    if gone:
        which = gone[0] if len(gone) == 1 else f"{gone[0]} and {len(gone) - 1} more"
        of = counted(files.files.looked_at, "input file")
        why = f"batch {batch} runs again, and of its {of} {len(gone)} cannot be found: {which}"
        step = "bring the files back before the restart: Spark reads on without them, and commits the batch"
        yield Trouble("batch", None, Finding("source-file-deleted-before-replay", "error", path, why, next_step=step))
    yield from _not_looked_for(files.files, path, batch)
    if files.left_out:
        why = f"of the input of batch {batch}, the {counted(files.left_out, 'oldest file')} were not looked for"
        yield Trouble("batch", None, _not_looked_at(path, why))


def _not_looked_for(files: Lookup, path: str, batch: int | None) -> Iterator[Trouble]:
    for folder, error in files.unreachable:
        why = f"whether the input of batch {batch} in {folder} is still there is not known: {error.message}"
        asked = isinstance(error, Unavailable)
        told = Finding("source-unreachable", "warning", path, why) if asked else _not_looked_at(path, why)
        yield Trouble("batch", None, replace(told, next_step=error.next_step))
    for folder in files.elsewhere:
        why = f"the input of batch {batch} was not looked for: {folder} is not on this machine"
        yield Trouble("batch", None, _not_looked_at(path, why))


def _not_looked_at(path: str, why: str) -> Finding:
    return Finding("source-not-looked-at", "info", path, why)


LAWS = (
    Law(
        "delta-initial-snapshot-gone",
        "the snapshot that a Delta source is still reading is gone",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-log-expired",
        "a Delta source needs commits that were cleaned up",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-log-hole",
        "the Delta table that a source reads cannot be put together",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-source-data-gone",
        "data files that a Delta source has yet to read are gone",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-source-schema-or-updates",
        "a version of the source's table that the stream cannot pass on",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-source-table-gone",
        "there is no Delta table at the source's path",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-source-table-id-changed",
        "the source's table is another one than before",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law(
        "delta-trailing-commit-missed",
        "the source's table ends before the offsets do",
        severities=("error", "warning"),
        needs="inputs",
    ),
    Law("source-file-deleted-before-replay", "input files of the batch that runs again are gone", needs="inputs"),
    Law("source-not-looked-at", "input that was not looked for", severities=("warning", "info"), needs="inputs"),
    Law("source-unreachable", "a source could not be reached", severities=("warning",), needs="inputs"),
    Law(
        "source-unreadable", "the table that a source reads could not be read", severities=("warning",), needs="inputs"
    ),
)
