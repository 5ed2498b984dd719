"""What click has against a command line, told without values that may be secret.

Click repeats what was typed, and what was typed in the wrong place may be a password: `--storage-option 'key: secret'`,
a client's setting where its file is expected, a misspelled option with its value.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import click

from ckpttool.report.layout import printable

# As click quotes what was typed; and the secret that may be in it, behind a name or before a host.
_TYPED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_VALUE = re.compile(r"(?<=^.)[^@]*@.*(?=.$)|[=:{\s].*(?=.$)", re.DOTALL)
_SURPLUS = "Got unexpected extra argument"
_NOTHING_TYPED = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2


def lines_of(error: click.ClickException) -> Iterator[str]:
    """As click itself shows it."""
    out = io.StringIO()
    if isinstance(error, _NOTHING_TYPED):
        error.show(out)
    else:
        message, context = error.format_message(), error.ctx if isinstance(error, click.UsageError) else None
        if isinstance(error, click.NoSuchOption):  # which older releases of click do not quote
            message = message.replace(f": {error.option_name}", f" {error.option_name!r}.", 1)
        click.UsageError(printable(without_values(message)), context).show(out)
    yield from out.getvalue().removesuffix("\n").split("\n")


def without_values(message: str) -> str:
    """Words stay, such as a form that does not exist; pairs lose their values, and surplus arguments are not named."""
    if message.startswith(_SURPLUS):
        return message.partition(" (")[0]
    return _TYPED.sub(lambda typed: _VALUE.sub("***", typed[0]), message)
