"""What a way out consists of: steps that a person, or `ckpt`, takes one after the other. Values only.

Paths are those of the checkpoint, or the sink's as `of_sink` spells them. Each step knows the shell command that does
the same; what is set aside goes to a folder beside the checkpoint, never inside it, where Spark would look.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from msgspec import Struct

from ckpttool.formats import layout
from ckpttool.literals import hadoop_path, python_literal, shell_comment, shell_path, shell_word
from ckpttool.storage.urls import is_local

SET_ASIDE = ".set-aside"


class Step(Struct, frozen=True, kw_only=True):
    """Each kind has the fields that docs/cli.md gives it, under the same names."""

    why: str
    shell: str


class Check(Struct, frozen=True, omit_defaults=True):
    """What tells that somebody else took a step. `delta`: the last commit above version `was` restored `version`.
    `iceberg`: the current snapshot is `version`, and was `was`. `files`: below `path` no state is above `version`.
    `none`: only who took it knows."""

    kind: Literal["delta", "iceberg", "files", "none"]
    path: str | None = None
    version: int | None = None
    was: int | None = None


class SetAside(Step, frozen=True, kw_only=True):
    """Take a file or a directory out. What is not there (a checksum that nobody wrote) is already set aside."""

    kind: Literal["set_aside"] = "set_aside"
    path: str


class Move(Step, frozen=True, kw_only=True):
    """Put what a step before has set aside back under another name: so two may change places."""

    kind: Literal["move"] = "move"
    path: str
    to: str


class Copy(Step, frozen=True, kw_only=True):
    """Put a file, or a directory with all that is in it, into another place, where nothing is. `to`: the whole path."""

    kind: Literal["copy"] = "copy"
    path: str
    to: str


class Write(Step, frozen=True, kw_only=True):
    """Put a file where none is: one that is there is set aside by a step before. Its directory is made if need be.
    `replaces`: in the place of the one that is there, in one go, with no moment without any."""

    kind: Literal["write"] = "write"
    path: str
    content: str
    sha256: str
    replaces: Literal[True] | None = None


class DeltaRestore(Step, frozen=True, kw_only=True):
    kind: Literal["delta_restore"] = "delta_restore"
    table: str
    version: int


class DeltaTxn(Step, frozen=True, kw_only=True):
    """Write down that the table has this query's batches up to `version`, and no more."""

    kind: Literal["delta_txn"] = "delta_txn"
    table: str
    app_id: str
    version: int


class Conf(Step, frozen=True, kw_only=True):
    """A setting of the restart, of the session or of the query's writer."""

    kind: Literal["conf"] = "conf"
    k: str
    v: str


class Manual(Step, frozen=True, kw_only=True):
    kind: Literal["manual"] = "manual"
    text: str
    target: Literal["query", "sink", "state"]
    check: Check | None = None


class Spark(Step, frozen=True, kw_only=True):
    """What only Spark can do: `program` is a statement of SQL."""

    kind: Literal["spark"] = "spark"
    program: str
    check: Check


def is_reversible(step: Step) -> bool:
    """Whether `ckpt undo` takes it back, or sees to it that it is."""
    return not isinstance(step, Manual)


def spell(step: Step) -> str:
    """What it does, in a few words."""
    match step:
        case SetAside():
            return f"set aside {step.path}"
        case Move():
            return f"move {step.path} to {step.to}"
        case Copy():
            return f"copy {step.path} to {step.to}"
        case Write(replaces=True):
            return f"replace {step.path} by {step.content}"
        case Write():
            return f"write {step.path} ({len(step.content.encode()):,} bytes, SHA-256 {step.sha256[:12]}…)"
        case DeltaRestore():
            return f"restore {step.table} to version {step.version}"
        case DeltaTxn():
            return f"record batch {step.version} for {step.app_id} in {step.table}"
        case Conf():
            return f"start with {step.k}={step.v}"
        case Manual():
            return step.text
        case Spark():
            return f"have Spark run {step.program}"
    return step.shell


# -- the steps of one checkpoint ---------------------------------------------------------------------------------------


def of_sink(path: str) -> str:
    """A sink's path, so spelled that nobody looks for it below the checkpoint."""
    return path if is_outside(path) else f"./{path}"


def is_outside(path: str) -> bool:
    """Whether it is the sink's and not the checkpoint's."""
    return path.startswith(("/", "./", "../", "file:")) or "://" in path


