"""Wishes about what sinks recognise the query by, typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

STORY = "k0-10 c | k10-30 c"
OTHER = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("query-id", "--set", OTHER), {"verb": "query-id", "set": OTHER}),
        (("query-id", "--new"), {"verb": "query-id"}),
        (("query-id", "--from-sink"), {"verb": "query-id", "from_sink": True}),
        (("renumber", "--above-sink"), {"verb": "renumber"}),
        (("sink-ledger", "--set", "0"), {"verb": "sink-ledger", "to": 0}),
    ],
)
def test_what_is_typed_is_what_is_wished(words: tuple[str, ...], wish: dict[str, Any], tmp_path: Path) -> None:
    verb, *rest = words
    done = run_ckpt("plan", verb, str(build(tmp_path, STORY)), *rest, "--format", "json")
    assert json.loads(done.out)["wish"] == wish


@pytest.mark.parametrize(
    "words",
    [("query-id",), ("query-id", "--new", "--from-sink"), ("query-id", "--set", OTHER, "--new"), ("renumber",),
     ("sink-ledger",), ("sink-ledger", "--set", "-1"), ("sink-ledger", "--set", "x")],
)  # fmt: skip
def test_it_has_to_be_said_which(words: tuple[str, ...], tmp_path: Path) -> None:
    verb, *rest = words
    assert run_ckpt("plan", verb, str(build(tmp_path, STORY)), *rest).code == 2
