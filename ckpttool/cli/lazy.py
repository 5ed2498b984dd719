"""A group whose commands load when they run: listing them must not import what they need."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`known`: command → its place, `module:function`, and the first line of its help."""

    def __init__(self, *arguments: Any, known: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._known = known

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._known:
            return None
        module, _, function = self._known[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._known.items()])
