"""A step as a value, and as the command that somebody may run instead."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckpttool.plan.steps import set_aside
from tests.builders import build
from tests.take_steps import files_below, take_steps
from tests.unit.plan.plans import (
    STORY,
    Damage,
    look,
    nothing,
    put,
    remove,
)


@pytest.mark.parametrize(("root", "crcs"), [("/data/q", 1), ("file:///data/q", 1), ("s3://lake/q", 0)])
def test_a_local_file_goes_with_its_checksum(root: str, crcs: int) -> None:
    """Left over, it would stop Spark from writing a file of that name; only Hadoop's local file system has them."""
    steps = set_aside(root, "offsets/2", "")
    assert [step.path for step in steps] == ["offsets/.2.crc", "offsets/2"][1 - crcs :]
    assert "s3://lake/q.set-aside/offsets/2" in steps[0].shell or crcs


@pytest.mark.parametrize(
    ("story", "damage"),
    [
        ("f0 c | f1 c | f2 c", put("offsets/2")),
        (STORY, put("commits/2", "{")),
        (STORY, remove("metadata")),
        ("lost c | lost c", nothing),
    ],
)
def test_the_shell_commands_do_the_same(tmp_path: Path, story: str, damage: Damage) -> None:
    """A path with a blank and a quote in it, as paths may have."""
    by_steps, by_shell = tmp_path / "it's one", tmp_path / "it's two"
    for root in (by_steps, by_shell):
        damage(build(root, story))
    take_steps(by_steps, look(by_steps)[0].options[0].steps)
    for step in look(by_shell)[0].options[0].steps:
        subprocess.run(["bash", "-ec", step.shell], check=True)
    expected, found = files_below(by_steps), files_below(by_shell)
    for written in (expected, found):
        written.pop("metadata", None)  # a new id is made from the place
    assert found == expected