def set_aside(root: str, path: str, why: str, *, within: str | None = None) -> tuple[SetAside, ...]:
    """A file, and its checksum before it: one that outlives its file lets the next batch reach the sink, and then stops
    Spark when it writes a file of that name. `within`: the sink's place, if it is not a file of its log."""
    told = "Hadoop's checksum of the file that goes next, if there is one"
    return (*set_aside_checksum(root, path, told, within=within), *set_aside_alone(root, path, why, within=within))


def set_aside_checksum(root: str, path: str, why: str, *, within: str | None = None) -> tuple[SetAside, ...]:
    """Of this file, which may be gone; only on a local disk Hadoop writes them."""
    if not is_local(path if is_outside(path) else root) or path.rpartition("/")[2].startswith("."):
        return ()
    return set_aside_alone(root, layout.hadoop_crc(path), why, within=within)


def set_aside_alone(root: str, path: str, why: str, *, within: str | None = None) -> tuple[SetAside, ...]:
    """A directory, or a file whose checksum has a step of its own."""
    return (SetAside(path=path, why=why, shell=_move(root, path, within)),)


def move(root: str, path: str, to: str, why: str) -> Move:
    """In the checkpoint, of what was set aside."""
    old, new = spelled(root, f"{plain(root)}{SET_ASIDE}/{path}"), spelled(root, f"{plain(root)}/{to}")
    return Move(path=path, to=to, why=why, shell=f"{'mv -T --' if is_local(root) else 'hadoop fs -mv'} {old} {new}")


def copy(root: str, path: str, target: str, why: str) -> Copy:
    to = f"{plain(target)}/{path}"
    old, new = spelled(root, f"{plain(root)}/{path}"), spelled(target, to)
    shell = f"cp -a -T -- {old} {new}" if is_local(root) and is_local(target) else f"hadoop fs -cp -p {old} {new}"
    return Copy(path=path, to=to, why=why, shell=shell)


def write(root: str, path: str, content: bytes, why: str, *, over: bool = False) -> Write:
    """`over`: in the place of what a step before has copied there."""
    text, target = content.decode(), spelled(root, f"{plain(root)}/{path}")
    store = f"| hadoop fs -put {'-f ' if over else ''}- {target}"
    words = rf"'\0%s' {shell_word(text[1:])}" if text.startswith("\0") else f"%s {shell_word(text)}"  # none has a NUL
    put = f"printf {words} {f'> {target}' if is_local(root) else store}"
    if folder := path.rpartition("/")[0]:  # a log may have gone with its directory
        make = "mkdir -p --" if is_local(root) else "hadoop fs -mkdir -p"
        put = f"({make} {spelled(root, f'{plain(root)}/{folder}')} && {put})"
    return Write(path=path, content=text, sha256=sha256(content).hexdigest(), why=why, shell=put)


def replace_file(root: str, path: str, content: bytes, why: str) -> tuple[Step, ...]:
    return (*set_aside(root, path, "kept as it was found"), write(root, path, content, why))


def session_conf(key: str, value: str, why: str) -> Conf:
    command = f"at the start: spark-submit --conf {shell_word(f'{key}={value}')}"
    return Conf(k=key, v=value, why=why, shell=shell_comment(command))


def option(key: str, value: str, why: str) -> Conf:
    command = f"at the start: .option({python_literal(key)}, {python_literal(value)})"
    return Conf(k=key, v=value, why=why, shell=shell_comment(command))


def spelled(root: str, path: str) -> str:
    """A path, plain, as the commands take it that are for the disk or the store of `root`."""
    return shell_path(path) if is_local(root) else hadoop_path(path)


def plain(url: str) -> str:
    """As a shell takes it: `file:/a`, `file:///a` and `/a` are one place."""
    path = f"/{url.removeprefix('file:').lstrip('/')}" if url.startswith("file:/") else url.removeprefix("file:")
    return path.rstrip("/") or "/"


def _move(root: str, path: str, within: str | None = None) -> str:
    """In brackets, for `set -e` passes over what fails before `&&`, but not over a shell of its own that ends so."""
    here = plain(root)
    source, target = f"{here}/{path}", f"{here}{SET_ASIDE}/{path}"
    if is_outside(path):
        source = plain(path)
        folder = source.partition(f"/{layout.FILE_SINK_LOG}/")[0] if within is None else plain(within)
        target = f"{folder}{SET_ASIDE}/{source.removeprefix(f'{folder}/')}"
    parent, old, new = (spelled(source, one) for one in (target.rpartition("/")[0], source, target))
    if not is_local(source):
        return f"(hadoop fs -mkdir -p {parent} && hadoop fs -mv {old} {new})"
    moved = f"(mkdir -p -- {parent} && mv -- {old} {new})"
    return f"[ ! -e {old} ] || {moved}" if path.endswith(layout.CRC_SUFFIX) else moved
