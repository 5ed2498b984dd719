"""Histories from files and directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ckpttool.errors import MalformedFile, NotFound, Unavailable
from ckpttool.formats.limits import weigh_json
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import parse_histories

SUFFIX = ".jsonl"
_MOST_BYTES, _MOST_VALUES = 2**26, 3_000_000  # a campaign of every scenario comes to a tenth of that


def load_histories(paths: Iterable[str]) -> list[Histories]:
    """Every file that is named, and those below every directory that is."""
    return [_load(path) for name in paths for path in _files(Path(name))]


def _files(path: Path) -> list[Path]:
    if not os.path.isdir(path):  # which is no directory either where the name is too long for a file
        return [path]
    found = sorted(path.rglob(f"*{SUFFIX}"))
    if not found:
        raise NotFound(
            f"{path} holds no histories", f"name a directory with *{SUFFIX}, as `ckpt crash-test run` leaves it"
        )
    return found


def _load(path: Path) -> Histories:
    try:
        return parse_histories(_content(path).decode("utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist", "name a file that `ckpt crash-test run` has left") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotFound(f"{path} is not a file of histories: it is not UTF-8") from None
    except MalformedFile as error:
        raise NotFound(f"{path} is not a file of histories: {error.message}", f"expected {error.expected}") from None


def _content(path: Path) -> bytes:
    """Histories are sent around, and may be pipes that nobody writes to, devices that never end, or built to cost."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise MalformedFile("it is no regular file", expected="a file")
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES or weigh_json(content) > _MOST_VALUES:
        raise MalformedFile(
            "it is larger than any run makes it", expected=f"{_MOST_BYTES:,} bytes and {_MOST_VALUES:,} values at most"
        )
    return content
