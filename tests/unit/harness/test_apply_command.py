"""`ckpt apply` in a process of its own, whole and killed, on scratch copies and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpttool.api import Restarted
from ckpttool.apply.make_plan import plan_at
from ckpttool.errors import Refused
from ckpttool.harness.apply_command import ApplyCommand
from ckpttool.harness.scratch import Scratch
from tests.builders import build
from tests.take_steps import files_below

TORN = Restarted(release=(4, 2, 0), sinks=("noop",))


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(tmp_path / "scratch", keep=True) as made:
        yield made


def torn(folder: Path) -> Path:
    checkpoint = build(folder / "checkpoint", "k0-10 c | k10-30 c | k30-60")
    (checkpoint / "offsets" / "2").write_text("v1\n{")
    return checkpoint


def left(checkpoint: Path) -> dict[str, bytes]:
    return {path: body for path, body in files_below(checkpoint).items() if not path.startswith("_ckpt/")}


def carried_out(scratch: Scratch, name: str, killed_at: int | None = None) -> tuple[dict[str, bytes], int]:
    checkpoint = torn(scratch.folder(name))
    plan = plan_at(str(checkpoint), "drop-planned-batch", TORN)
    count = ApplyCommand(plan, scratch).carry_out(killed_at)
    return left(checkpoint), count


def test_killed_and_resumed_it_leaves_what_it_leaves_in_one_go(scratch: Scratch) -> None:
    whole, count = carried_out(scratch, "whole")
    assert "offsets/2" not in whole
    assert count > 50
    again, others = carried_out(scratch, "killed", count // 2)
    assert again == whole
    assert 0 < others < count, "it went on, and did not begin anew"


def test_killed_before_it_had_a_lock_it_begins_anew(scratch: Scratch) -> None:
    assert "offsets/2" not in carried_out(scratch, "killed", 1)[0]


def test_what_it_is_refused_for_is_told(scratch: Scratch) -> None:
    checkpoint = torn(scratch.folder("moved"))
    command = ApplyCommand(plan_at(str(checkpoint), "drop-planned-batch", TORN), scratch)
    (checkpoint / "commits" / "1").unlink()
    with pytest.raises(Refused, match="commits"):
        command.carry_out()


def test_nothing_elsewhere_is_touched(scratch: Scratch, tmp_path: Path) -> None:
    checkpoint = torn(tmp_path / "elsewhere")
    before = files_below(checkpoint)
    with pytest.raises(Refused, match="outside"):
        ApplyCommand(plan_at(str(checkpoint), "drop-planned-batch", TORN), scratch)
    assert files_below(checkpoint) == before
