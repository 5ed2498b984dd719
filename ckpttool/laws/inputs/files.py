"""What a file source does not find, and what of any input was not to be seen. Pure.

The file source lists the files of its log once more, passes over those that are gone, and the batch is committed
without their rows. The Delta source refuses to go on where something is not as it was: its laws are in `delta`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ckpttool.errors import Unavailable
from ckpttool.formats import layout
from ckpttool.laws.base import Law, reads
from ckpttool.model import Finding
from ckpttool.scene.iceberg import IcebergInput
from ckpttool.scene.inputs import DeltaInput, FileInput, PathInput, TableInput, tables_among
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Doubt, Scene
from ckpttool.words import counted


def _deleted(scene: Scene) -> Iterator[Finding]:
    for one in scene.inputs:
        if not isinstance(one, FileInput) or not one.files.gone:
            continue
        gone = sorted(one.files.gone)
        which = gone[0] if len(gone) == 1 else f"{gone[0]} and {len(gone) - 1} more"
        of = counted(one.files.looked_at, "input file")
        why = f"batch {scene.planned} runs again, and of its {of} {len(gone)} cannot be found: {which}"
        step = "bring the files back before the restart: Spark reads on without them, and commits the batch"
        yield Finding("source-file-deleted-before-replay", "error", one.range.path, why, next_step=step)


def unseen(scene: Scene) -> Iterator[Finding]:
    for one in scene.inputs:
        if isinstance(one, FileInput):
            yield from _not_looked_for(one.files, one.range.path, scene.planned)
            if one.left_out:
                left_out = counted(one.left_out, "oldest file")
                why = f"of the input of batch {scene.planned}, the {left_out} were not looked for"
                yield Finding("source-not-looked-at", "info", one.range.path, why)
        elif isinstance(one, PathInput):
            yield from _not_looked_for(one.found, layout.SOURCES, scene.next_id)
        elif one.error:
            finding_id = "source-unreachable" if isinstance(one.error, Unavailable) else "source-unreadable"
            yield Finding(finding_id, "warning", one.path, _why(one), next_step=one.error.next_step)
        elif isinstance(one, DeltaInput):
            yield from _not_looked_for(one.data, one.range.path, scene.next_id)
        elif isinstance(one, IcebergInput):
            yield from _not_looked_for(one.data, layout.source(one.stand.source), scene.next_id)


def _not_looked_for(files: Lookup, path: str, batch: int | None) -> Iterator[Finding]:
    for folder, error in files.unreachable:
        why = f"whether the input of batch {batch} in {folder} is still there is not known: {error.message}"
        if isinstance(error, Unavailable):
            yield Finding("source-unreachable", "warning", path, why, next_step=error.next_step)
        else:
            yield Finding("source-not-looked-at", "info", path, why, next_step=error.next_step)
    for folder in files.elsewhere:
        why = f"the input of batch {batch} was not looked for: {folder} is not on this machine"
        yield Finding("source-not-looked-at", "info", path, why)


def _why(table: TableInput) -> str:
    return f"the source's table {table.path} could not be read: {table.error.told if table.error else ''}"


def unread(scene: Scene) -> Doubt | None:
    return next((Doubt(_why(table)) for table in tables_among(scene.inputs) if table.error), None)


_law = partial(Law, needs="inputs")
LAWS = (
    _law(
        "source-file-deleted-before-replay",
        "input files of the batch that runs again are gone",
        look=_deleted,
        applies=reads("file"),
    ),
    _law("source-not-looked-at", "input that was not looked for", look=unseen, severities=("warning", "info")),
    _law("source-unreachable", "a source could not be reached", check=unread, look=unseen, severities=("warning",)),
)
