"""Takes the steps of a way out, on the harness's own scratch images and nowhere else.

Everything is looked at before anything is changed: whether each path lies in the scratch directory, whether each
content is what it is said to be, whether a person is needed. What does not fit is refused, and nothing has happened.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckpttool.errors import Refused
from ckpttool.formats import layout
from ckpttool.harness.scratch import Scratch
from ckpttool.plan.steps import SET_ASIDE, Conf, DeltaRestore, DeltaTxn, Manual, SetAside, Spark, Step, Write, spell
from ckpttool.scene.compaction import LOG
from ckpttool.storage.urls import parse_url

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable


@dataclass
class TakenSteps:
    """`conf`: the settings that the restart needs. `in_words`: each step, for the history."""

    conf: dict[str, str] = field(default_factory=dict)
    in_words: list[str] = field(default_factory=list)


def take_steps(steps: Sequence[Step], checkpoint: Path, scratch: Scratch) -> TakenSteps:
    """Take them one after the other. Refused, before anything is changed, if one leads out of the scratch directory,
    does not fit the files, or needs a person."""
    _check(steps, checkpoint, scratch)
    taken = TakenSteps()
    for step in steps:
        match step:
            case SetAside():
                _set_aside(_place(checkpoint, step.path), _aside(checkpoint, step.path))
            case Write(replaces=True):
                _place(checkpoint, step.path).write_bytes(step.content.encode())
            case Write():
                _write(_place(checkpoint, step.path), step.content.encode())
            case DeltaRestore():
                _table(step.table).restore(step.version)
            case DeltaTxn():
                _record(_table(step.table), step.app_id, step.version)
            case Conf():
                taken.conf[step.k] = step.v
        taken.in_words.append(f"{spell(step)}: {step.why}")
    return taken


# -- before anything is changed ----------------------------------------------------------------------------------------


def _check(steps: Iterable[Step], checkpoint: Path, scratch: Scratch) -> None:
    scratch.inside(checkpoint)
    there: dict[Path, bool] = {}  # what the steps before make of it
    for step in steps:
        for path in _paths(step, checkpoint):
            scratch.inside(path)
        if needs_a_person(step):
            raise Refused(f"a person is needed: {spell(step)}")
        if isinstance(step, SetAside):
            _check_set_aside(step, checkpoint, there)
        elif isinstance(step, Write):
            _check_write(step, checkpoint, there)
        elif isinstance(step, DeltaRestore | DeltaTxn):
            _table(step.table)


def needs_a_person(step: Step) -> bool:
    """Of an image no query runs, so nobody has to stop one."""
    return isinstance(step, Spark) or (isinstance(step, Manual) and step.target != "query")


def _paths(step: Step, checkpoint: Path) -> Iterator[Path]:
    if isinstance(step, SetAside):
        yield _aside(checkpoint, step.path)
    if isinstance(step, SetAside | Write):
        yield _place(checkpoint, step.path)
    if isinstance(step, DeltaRestore | DeltaTxn):
        yield _local(step.table)


def _check_set_aside(step: SetAside, checkpoint: Path, there: dict[Path, bool]) -> None:
    path, aside = _place(checkpoint, step.path), _aside(checkpoint, step.path)
    if not _exists(path, there) and path.suffix != layout.CRC_SUFFIX:
        raise Refused(f"the plan does not fit: {step.path} is not there")
    if _exists(aside, there):
        raise Refused(f"the plan does not fit: {aside} is in the way")
    there[path] = False
    there.update(dict.fromkeys((aside, *aside.parents), True))


def _check_write(step: Write, checkpoint: Path, there: dict[Path, bool]) -> None:
    path = _place(checkpoint, step.path)
    if hashlib.sha256(step.content.encode()).hexdigest() != step.sha256:
        raise Refused(f"the content for {step.path} is not the one that was planned")
    if _exists(path, there) != bool(step.replaces):
        raise Refused(f"the plan does not fit: {step.path} is {'not there' if step.replaces else 'in the way'}")
    there[path] = True


def _exists(path: Path, there: Mapping[Path, bool]) -> bool:
    """With a directory goes what is in it."""
    for place in (path, *path.parents):
        if place in there:
            return there[place] and (place == path or path.exists())
    return path.exists()


# -- where things are --------------------------------------------------------------------------------------------------


def _place(checkpoint: Path, path: str) -> Path:
    """Of the checkpoint, or the sink's own if it is absolute."""
    return checkpoint / _local(path)


def _local(path: str) -> Path:
    protocol, options = parse_url(path)
    if protocol is not None:
        raise Refused(f"{path} is not on the local disk", "steps are taken on copies only")
    return Path(options["path"])


def _aside(checkpoint: Path, path: str) -> Path:
    """Beside the checkpoint or the sink, never inside, where Spark would look."""
    place = _place(checkpoint, path)
    root = checkpoint
    if not place.is_relative_to(checkpoint):
        parts = place.parts
        root = Path(*parts[: parts.index(LOG)]) if LOG in parts else place.parent
    return root.with_name(root.name + SET_ASIDE) / place.relative_to(root)


# -- the changes -------------------------------------------------------------------------------------------------------


def _set_aside(path: Path, aside: Path) -> None:
    """A checksum that nobody wrote is set aside already."""
    if path.exists():
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)


def _table(table: str) -> DeltaTable:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError
    except ImportError:
        raise Refused("a step for a Delta table needs the package deltalake", "pip install 'ckpttool[delta]'") from None
    try:
        return DeltaTable(str(_local(table)))
    except TableNotFoundError:
        raise Refused(f"the plan does not fit: {table} is not a Delta table") from None


def _record(table: DeltaTable, app_id: str, version: int) -> None:
    """A commit with nothing but the record. It gets a time: one without may be forgotten at once."""
    table.create_write_transaction(
        actions=[], mode="append", schema=table.schema(), commit_properties=_properties(app_id, version)
    )


def _properties(app_id: str, version: int) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    transaction: Any = Transaction(app_id, version, last_updated=int(time.time() * 1000))
    return CommitProperties(app_transactions=[transaction])
