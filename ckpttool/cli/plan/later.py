"""Wishes that nobody grants yet: the command is there to say why."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options


def not_yet(verb: str) -> click.Command:
    """Whatever else is given with it is not looked at."""

    @click.command(
        name=verb,
        hidden=True,
        context_settings={"ignore_unknown_options": True},
        help="Not yet: the reason is all that it tells.",
    )
    @planning_options
    @click.argument("rest", nargs=-1)
    def command(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
        from ckpttool.plan.wishes import Later

        return plan_wish(Later(verb), path, output, storage, given)

    return command
