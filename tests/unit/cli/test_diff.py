"""`ckpt diff`: the step between two batches, and how a batch is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.cli.diff import split_batch
from tests.builders import build
from tests.conftest import run_ckpt


def test_diff_tells_the_step_between_two_batches(sound: str) -> None:
    outcome = run_ckpt("diff", f"{sound}:0", f"{sound}:1", "--format", "json")
    source = next(item for item in json.loads(outcome.out)["differences"] if item["what"] == "source 0")
    assert outcome.code == 0
    assert (source["step"]["amount"], source["step"]["unit"]) == (15, "rows")


def test_diff_of_a_batch_with_itself_is_empty(sound: str) -> None:
    assert "No differences." in run_ckpt("diff", f"{sound}:1", sound).out


def test_diff_of_two_checkpoints_names_the_ids(tmp_path: Path) -> None:
    one, other = (build(tmp_path / name, "k0-10 c") for name in ("one", "other"))
    (other / "metadata").write_text('{"id":"11111111-2222-4333-8444-555555555555"}')
    assert "query id" in run_ckpt("diff", str(one), str(other)).out


@pytest.mark.parametrize(
    ("argument", "path", "batch"),
    [
        ("/a/b", "/a/b", None),
        ("/a/b:7", "/a/b", 7),
        ("s3://bucket/q:12", "s3://bucket/q", 12),
        ("http://host:8080", "http://host:8080", None),
        ("http://host:8080/q:3", "http://host:8080/q", 3),
        ("/a/b:x", "/a/b:x", None),
        (":7", ":7", None),
    ],
)
def test_a_batch_is_named_after_the_last_colon(argument: str, path: str, batch: int | None) -> None:
    assert split_batch(argument) == (path, batch)
