"""Temporary directories: outside what is read, or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpttool.storage import temporary
from tests.conftest import run_ckpt
from tests.state_builders import ROCKSDB
from tests.unit.state.made import placed, rocks_snapshot

pytestmark = pytest.mark.extras


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint that needs one, and an environment that says nothing of them."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    return placed(tmp_path / "checkpoint", rocks_snapshot(3, {"a": 1}), ROCKSDB)


def tree(root: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in [root, *root.rglob("*")]}


@pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP"])
@pytest.mark.parametrize("place", ["", "state/0", "../link"])
def test_none_is_made_inside_what_is_read(root: Path, name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "link").symlink_to(root / "state")
    monkeypatch.setenv(name, str(root / place))
    before = tree(root)
    ran = run_ckpt("state", "rows", str(root))
    assert (ran.code, ran.out) == (6, "")
    assert "is inside" in ran.err
    assert tree(root) == before


def test_nor_where_we_happen_to_be(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what Python falls back to."""
    monkeypatch.setattr(temporary, "_USUAL", ("/nowhere", str(root / "metadata")))
    before = tree(root)
    ran = run_ckpt("state", "rows", str(root), cwd=root)
    assert (ran.code, "no temporary directory can be had" in ran.err) == (6, True)
    assert tree(root) == before


def test_one_that_cannot_be_had_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(root / "metadata"))
    ran = run_ckpt("state", "rows", str(root))
    assert (ran.code, "no temporary directory can be had" in ran.err) == (6, True)


def test_beside_what_is_read_is_well(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = root.with_name("checkpoint-2")
    os.mkdir(beside)
    monkeypatch.setenv("TMPDIR", str(beside))
    assert run_ckpt("state", "rows", str(root)).code == 0
    assert list(beside.iterdir()) == []
