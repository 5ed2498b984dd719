"""Leftovers that stand in the way."""

from __future__ import annotations

from pathlib import Path

from ckpttool.plan import SetAside
from tests.builders import build
from tests.take_steps import within_fence
from tests.unit.plan.plans import (
    STORY,
    look,
    mended,
    put,
)


def test_a_stale_checksum_is_set_aside(tmp_path: Path) -> None:
    put("offsets/.3.crc")(build(tmp_path, STORY))
    plan, _ = look(tmp_path)
    (step,) = within_fence(plan.options[0].steps)
    assert isinstance(step, SetAside)
    assert step.path == "offsets/.3.crc"
    assert not mended(tmp_path).repairs
