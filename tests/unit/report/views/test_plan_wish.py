"""What a wish takes, and the restart that follows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import build
from tests.conftest import run_ckpt

PENDING = "k0-10 c | k10-30 c | k30-60"


def test_steps_are_told_without_the_fence_and_what_is_asked_with_its_id(tmp_path: Path) -> None:
    text = run_ckpt("plan", "drop-batch", str(build(tmp_path, PENDING))).out
    head, _, then = text.partition("\nThen\n")
    assert "set aside offsets/2" in head
    assert "fence" not in head
    assert "--accept sink-unnamed" in head
    assert "start batch 2" in then


def test_json_has_the_restart_before_and_after(tmp_path: Path) -> None:
    root = str(build(tmp_path, PENDING))
    fields = json.loads(run_ckpt("plan", "drop-batch", root, "--sink", "kafka", "--format", "json").out)
    assert (fields["schema"], fields["wish"]) == ("ckpt.plan-wish/1", {"verb": "drop-batch"})
    assert (fields["before"]["outcome"], fields["restart"]["outcome"]) == ("replay", "new_batch")
    assert {one["id"]: one["who"] for one in fields["option"]["conditions"]} == {"rows-twice": "you"}
    assert fields["refused"] == []


def test_what_is_refused_is_told_with_what_there_is(tmp_path: Path) -> None:
    root = str(build(tmp_path, "k0-10 c | k10-30 c"))
    head, _, then = run_ckpt("plan", "skip-batch", root).out.partition("\nAs it is\n")
    assert head.startswith("Refused, and why\n  skip-batch\n    ")
    assert "start batch 2" in then
    fields = json.loads(run_ckpt("plan", "skip-batch", root, "--format", "json").out)
    assert fields["option"] is None
    assert [one["id"] for one in fields["refused"]] == ["skip-batch"]
