"""File systems that lack something: links, or any way to give a name only where none has it."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckpttool.apply.run import exit_code_of
from ckpttool.apply.stores.base import AlreadyThere
from ckpttool.apply.stores.local import LocalDisk
from tests.apply.stages import STAGES, carry_out, tree_of


@pytest.fixture
def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("without_links")
def test_without_links_a_name_is_given_all_the_same_and_once(tmp_path: Path) -> None:
    disk = LocalDisk(str(tmp_path), "staging")
    disk.create("offsets/1", [b"first"])
    with pytest.raises(AlreadyThere):
        disk.create("offsets/1", [b"second"])
    assert (tmp_path / "offsets" / "1").read_bytes() == b"first"
    disk.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["offsets"]


@pytest.mark.usefixtures("without_links")
def test_a_file_system_that_cannot_is_refused_before_anything_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = STAGES[0].set_up(tmp_path / "t")
    plan, before = STAGES[0].plan(checkpoint), tree_of(checkpoint)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(renameat2=lambda *_: -1))
    monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EINVAL)
    outcome = carry_out(plan)
    assert [reason.id for reason in outcome.reasons] == ["no-exclusive-create"]
    assert exit_code_of(outcome) == 6
    assert {path: one[0] for path, one in tree_of(checkpoint).items()} == {path: one[0] for path, one in before.items()}
