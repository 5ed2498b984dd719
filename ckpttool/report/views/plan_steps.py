"""The steps of a saved plan as somebody reads them who is about to carry it out: what goes together is one line, with
how many files and bytes that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ckpttool.formats import layout
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.apply.plan_file import PlanFile, PlannedStep

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_MANY = {"state": "files of the state", "data": "data files of those batches"}
_SHOWN = 4  # names that are no row of numbers


def spell_steps(plan: PlanFile) -> Iterator[str]:
    sizes = {mark.path: mark.size or 0 for mark in plan.relies_on.files if not mark.absent}
    for number, (area, group) in enumerate(groupby(plan.steps, _area), 1):
        steps = list(group)
        yield f"{number} {_spell(area, steps)}{_amount(steps, sizes)}"


def _area(step: PlannedStep) -> str:
    """What is told in one line."""
    if step.kind in ("delta_restore", "delta_txn"):
        return f"table {step.table}"
    if step.kind == "copy":
        return "copy"
    if step.kind == "write" and step.path and _folder(step.path) not in ("", *layout.LOGS):
        return f"write {_folder(step.path)}"
    if step.kind != "set_aside" or step.path is None:
        return f"step {step.n}"
    if step.target == "sink":
        return "sink" if f"/{layout.FILE_SINK_LOG}/" in step.path else "data"
    return step.target if step.target in ("state", "sources") else "logs"


def _spell(area: str, steps: Sequence[PlannedStep]) -> str:
    first = steps[0]
    if area.startswith("table "):
        return _in_a_table(steps)
    if first.kind == "set_aside":
        return f"set aside {_what_goes(area, [step.path or '' for step in steps])}"
    if first.kind == "copy":
        return f"copy {counted(len(steps), 'file')}" if len(steps) > 1 else f"copy {first.path}"
    if first.kind == "move":
        return f"move {first.path} to {first.to}"
    if first.kind == "write":
        return f"write {_what_goes(area, [step.path or '' for step in steps])}"
    if first.kind == "conf":
        return f"start with {first.k}={first.v}"
    return f"by Spark: {first.program}" if first.kind == "spark" else f"by hand: {first.text}"


def _in_a_table(steps: Sequence[PlannedStep]) -> str:
    restored = next((step for step in steps if step.kind == "delta_restore"), None)
    lowered = next((step for step in steps if step.kind == "delta_txn"), None)
    told = [f"restore {restored.table} to version {restored.version}"] if restored else []
    if lowered:
        table = "" if restored else f" of {lowered.table}"
        told.append(f"lower its record{table} to batch {lowered.version}")
    return f"{' and '.join(told)} (one commit)"


def _what_goes(area: str, paths: Sequence[str]) -> str:
    if area in _MANY:
        return _MANY[area]
    told = []
    for folder, group in groupby(paths, _folder):
        names = [path.rpartition("/")[2] for path in group]
        plain = [name for name in names if not layout.is_hadoop_crc(name)] or names
        told.append((folder, plain))
    together: dict[str, list[str]] = {}
    for folder, names in told:
        together.setdefault(folder, []).extend(names)
    return ", ".join(f"{folder}/{_range(names)}" if folder else _range(names) for folder, names in together.items())


def _range(names: Sequence[str]) -> str:
    """Numbers in a row from the first to the last."""
    if len(names) > 2 and all(name.isdecimal() for name in names):
        numbers = [int(name) for name in names]
        if abs(numbers[0] - numbers[-1]) == len(numbers) - 1:
            return f"{names[0]} … {names[-1]}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _amount(steps: Sequence[PlannedStep], sizes: dict[str, int]) -> str:
    """Nothing where nothing is taken out."""
    paths = [step.path for step in steps if step.kind == "set_aside" and step.path]
    taken = [size for path, size in sizes.items() if any(path == one or path.startswith(f"{one}/") for one in paths)]
    return f"  [{counted(len(taken), 'file')}, {spell_size(sum(taken))}]" if taken else ""


def spell_size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
