"""What a user hands in to be crashed: a Python job with a small contract, or any command with a specification.

A job is looked at without running it: it imports Spark, and Spark is another process. A command is given the scratch
directory by `{scratch}` in its words and paths, and whatever it writes has to lie there.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert
from msgspec.structs import replace

from ckpttool.errors import NotFound, Refused
from ckpttool.model import Json

CONTRACT = {"build": ("spark", "source", "sink", "checkpoint"), "make_input": ("seed", "batch")}
SCRATCH = "{scratch}"
FIELDS = "command, checkpoint, sink {kind: delta or file, path}, identity, input, timeout_s"


class ReadableSink(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["delta", "file"]
    path: str


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Any command. `input`: a directory that is copied to the scratch directory first."""

    command: tuple[str, ...]
    checkpoint: str
    sink: ReadableSink
    identity: tuple[str, ...]
    input: str | None = None
    timeout_s: float = 300


# -- a Python job ------------------------------------------------------------------------------------------------------


def check_job(path: str, input_given: bool = False) -> None:
    """A file with a job: refused if it does not keep to the contract."""
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", "name a Python file: --job job.py") from None
    identity_of(source, path, input_given)


def identity_of(source: bytes, path: str, input_given: bool = False) -> tuple[str, ...]:
    """The columns that tell the rows of the job's sink apart. `input_given`: it need not make its input."""
    try:
        tree = ast.parse(source, path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise _broken(path, f"it is not Python{f': line {line}' if line else ''}") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for name, arguments in CONTRACT.items():
        if name in functions and not _takes(functions[name], len(arguments)):
            raise _broken(path, f"{name} does not take {', '.join(arguments)}")
    if "build" not in functions:
        raise _broken(path, "it has no function build")
    if "make_input" not in functions and not input_given:
        raise _broken(path, "it has no function make_input, and no --input was given")
    return _identity(tree, path)


def _takes(function: ast.FunctionDef | ast.AsyncFunctionDef, count: int) -> bool:
    """Whether it can be called with so many arguments by position."""
    given = function.args
    places = len(given.posonlyargs) + len(given.args)
    needs_names = any(default is None for default in given.kw_defaults)
    enough = places - len(given.defaults) <= count and (given.vararg is not None or places >= count)
    return isinstance(function, ast.FunctionDef) and enough and not needs_names


def _identity(tree: ast.Module, path: str) -> tuple[str, ...]:
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and "IDENTITY" in _targets(node)
    ]
    try:
        names = ast.literal_eval(values[-1]) if values and values[-1] is not None else None
    except (ValueError, TypeError):
        names = None
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) and name for name in names):
        raise _broken(path, "it has no IDENTITY, a list of the names of the columns that tell the sink's rows apart")
    return tuple(names)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _broken(path: str, what: str) -> Refused:
    signatures = [f"{name}({', '.join(arguments)})" for name, arguments in CONTRACT.items()]
    return Refused(f"{path} is not a job: {what}", f"a job has {', '.join(signatures)} and IDENTITY")


def check_input(rows: Json, batch: int) -> list[dict[str, Json]]:
    """What `make_input` gave for a batch. Its columns need not be those of IDENTITY, which are the sink's."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise Refused(f"make_input gives no list of dicts for batch {batch}")
    try:
        json.dumps(rows)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"make_input gives what is no JSON for batch {batch}: {error}") from None
    return rows


# -- any command -------------------------------------------------------------------------------------------------------


def load_spec(path: str, scratch: Path) -> Spec:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", "name a JSON file") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not a specification: it is not UTF-8") from None
    return parse_spec(text, path, scratch)


def parse_spec(text: str, path: str, scratch: Path) -> Spec:
    """With `{scratch}` replaced; refused if checkpoint or sink would lie anywhere else."""
    try:
        fields = json.loads(text)
        if isinstance(fields, dict) and isinstance(fields.get("command"), str):
            fields["command"] = shlex.split(fields["command"])
        spec = convert(fields, Spec)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is not a specification: {error}", f"it has {FIELDS}") from None
    if not spec.command or not spec.identity or spec.timeout_s <= 0:
        raise Refused(f"{path} is not a specification: it needs a command, an identity, and time to run")
    return _placed(spec, path, scratch)


def _placed(spec: Spec, path: str, scratch: Path) -> Spec:
    def put(text: str) -> str:
        return text.replace(SCRATCH, str(scratch))

    for what, place in (("checkpoint", spec.checkpoint), ("sink", spec.sink.path)):
        if not _is_below(put(place), scratch):
            raise Refused(f"{path}: the {what} is to lie at {place}", f"let it begin with {SCRATCH}/")
    return replace(
        spec,
        command=tuple(map(put, spec.command)),
        checkpoint=put(spec.checkpoint),
        sink=replace(spec.sink, path=put(spec.sink.path)),
    )


def _is_below(place: str, scratch: Path) -> bool:
    """By the text alone: nothing of it is there yet."""
    normal = os.path.normpath(place)
    return normal != str(scratch) and Path(normal).is_relative_to(scratch) and Path(normal).is_absolute()
