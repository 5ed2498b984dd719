"""`ckpt plan clone` and `fork`, typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("clone", "--new-id"), {"verb": "clone"}),
        (("clone", "--same-id"), {"verb": "clone", "same_id": True}),
        (("fork",), {"verb": "fork"}),
    ],
)
def test_what_is_typed_is_what_is_wished(words: tuple[str, ...], wish: dict[str, object], tmp_path: Path) -> None:
    verb, *rest = words
    root, target = str(build(tmp_path / "q", "k0-10 c | k10-30 c")), str(tmp_path / "copy")
    done = run_ckpt("plan", verb, root, target, *rest, "--sink", "noop", "--format", "json")
    assert done.code == 0
    assert json.loads(done.out)["wish"] == {**wish, "target": target}
    assert not (tmp_path / "copy").exists()


def test_which_of_both_is_the_query_has_to_be_said(tmp_path: Path) -> None:
    root, target = str(build(tmp_path / "q", "k0-10 c | k10-30 c")), str(tmp_path / "copy")
    assert run_ckpt("plan", "clone", root, target).code == 6
    assert run_ckpt("plan", "clone", root, target, "--new-id", "--same-id").code == 2


def test_where_something_is_nothing_comes_into_being(tmp_path: Path) -> None:
    root, saved = str(build(tmp_path / "q", "k0-10 c | k10-30 c")), tmp_path / "plan.json"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "theirs").touch()
    done = run_ckpt("plan", "fork", root, str(tmp_path / "full"), "--sink", "noop", "--out", str(saved))
    assert (done.code, saved.exists()) == (6, False)
    assert "is not empty" in done.err


@pytest.mark.parametrize(
    ("words", "maps", "code"),
    [
        (("--map", "/in=/mnt/in"), [["/in", "/mnt/in"]], 0),
        (("--map", "/in/d=1=/mnt/d=2", "--map", "/in=/in"), [["/in/d=1", "/mnt/d=2"], ["/in", "/in"]], 0),
        (("--map", "orders=orders.v2", "--map", "/in=/in"), [["/in", "/in"]], 0),
        (("--map", "s3a://old/in=s3a://new/in"), [["s3a://old/in", "s3a://new/in"]], 6),
    ],
)
def test_where_input_goes_is_told_by_whole_places(
    words: tuple[str, ...], maps: list[list[str]], code: int, tmp_path: Path
) -> None:
    root, target = str(build(tmp_path / "q", "f0 c | f1 c")), str(tmp_path / "moved")
    done = run_ckpt("plan", "relocate", root, target, *words, "--sink", "noop", "--format", "json")
    assert done.code == code
    assert json.loads(done.out)["wish"] == {"verb": "relocate", "target": target, "maps": maps}
