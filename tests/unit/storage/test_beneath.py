"""Nothing leads out of a directory: no link, no `..`, no rename at the wrong moment; what is outside is not told."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import CkptError, LeftUnread, MalformedFile
from ckpttool.storage import beneath
from ckpttool.storage.beneath import LeadsOut
from ckpttool.storage.store import LocalStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with a file in a directory, and one beside it."""
    (tmp_path / "ck" / "log").mkdir(parents=True)
    (tmp_path / "ck" / "log" / "0").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "0").write_bytes(b"outside")
    return tmp_path / "ck"


def answers(store: LocalStore, path: str) -> list[Any]:
    """All that a store can be asked about a path; an error by what it says."""
    asked: list[Any] = []
    for ask in (store.stat, store.list, store.read, lambda one: store.read_range(one, 0, 4), store.real_path):
        try:
            asked.append(ask(path))
        except CkptError as error:
            asked.append((type(error), error.message))
    return asked


WAYS: dict[str, Callable[[Path, Path], str]] = {
    "a link": lambda root, target: linked(root / "x", str(target)),
    "a relative link": lambda root, target: linked(root / "x", os.path.relpath(target, root)),
    "a link of a link": lambda root, target: linked(root / "x", linked(root / "y", str(target))),
    "a directory's link": lambda root, target: f"{linked(root / 'x', str(target.parent))}/{target.name}",
    "two dots": lambda _, target: f"../{target.relative_to(target.parent.parent)}",
    "two dots further down": lambda _, target: f"log/../../{target.relative_to(target.parent.parent)}",
}


def linked(link: Path, target: str) -> str:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    return link.name


@pytest.mark.parametrize("way", WAYS)
def test_outside_everything_looks_the_same(root: Path, way: str) -> None:
    told = []
    for name in ("0", "nothing"):
        path = WAYS[way](root, root.parent / "outside" / name)
        told.append(repr(answers(LocalStore(str(root)), path)).replace(name, "…"))
    assert told[0] == told[1]
    assert "outside'" not in told[0]
    assert "LeadsOut" in told[0]


def test_a_link_out_is_seen_to_be_one_and_no_more(root: Path) -> None:
    linked(root / "x", "/nowhere/at/all")
    found = LocalStore(str(root)).stat("x")
    assert found is not None
    assert (found.leads_out, found.size_bytes, found.modified_ms, found.is_directory) == (True, None, None, False)
    assert LocalStore(str(root)).stat("x/0") is None


@pytest.mark.parametrize("target", ["log/0", "./log/../log/0", "{root}/log/0", "{real}/log/0"])
def test_a_link_that_stays_inside_is_followed(root: Path, target: str) -> None:
    linked(root.parent / "typed", str(root))
    typed = root.parent / "typed"
    linked(root / "x", target.format(root=typed, real=root))
    store = LocalStore(str(typed))
    assert store.read("x") == b"inside"
    assert store.read_range("x", 2, 6) == b"side"
    assert Path(store.real_path("x")).read_bytes() == b"inside"
    linked(root / "y", target.format(root=typed, real=root).rpartition("/")[0])
    assert store.list("y") == ["0"]
    assert store.at("y").read("0") == b"inside"


def test_a_store_further_down_ends_where_the_user_pointed(root: Path) -> None:
    linked(root / "log" / "up", "..")
    linked(root / "log" / "out", "../../outside")
    below = LocalStore(str(root)).at("log")
    assert below.read("up/log/0") == below.at("../log").read("0") == b"inside"
    with pytest.raises(LeadsOut):
        below.read("out/0")
    for path in ("../..", "../../outside", "/etc"):
        with pytest.raises(LeadsOut):
            below.at(path)
    assert sorted(below.above(2).list()) == ["ck", "outside"], "a glance at what is around, where nobody else leads"
    linked(root.parent / "away", "/etc")
    with pytest.raises(LeadsOut):
        below.above(2).at("away").list()


@pytest.mark.parametrize("moved", ["log", "log/0"])
def test_what_was_checked_is_what_is_opened(root: Path, monkeypatch: pytest.MonkeyPatch, moved: str) -> None:
    """Between the last look at the way and the opening, a link takes the place of a part of it."""
    real_open = os.open
    swapped: list[str] = []

    def racing(path: str, *arguments: Any, **more: Any) -> int:
        if path.endswith("0") and not swapped:
            swapped.append(path)
            (root / moved).rename(root / "aside")
            (root / moved).symlink_to(root.parent / "outside" / moved.partition("/")[2])
        return real_open(path, *arguments, **more)

    monkeypatch.setattr(os, "open", racing)
    ((_, body),) = LocalStore(str(root)).read_all(["log/0"])
    assert swapped
    assert body == b"inside" or isinstance(body, LeftUnread)


def test_a_directory_that_was_made_anew_is_looked_at_anew(root: Path) -> None:
    store = LocalStore(str(root))
    assert store.read("log/0") == b"inside"
    (root / "log" / "0").unlink()
    (root / "log").rmdir()
    (root / "log").mkdir()
    (root / "log" / "0").write_bytes(b"anew")
    assert store.read("log/0") == b"anew"


def test_few_directories_are_kept_open(tmp_path: Path) -> None:
    stores = []
    for number in range(200):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "f").touch()
        stores.append(LocalStore(str(tmp_path / str(number))))
        assert stores[-1].read("f") == b""
    ours = [os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if _is_open(one)]
    assert sum(str(tmp_path) in one for one in ours) <= (beneath._KEPT.maxlen or 0)


def _is_open(descriptor: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{descriptor}")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "directory"])
def test_what_is_no_file_holds_nobody(root: Path, kind: str) -> None:
    store = LocalStore(str(root))
    if kind == "pipe":
        os.mkfifo(root / "x")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(root / "x"))
    elif kind == "directory":
        (root / "x").mkdir()
    else:
        store = LocalStore("/dev")
    for read in (store.read, lambda path: store.read_range(path, 0, 4)):
        with pytest.raises(MalformedFile, match="where a file belongs"):
            read("zero" if kind == "device" else "x")
