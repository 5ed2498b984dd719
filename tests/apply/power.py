"""A disk that forgets, when the power goes, what nobody made it keep.

While `ckpt apply` works, every change that it asks the system for is noted, and every `fsync`: of a file, which keeps
what was written to it, of a directory, which keeps which names are in it. A rename is kept with the directory that it
leads to. From the notes come the images: what may lie there if the power goes after an operation, with any of those
missing that nobody made the disk keep, or, of a write, half of it there. A journalling file system forgets less.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ckpttool.apply import places

MOST = 8  # of what was not kept, the newest so many are missing in every combination
STAGINGS = (Path(places.STAGING).name, places.STAGING_OF_SINKS)


@dataclass
class Node:
    """A file or a directory. `names`: what is in a directory."""

    body: bytes = b""
    mode: int = 0o700
    modified_ns: int = 0
    names: dict[str, int] | None = None

    def copy(self) -> Node:
        return Node(self.body, self.mode, self.modified_ns, None if self.names is None else dict(self.names))


Make = Callable[["Disk", bool], None]


@dataclass(frozen=True)
class Change:
    """`of`: the file or directory that has to be flushed, so that it is kept. `born`: what there is from then on, with
    a name or without. `make`: does it to a disk, or half of it."""

    what: str
    of: int
    make: Make
    born: tuple[int, Node] | None = None


Disk = dict[int, Node]


@dataclass
class Notes:
    """`flushes`: each with how many changes there had been. `stagings`: directories whose names nobody looks for."""

    disk: Disk
    root: int
    changes: list[Change] = field(default_factory=list)
    flushes: list[tuple[int, int]] = field(default_factory=list)
    stagings: set[int] = field(default_factory=set)

    def kept_at(self) -> list[int]:
        """Of each change: how many there had been when it was flushed."""
        return [
            min((at for at, of in self.flushes if at > number and of == change.of), default=len(self.changes) + 1)
            for number, change in enumerate(self.changes)
        ]

    def image(self, count: int, without: Collection[int], torn: Collection[int]) -> Disk:
        disk = {key: node.copy() for key, node in self.disk.items()}
        for number, change in enumerate(self.changes[:count]):
            if change.born:
                disk.setdefault(change.born[0], change.born[1].copy())
            if number not in without:
                change.make(disk, number in torn)
        return disk


class Recording:
    """`os`, for `LocalDisk`, whose calls are done and noted."""

    def __init__(self, root: Path) -> None:
        self._ids: dict[int, int] = {}  # by the number that the system has for them, which comes again
        self._numbers = itertools.count()
        disk: Disk = {}
        self.notes = Notes(disk, self._note(root, disk))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    # -- what is there in the beginning

    def _note(self, path: Path, disk: Disk) -> int:
        found, key = path.lstat(), next(self._numbers)
        self._ids[found.st_ino] = key
        node = Node(mode=found.st_mode & 0o7777, modified_ns=found.st_mtime_ns)
        if path.is_dir():
            node.names = {name: self._note(path / name, disk) for name in sorted(os.listdir(path))}
        else:
            node.body = path.read_bytes()
        disk[key] = node
        return key

    def _id(self, descriptor: int) -> int:
        return self._ids[os.fstat(descriptor).st_ino]

    def _new(self, number: int) -> int:
        self._ids[number] = next(self._numbers)
        return self._ids[number]

    def _add(self, what: str, of: int, make: Make, born: tuple[int, Node] | None = None) -> None:
        self.notes.changes.append(Change(what, of, make, born))

    # -- the calls

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = os.open(path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            assert dir_fd is not None
            key, around = self._new(os.fstat(descriptor).st_ino), self._id(dir_fd)
            self._add("create", around, lambda disk, _: _enter(disk, around, path, key), (key, Node(mode=mode)))
        return descriptor

    def write(self, descriptor: int, piece: Any) -> int:
        count, key = os.write(descriptor, piece), self._id(descriptor)
        body = bytes(piece)[:count]

        def make(disk: Disk, torn: bool) -> None:
            disk[key].body += body[: len(body) // 2] if torn else body
            disk[key].modified_ns = 0

        self._add("write", key, make)
        return count

    def link(self, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool) -> None:
        os.link(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)
        key = self._ids[os.stat(target, dir_fd=dst_dir_fd).st_ino]
        around = self._id(dst_dir_fd)
        self._add("link", around, lambda disk, _: _enter(disk, around, target, key))

    def rename(self, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        os.rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        key, left = self._ids[os.stat(target, dir_fd=dst_dir_fd).st_ino], self._id(src_dir_fd)
        around = self._id(dst_dir_fd)

        def make(disk: Disk, _: bool) -> None:
            _enter(disk, around, target, key)
            _leave(disk, left, source)

        self._add("rename", around, make)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)
        around = self._id(dir_fd)
        self._add("unlink", around, lambda disk, _: _leave(disk, around, name))

    def mkdir(self, name: str, mode: int, *, dir_fd: int) -> None:
        os.mkdir(name, mode, dir_fd=dir_fd)
        key, around = self._new(os.stat(name, dir_fd=dir_fd).st_ino), self._id(dir_fd)
        if name in STAGINGS:
            self.notes.stagings.add(key)
        born = key, Node(mode=mode, names={})
        self._add("mkdir", around, lambda disk, _: _enter(disk, around, name, key), born)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        os.rmdir(name, dir_fd=dir_fd)
        around = self._id(dir_fd)
        self._add("rmdir", around, lambda disk, _: _leave(disk, around, name))

    def fchmod(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)
        self._set(descriptor, "mode", mode)

    def utime(self, descriptor: int, *, ns: tuple[int, int]) -> None:
        os.utime(descriptor, ns=ns)
        self._set(descriptor, "modified_ns", ns[1])

    def _set(self, descriptor: int, name: str, value: int) -> None:
        key = self._id(descriptor)
        self._add(name, key, lambda disk, _: setattr(disk[key], name, value))

    def fsync(self, descriptor: int) -> None:
        self.notes.flushes.append((len(self.notes.changes), self._id(descriptor)))


def _enter(disk: Disk, around: int, name: str, key: int) -> None:
    names = disk[around].names
    assert names is not None
    names[name] = key
    disk[around].modified_ns = 0


def _leave(disk: Disk, around: int, name: str) -> None:
    names = disk[around].names
    assert names is not None
    names.pop(name, None)
    disk[around].modified_ns = 0


# -- the images --------------------------------------------------------------------------------------------------------


def recorded(root: Path, command: Callable[[], object]) -> Notes:
    recording = Recording(root)
    with patch("ckpttool.apply.stores.local.os", recording), patch("ckpttool.apply.stores.durable.os", recording):
        command()
    return recording.notes


def images(notes: Notes, seed: int, most: int = 2**MOST) -> Iterator[tuple[str, Disk]]:
    """All that may lie there, each once, with words for what is missing. `most`: combinations at one moment."""
    chance, seen, kept_at = random.Random(seed), set[Any](), notes.kept_at()
    for count in range(1, len(notes.changes) + 1):
        lost = [number for number in range(count) if kept_at[number] >= count]
        newest = [number for number in lost if notes.changes[number].of not in notes.stagings][-MOST:]
        subsets = [one for size in range(len(newest) + 1) for one in itertools.combinations(newest, size)]
        for missing in subsets if len(subsets) <= most else chance.sample(subsets, most):
            torn = {one for one in missing if notes.changes[one].what == "write" and chance.random() < 0.5}
            disk = notes.image(count, set(missing) - torn, torn)
            looks = _looks(disk, notes.root)
            if looks not in seen:
                seen.add(looks)
                told = ", ".join(f"{number} {notes.changes[number].what}" for number in missing)
                yield f"after {count} without {told or 'nothing'}", disk


def _looks(disk: Disk, key: int) -> Any:
    node = disk[key]
    if node.names is None:
        return node.body, node.mode, node.modified_ns
    below = {name: child for name, child in node.names.items() if name not in STAGINGS}
    return node.mode, node.modified_ns, tuple((name, _looks(disk, child)) for name, child in sorted(below.items()))


def lay(disk: Disk, key: int, place: Path) -> None:
    """As files. What was written and not given a time has that of now."""
    if place.exists():
        shutil.rmtree(place)
    _lay(disk, key, place)


def _lay(disk: Disk, key: int, place: Path) -> None:
    node = disk[key]
    if node.names is None:
        place.write_bytes(node.body)
    else:
        place.mkdir()
        for name, child in node.names.items():
            _lay(disk, child, place / name)
    place.chmod(node.mode)
    if node.modified_ns:
        os.utime(place, ns=(node.modified_ns, node.modified_ns))
