"""A wish that nobody grants yet is a command that is not listed."""

from __future__ import annotations

import pytest

from ckpttool.cli.plan import plan
from ckpttool.cli.plan.later import not_yet
from ckpttool.plan.wishes.later import LATER


@pytest.mark.parametrize("verb", LATER)
def test_it_takes_whatever_is_given(verb: str) -> None:
    command = not_yet(verb)
    assert (command.name, command.hidden) == (verb, True)
    assert verb in (plan.epilog or "")
