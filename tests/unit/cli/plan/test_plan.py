"""The group: its commands are listed with their own words, and load when they run."""

from __future__ import annotations

import click
import pytest

from ckpttool.cli.plan import COMMANDS, plan
from ckpttool.plan.wishes import BY_VERB


@pytest.mark.parametrize("verb", COMMANDS)
def test_listed_as_it_says_itself(verb: str) -> None:
    command = plan.get_command(click.Context(plan), verb)
    assert command is not None
    assert command.name == verb
    assert (command.help or "").startswith(COMMANDS[verb][1])


def test_every_wish_can_be_typed() -> None:
    assert COMMANDS.keys() == BY_VERB.keys()
