"""`ckpt plan source`, typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import run_ckpt


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("add", "1"), {"change": "add", "number": 1}),
        (("move", "0", "1"), {"change": "move", "number": 0, "to": 1}),
        (("rename", "a", "b"), {"change": "rename", "number": 0, "names": ["a", "b"]}),
        (("drop", "1", "--order", "0"), {"change": "drop", "number": 1, "order": "0"}),
    ],
)
def test_what_is_typed_is_what_is_wished(words: tuple[str, ...], wish: dict[str, Any], tmp_path: Path) -> None:
    root = str(build(tmp_path, "f0 k0-10 c | f1 k10-30 c"))
    done = run_ckpt("plan", "source", root, *words, "--sink", "noop", "--format", "json")
    assert done.code == (6 if words[0] == "rename" else 0)  # here none has a name
    assert json.loads(done.out)["wish"] == {"verb": "source", **wish}


@pytest.mark.parametrize(
    "words", [("add",), ("move", "1"), ("drop", "1", "2"), ("swap", "1"), ("add", "-1"), ("rename", "a")]
)
def test_what_makes_no_sense(words: tuple[str, ...], tmp_path: Path) -> None:
    assert run_ckpt("plan", "source", str(build(tmp_path, "f0 k0-10 c")), *words).code == 2
