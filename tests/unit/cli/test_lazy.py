"""A group lists its commands without importing any."""

from __future__ import annotations

import click
from click.testing import CliRunner

from ckpttool.cli.inspect import inspect
from ckpttool.cli.lazy import LazyGroup

KNOWN = {"there": ("ckpttool.cli.inspect:inspect", "Loads."), "nowhere": ("ckpttool.no_such_module:x", "Never loads.")}
GROUP = LazyGroup("all", known=KNOWN)


def test_help_lists_what_was_never_imported() -> None:
    told = CliRunner().invoke(GROUP, ["--help"])
    assert told.exit_code == 0
    assert [line.split(maxsplit=1) for line in told.output.splitlines()[-2:]] == [
        ["there", "Loads."],
        ["nowhere", "Never loads."],
    ]


def test_a_command_is_loaded_when_it_is_asked_for() -> None:
    context = click.Context(GROUP)
    assert GROUP.get_command(context, "there") is inspect
    assert GROUP.get_command(context, "another") is None
