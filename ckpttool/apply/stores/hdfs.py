"""HDFS over WebHDFS. A file is written beside, and gets its name by a rename, which the name node does in one go; one
that is replaced is never missing. By its number it is told whether a rename was done of which the answer was lost.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, TypeVar

from ckpttool.apply.stores.base import (
    AlreadyThere,
    Bearing,
    Changed,
    Found,
    Large,
    OwnerDiffers,
    Whole,
    WritableStore,
    patience_s,
)
from ckpttool.errors import Refused
from ckpttool.formats.limits import PIECE_BYTES
from ckpttool.storage.buckets import TRIES
from ckpttool.storage.hdfs import HdfsStore
from ckpttool.storage.remote_errors import remote_error
from ckpttool.storage.store import Store

_FIRST_PAUSE_S = 0.1
_BYTES = {"Content-Type": "application/octet-stream"}

T = TypeVar("T")
Status = dict[str, Any]


class HdfsTree(WritableStore):
    """`store`: what reads the same tree. `staging`: a directory below the root in which files are written before they
    get their names."""

    at_once = 16

    def __init__(self, store: HdfsStore, staging: str) -> None:
        self.url = store.url
        self.requests: Counter[str] = Counter()
        self._store, self._staging = store, staging
        self._fs = store.backend.fs
        self._digests: dict[tuple[str, str], str] = {}
        self._user: str | None = None
        self._large = Large()

    # -- looking -------------------------------------------------------------------------------------------------------

    def reading(self) -> Store:
        return self._store.at("")

    def look(self, path: str) -> Found | None:
        for _ in range(TRIES):
            status = self._status(path)
            if status is None:
                return None
            if status["type"] != "FILE":
                raise Refused(f"{path} is no regular file")
            version = _version(status)
            if (path, version) not in self._digests:
                digest = sha256()
                with self._large.looked_at(status["length"]):
                    for piece in self.pieces(path):
                        digest.update(piece)
                now = self._status(path)
                if now is None or _version(now) != version:
                    continue
                self._digests[path, version] = digest.hexdigest()
            return Found(status["length"], self._digests[path, version], version, _bearing(status))
        raise Changed(f"{path} changes while it is looked at")

    def pieces(self, path: str) -> Iterator[bytes]:
        start = 0
        while True:
            self.requests["read"] += 1
            piece = self._store.read_range(path, start, start + PIECE_BYTES)
            yield piece
            if len(piece) < PIECE_BYTES:
                return
            start += len(piece)

    def names(self, path: str) -> dict[str, bool] | None:
        listed = self._listed(path)
        return None if listed is None else {one["pathSuffix"]: one["type"] == "DIRECTORY" for one in listed}

    def sizes_below(self, path: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in self._listed(path) or ():
            below = f"{path}/{one['pathSuffix']}".lstrip("/")
            found |= self.sizes_below(below) if one["type"] == "DIRECTORY" else {below: one["length"]}
        return found

    def bearing_of(self, path: str) -> Bearing | None:
        status = self._status(path)
        return None if status is None else _bearing(status)

    def is_still(self, path: str, version: str) -> bool:
        status = self._status(path)
        return status is not None and _version(status) == version

    def clock_s(self, path: str) -> float | None:
        self.requests["read"] += 1
        told = self._ask(path, lambda: self._call("GET", path, "GETFILESTATUS")).headers.get("Date")
        return parsedate_to_datetime(told).timestamp() if told else None

    # -- changing ------------------------------------------------------------------------------------------------------

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:
        self.requests["write"] += 1
        self._make_around(path)
        with self._large.sent(body) as whole:
            staged, number = self._written(whole, bearing)
        if not self._renamed(staged, number, path):
            self._ask(staged, lambda: self._call("DELETE", staged, "DELETE"), "removed")
            raise AlreadyThere(f"{path} is there already")

    def copy(self, path: str, target: str, found: Found) -> str:
        with suppress(AlreadyThere):
            self.create(target, self.pieces(path), found.bearing)
        copied = self.look(target)
        if copied is None or copied.sha256 != found.sha256:
            raise Changed(f"the copy of {path} is not what was copied")
        return copied.version

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:
        self.requests["write"] += 1
        with self._large.sent(body) as whole:
            staged, number = self._written(whole, bearing)
        if not self.is_still(path, version) or not self._renamed(staged, number, path, renameoptions="OVERWRITE"):
            self._ask(staged, lambda: self._call("DELETE", staged, "DELETE"), "removed")
            raise Changed(f"{path} was changed meanwhile")

    def delete(self, path: str, version: str) -> None:
        self.requests["delete"] += 1
        if not self.is_still(path, version):
            raise Changed(f"{path} was changed meanwhile")
        self._settled(path, lambda: self._call("DELETE", path, "DELETE"), lambda: self._stat(path) is None, "removed")

    def remove_below(self, path: str) -> int:
        """A directory of ours goes as a whole."""
        size = sum(self.sizes_below(path).values())
        self.requests["delete"] += 1
        gone = lambda: self._stat(path) is None  # noqa: E731
        self._settled(path, lambda: self._call("DELETE", path, "DELETE", recursive="true"), gone, "removed")
        return size

    def make_root(self) -> None:
        self._ask("", lambda: self._call("PUT", "", "MKDIRS"), "made")

    def remove_root(self) -> None:
        self.remove_directory("")

    def make_directory(self, path: str, bearing: Bearing) -> None:
        self._ask(path, lambda: self._call("PUT", path, "MKDIRS"), "made")
        self._bear(path, bearing)

    def remove_directory(self, path: str) -> None:
        if self._listed(path) == []:
            gone = lambda: self._stat(path) is None  # noqa: E731
            self._settled(path, lambda: self._call("DELETE", path, "DELETE"), gone, "removed")

    def set_time(self, path: str, modified_ns: int) -> bool:
        time_ms = modified_ns // 1_000_000
        self._ask(path, lambda: self._call("PUT", path, "SETTIMES", modificationtime=str(time_ms)), "changed")
        return True

    def free_bytes(self) -> int | None:
        return None

    def may_give(self, bearing: Bearing) -> bool:
        if self._user is None:
            told = self._ask("", lambda: self._call("GET", "", "GETHOMEDIRECTORY")).json()["Path"]
            self._user = str(told).rpartition("/")[2]
        return bearing.owner in (None, self._user)

    def sweep(self) -> None:
        for name in self.names(self._staging) or ():
            self._ask(name, lambda name=name: self._call("DELETE", f"{self._staging}/{name}", "DELETE"), "removed")  # type: ignore[misc]
        self.remove_directory(self._staging)

    # -- within --------------------------------------------------------------------------------------------------------

    def _status(self, path: str) -> Status | None:
        self.requests["read"] += 1
        return self._ask(path, lambda: self._stat(path))

    def _stat(self, path: str) -> Status | None:
        try:
            found: Status = self._call("GET", path, "GETFILESTATUS").json()["FileStatus"]
        except FileNotFoundError:
            return None
        return found

    def _listed(self, path: str) -> list[Status] | None:
        self.requests["list"] += 1

        def ask() -> list[Status] | None:
            try:
                found: list[Status] = self._call("GET", path, "LISTSTATUS").json()["FileStatuses"]["FileStatus"]
            except FileNotFoundError:
                return None
            return found

        listed = self._ask(path, ask)
        if listed and listed[0]["pathSuffix"] == "":
            raise Refused(f"{path} is no directory")
        return listed

    def _make_around(self, path: str) -> None:
        """The directories that it takes, as the one around them is."""
        folder, missing = path.rpartition("/")[0], []
        while folder and self._status(folder) is None:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        if missing and (around := self._status(folder)):
            like = _bearing(around)
            for one in reversed(missing):
                self.make_directory(one, Bearing(like.mode, like.owner, like.group))

    def _written(self, body: Whole, bearing: Bearing | None) -> tuple[str, int]:
        """A file that is whole, under a name that nobody looks for, and its number."""
        staged = f"{self._staging}/{uuid.uuid4().hex}"
        self._make_around(staged)

        def write() -> None:
            asked = self._call("PUT", staged, "CREATE", overwrite="true")
            place = self._fs._apply_proxy(asked.headers["Location"])
            self._fs.session.request("PUT", place, data=body.anew(), headers=_BYTES).raise_for_status()

        self._settled(staged, write, lambda: False, "written", size=body.size)
        if bearing is not None:
            self._bear(staged, bearing)
        status = self._status(staged)
        if status is None or status["length"] != body.size:
            raise Changed(f"{staged} is not what was written")
        return staged, status["fileId"]

    def _renamed(self, staged: str, number: int, path: str, **options: str) -> bool:
        def rename() -> None:
            self._call("PUT", staged, "RENAME", destination=self._full(path), **options)

        def is_ours() -> bool:
            found = self._stat(path)
            return found is not None and found["fileId"] == number

        with suppress(RuntimeError):  # the name node's own word for "no": the number tells as well
            self._settled(path, rename, is_ours, "written")
        return self._ask(path, is_ours)

    def _bear(self, path: str, bearing: Bearing) -> None:
        status = self._status(path) or {}
        if bearing.mode is not None and int(status["permission"], 8) != bearing.mode:
            self._ask(path, lambda: self._call("PUT", path, "SETPERMISSION", permission=f"{bearing.mode:o}"), "changed")
        if (bearing.owner or status["owner"], bearing.group or status["group"]) != (status["owner"], status["group"]):
            self._give(path, bearing, status["owner"])
        if bearing.modified_ns is not None and status["type"] == "FILE":
            self.set_time(path, bearing.modified_ns)

    def _give(self, path: str, bearing: Bearing, owner: str) -> None:
        names = {name: str(value) for name, value in (("owner", bearing.owner), ("group", bearing.group)) if value}
        try:
            self._store.backend.ask(lambda: self._call("PUT", path, "SETOWNER", **names))
        except PermissionError:
            if bearing.owner not in (None, owner):
                raise OwnerDiffers("a new file would belong to somebody else") from None
        except Exception as error:
            raise remote_error(error, path, "changed") from None

    def _settled(
        self, path: str, attempt: Callable[[], object], done: Callable[[], bool], doing: str, size: int = 0
    ) -> None:
        """An answer that never comes is neither yes nor no: what is there decides."""

        def settle() -> None:
            for number in range(TRIES):
                try:
                    attempt()
                    return
                except (PermissionError, RuntimeError, ValueError):
                    raise
                except Exception as error:
                    failed = error
                with suppress(Exception):
                    if done():
                        return
                time.sleep(random.uniform(0.5, 1) * _FIRST_PAUSE_S * 2**number)
            raise failed

        self._ask(path, settle, doing, size)

    def _full(self, path: str) -> str:
        if {".", ".."} & set(path.split("/")) or "\0" in path:
            raise Refused(f"{path!r} leads elsewhere")
        return self._store.full_path(path)

    def _call(self, method: str, path: str, operation: str, **options: str) -> Any:
        return self._fs._call(operation, method, path=self._full(path), redirect=False, **options)

    def _ask(self, path: str, call: Callable[[], T], doing: str = "read", size: int = 0) -> T:
        try:
            return self._store.backend.ask(call, patience_s(size))
        except RuntimeError:
            raise
        except Exception as error:
            raise remote_error(error, path or self.url, doing) from None


def _version(status: Status) -> str:
    return f"{status['fileId']}-{status['length']}-{status['modificationTime']}"


def _bearing(status: Status) -> Bearing:
    return Bearing(
        int(status["permission"], 8), status["owner"], status["group"], status["modificationTime"] * 1_000_000
    )
