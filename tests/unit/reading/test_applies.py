"""What `ckpt apply` left, as a checkpoint is read: whether it has ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool import open_checkpoint
from tests.builders import build

FIRST, SECOND = "20261119T081500Z-4f2a91", "20261119T091500Z-0c11aa"


def applied(root: Path, plan_id: str, *did: str) -> None:
    here = root / "_ckpt" / "applies" / plan_id
    (here / "journal").mkdir(parents=True)
    (here / "plan.json").write_text("{}")
    for number, one in enumerate(did, 1):
        (here / "journal" / f"{number:06}").write_text(one if one == "torn" else json.dumps({"n": number, "did": one}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(tmp_path / "q", "f0 c | f1 c")


@pytest.mark.parametrize(
    ("did", "is_unfinished"),
    [
        ((), True),
        (("locked", "backed-up", "fenced", "step"), True),
        (("locked", "verified", "unfenced"), True),
        (("locked", "verified", "done"), False),
        (("locked", "done", "looked"), False),
        (("locked", "done", "torn"), False),
        (("locked", "done", "undoing", "verified"), True),
        (("locked", "done", "undoing", "undone"), False),
        (("torn",), True),
    ],
)
def test_the_newest_record_that_counts_tells(root: Path, did: tuple[str, ...], is_unfinished: bool) -> None:
    applied(root, FIRST, *did)
    assert open_checkpoint(str(root)).unfinished == (FIRST if is_unfinished else None)


def test_any_of_several_may_not_have_ended(root: Path) -> None:
    applied(root, FIRST, "locked", "fenced")
    applied(root, SECOND, "locked", "done")
    assert open_checkpoint(str(root)).unfinished == FIRST


def test_a_lock_counts_and_what_has_no_plan_does_not(root: Path) -> None:
    assert open_checkpoint(str(root)).unfinished is None
    (root / "_ckpt" / "applies" / FIRST / "new").mkdir(parents=True)
    assert open_checkpoint(str(root)).unfinished is None
    (root / "_ckpt" / "lock").write_text("{}")
    assert open_checkpoint(str(root)).unfinished == "_ckpt/lock"


def test_it_is_no_part_of_what_is_there(root: Path) -> None:
    before = open_checkpoint(str(root))
    applied(root, FIRST, "done")
    after = open_checkpoint(str(root))
    assert (after.root_names, after.raw, after.faults) == (before.root_names, before.raw, before.faults)


@pytest.mark.parametrize("name", ["_ckpt", "_ckpt/applies"])
def test_what_is_no_directory_is_nothing(root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("")
    assert open_checkpoint(str(root)).unfinished is None
