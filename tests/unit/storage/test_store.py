"""The local disk: paths that lead nowhere or out of the root, and what is no file."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ckpttool.errors import CkptError, NotFound
from ckpttool.storage import store as storage
from ckpttool.storage.store import LocalStore
from tests.conftest import run_ckpt


@pytest.mark.parametrize("path", ["/data/\0ck", "s3://bucket/\0", "\0", ""])
def test_impossible_paths_are_not_found(path: str) -> None:
    assert run_ckpt("inspect", path).code == 4


def test_a_path_that_is_too_long_is_not_found_and_not_repeated_in_full() -> None:
    outcome = run_ckpt("inspect", "/" + "x" * 300)
    assert outcome.code == 4
    assert len(outcome.err) < 300
    assert run_ckpt("inspect", "/" + "x/" * 5000).code == 4


def test_a_nul_from_a_file_is_no_crash(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    assert store.stat("a\0b") is None
    for ask in (store.list, store.read):
        with pytest.raises(NotFound):
            ask("a\0b")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x"])
def test_paths_with_dots_do_not_leave_the_root(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_bytes(b"outside")
    (tmp_path / "root" / "a").mkdir(parents=True)
    store = LocalStore(str(tmp_path / "root"))
    with pytest.raises(CkptError, match="leads out"):
        store.read(path)
    with pytest.raises(CkptError, match="leads out"):
        store.list(path)


def test_a_socket_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(CkptError, match="device stands where a file belongs"):
            LocalStore(str(tmp_path)).read("s")


def test_files_are_fetched_together_up_to_a_number_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "PIECE_BYTES", 10)
    sizes = {"a": 4, "b": 4, "c": 4, "large": 30, "d": 1, "e": 1, "f": 1, "g": 1}
    together = list(storage.portions(list(sizes), sizes.__getitem__, 3))
    assert together == [["a", "b"], ["c"], ["large"], ["d", "e", "f"], ["g"]]


def test_a_large_file_is_read_in_pieces_and_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "PIECE_BYTES", 4)
    (tmp_path / "f").write_bytes(b"0123456789")
    store = LocalStore(str(tmp_path))
    assert list(storage.read_pieces(store, "f")) == [b"0123", b"4567", b"89"]
    assert storage.read_whole(store, "f") == b"0123456789"
