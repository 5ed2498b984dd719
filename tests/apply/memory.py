"""A tree in memory, for laws that are tried thousands of times. It may die before any of its operations."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ckpttool.apply.stores.base import AlreadyThere, Bearing, Changed, Found, WritableStore
from ckpttool.errors import NotFound, Unavailable
from ckpttool.storage.store import FileStat, NothingStore, Store
from tests.apply.dying import Killed

OURS = Bearing(0o644, 0, 0)


class File(Struct, frozen=True):
    body: bytes
    version: int
    bearing: Bearing


class Memory(WritableStore):
    """`files` and `folders` by path. `left`: so many operations until it dies; None: it lives."""

    settle_s = 0.0

    def __init__(self, url: str, files: dict[str, bytes]) -> None:
        self.url = url
        self.requests = Counter[str]()
        self.files: dict[str, File] = {}
        self.folders: dict[str, Bearing] = {"": OURS}
        self.left: int | None = None
        self.operations = 0
        self._times = itertools.count(1_700_000_000_000_000_000, 1_000_000)
        for path, body in files.items():
            self._put(path, body, None)

    @property
    def bodies(self) -> dict[str, bytes]:
        """All but what is ours."""
        return {path: one.body for path, one in self.files.items() if not path.startswith("_ckpt/")}

    # -- looking

    def reading(self) -> Store:
        return MemoryReader(self)

    def look(self, path: str) -> Found | None:
        found = self.files.get(path)
        if found is None:
            return None
        return Found(len(found.body), hashlib.sha256(found.body).hexdigest(), str(found.version), found.bearing)

    def pieces(self, path: str) -> Iterator[bytes]:
        if path not in self.files:
            raise Unavailable(f"{path} is not there")
        yield self.files[path].body

    def names(self, path: str) -> dict[str, bool] | None:
        if path not in self.folders:
            return None
        prefix = f"{path}/" if path else ""
        found = {one[len(prefix) :]: True for one in self.folders if one and one.startswith(prefix)}
        found |= {one[len(prefix) :]: False for one in self.files if one.startswith(prefix)}
        return {name: is_folder for name, is_folder in found.items() if name and "/" not in name}

    def sizes_below(self, path: str) -> dict[str, int]:
        return {one: len(file.body) for one, file in self.files.items() if one.startswith(f"{path}/")}

    def bearing_of(self, path: str) -> Bearing | None:
        return self.files[path].bearing if path in self.files else self.folders.get(path)

    # -- changing

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:
        whole = b"".join(body)
        self._operate()
        if path in self.files:
            raise AlreadyThere(path)
        self._put(path, whole, bearing)

    def copy(self, path: str, target: str, found: Found) -> None:
        with suppress(AlreadyThere):
            self.create(target, self.pieces(path), found.bearing)
        copied = self.look(target)
        if copied is None or copied.sha256 != found.sha256:
            raise Changed(path)

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:
        whole = b"".join(body)
        self._operate()
        self._expect(path, version)
        self._put(path, whole, bearing)

    def delete(self, path: str, version: str) -> None:
        self._operate()
        self._expect(path, version)
        del self.files[path]

    def remove_below(self, path: str) -> int:
        sizes = self.sizes_below(path)
        for one in sizes:
            self.delete(one, str(self.files[one].version))
        for one in sorted((one for one in self.folders if one == path or one.startswith(f"{path}/")), reverse=True):
            self.remove_directory(one)
        return sum(sizes.values())

    def make_directory(self, path: str, bearing: Bearing) -> None:
        self._operate()
        self._make_folders(f"{path}/x")
        self.folders[path] = bearing

    def remove_directory(self, path: str) -> None:
        if path in self.folders and not self.names(path):
            self._operate()
            del self.folders[path]

    def set_time(self, path: str, modified_ns: int) -> bool:
        now = self.folders[path]
        self._operate()
        self.folders[path] = Bearing(now.mode, now.owner, now.group, modified_ns)
        return True

    def free_bytes(self) -> int | None:
        return None

    def is_still(self, path: str, version: str) -> bool:
        return path in self.files and str(self.files[path].version) == version

    def clock_s(self, path: str) -> float | None:  # noqa: ARG002
        return None

    def may_give(self, bearing: Bearing) -> bool:  # noqa: ARG002
        return True

    def sweep(self) -> None:
        """Nothing is ever half written."""

    # -- within

    def _operate(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.operations += 1

    def _expect(self, path: str, version: str) -> None:
        if path not in self.files or str(self.files[path].version) != version:
            raise Changed(path)

    def _put(self, path: str, body: bytes, bearing: Bearing | None) -> None:
        self._make_folders(path)
        now, asked = next(self._times), bearing or OURS
        kept = Bearing(asked.mode, asked.owner, asked.group, asked.modified_ns or now)
        self.files[path] = File(body, now, kept)

    def _make_folders(self, path: str) -> None:
        for folder in Path(path).parents:
            self.folders.setdefault("" if str(folder) == "." else str(folder), OURS)


class MemoryReader(Store):
    """The same for whoever only reads."""

    def __init__(self, memory: Memory) -> None:
        self.url, self._memory = memory.url, memory

    def list(self, path: str = "") -> list[str]:
        found = self._memory.names(path)
        if found is None:
            raise NotFound(f"{path} does not exist")
        return [*found]

    def stat(self, path: str) -> FileStat | None:
        if path in self._memory.folders:
            return FileStat(None, None, is_directory=True)
        found = self._memory.files.get(path)
        if found is None:
            return None
        return FileStat(len(found.body), (found.bearing.modified_ns or 0) // 1_000_000, is_directory=False)

    def read(self, path: str) -> bytes:
        if path not in self._memory.files:
            raise NotFound(f"{path} does not exist")
        return self._memory.files[path].body

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self.read(path)[start:end]

    def at(self, path: str) -> Store:
        return NothingStore(f"{self.url}/{path}")
