"""Histories from files and directories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ckpttool.errors import MalformedFile, NotFound, Unavailable
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import parse_histories

SUFFIX = ".jsonl"


def load_histories(paths: Iterable[str]) -> list[Histories]:
    """Every file that is named, and those below every directory that is."""
    return [_load(path) for name in paths for path in _files(Path(name))]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob(f"*{SUFFIX}"))
    if not found:
        raise NotFound(
            f"{path} holds no histories", f"name a directory with *{SUFFIX}, as `ckpt crash-test run` leaves it"
        )
    return found


def _load(path: Path) -> Histories:
    try:
        return parse_histories(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist", "name a file that `ckpt crash-test run` has left") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotFound(f"{path} is not a file of histories: it is not UTF-8") from None
    except MalformedFile as error:
        raise NotFound(f"{path} is not a file of histories: {error.message}", f"expected {error.expected}") from None
