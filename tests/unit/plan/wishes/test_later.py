"""What nobody grants yet says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.plan.wishes.later import LATER, Later
from tests.builders import build
from tests.unit.plan.plans import STORY, look


@pytest.mark.parametrize("verb", LATER)
def test_the_reason_is_the_answer(verb: str, tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, STORY), wish=Later(verb))
    assert not plan.options
    assert [one.id for one in plan.refused] == [verb]
    assert plan.refused[0].why.startswith("not yet: ")
