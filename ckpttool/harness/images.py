"""Images: what lay on the disk at a point, copied while every process stood still.

A folder of images has one directory per image, with the copied directories below it, and `index.jsonl`, a line for
each, written and flushed to the disk before anything goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import asdict

from ckpttool.errors import NotFound
from ckpttool.harness.history import Window
from ckpttool.harness.scratch import private

INDEX = "index.jsonl"


class Image(Struct, frozen=True):
    """`point`: its name in the table; `name`: with the places that it stood in."""

    number: int
    point: str
    name: str
    step: int
    window: Window | None
    batch_id: int | None
    nth: int
    thread: str

    @property
    def id(self) -> str:
        return f"{self.number:04}-{self.name.replace('/', '.')}-{self.batch_id}-{self.nth}"


class Images:
    """The images of one run. `parts`: the directories below the run's root that are copied. `aside` is called before
    each copy: it may write down in them what is not in a file."""

    def __init__(self, folder: Path, parts: Sequence[str], aside: Callable[[], object] = lambda: None) -> None:
        self.folder = folder
        self._aside = aside
        self.parts = tuple(parts)
        folder.mkdir(parents=True, exist_ok=True)

    def record(self, image: Image) -> None:
        """The proof that a point was reached, on the disk before the crash."""
        with open(self.folder / INDEX, "a", encoding="utf-8", opener=private) as index:
            index.write(json.dumps(asdict(image)) + "\n")
            index.flush()
            os.fsync(index.fileno())

    def take(self, image: Image, root: Path) -> None:
        """Copy; nobody must be writing. A file keeps its times."""
        self._aside()
        shutil.rmtree(self.path(image), ignore_errors=True)
        copy_parts(root, self.path(image), self.parts)
        self.record(image)

    def put_back(self, image: Image, root: Path) -> None:
        """As it was, at the place where it was: logs and offsets hold absolute paths."""
        remove_parts(root, self.parts)
        copy_parts(self.path(image), root, self.parts)

    def path(self, image: Image) -> Path:
        return self.folder / image.id

    def __iter__(self) -> Iterator[Image]:
        index = self.folder / INDEX
        lines = index.read_bytes().splitlines() if index.exists() else []
        try:
            return iter([decode(line, type=Image) for line in lines])
        except DecodeError:
            raise NotFound(f"{index} is no list of images") from None


def copy_parts(source: Path, target: Path, parts: Sequence[str]) -> None:
    for part in parts:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, symlinks=True)
        else:
            target.mkdir(parents=True, exist_ok=True)


def remove_parts(root: Path, parts: Sequence[str]) -> None:
    for part in parts:
        if (root / part).exists():
            shutil.rmtree(root / part)


def contents(folder: Path) -> dict[str, str]:
    """Every file below it with a digest of its bytes, and every empty directory: what makes two disks equal."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir() and not any(path.iterdir()):
            found[f"{path.relative_to(folder)}/"] = ""
    return found
