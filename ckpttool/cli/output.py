"""Where commands show their documents, in the form that was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.streams import echo, is_on_terminal, say
from ckpttool.errors import CkptError
from ckpttool.report.renderers import FOR_PEOPLE, OF_ALL, render
from ckpttool.report.style import Style, coloured, plain

if TYPE_CHECKING:
    from ckpttool.model import Checkpoint
    from ckpttool.report.document import Document, Fields

# What click makes a command of, and options are added to.
Command = Callable[..., Any]

_AT_ONCE = 1000


class Output:
    """The options --format and --color. `has_begun`: something was shown, so nothing else can be."""

    def __init__(self, form: str, style: Style) -> None:
        self.form, self.style, self.has_begun = form, style, False

    def show(self, document: Document) -> None:
        """Many pieces at a time: a call for each row would cost more than the row."""
        from ckpttool.report.document import Aside

        waiting: list[str] = []
        for piece in render(document, self.form, self.style):
            if isinstance(piece, Aside):
                self._write(waiting)
                say(piece)
            else:
                waiting.append(piece)
            if len(waiting) == _AT_ONCE:
                self._write(waiting)
        self._write(waiting)
        self.has_begun = True

    def refuse(self, schema: str, checkpoint: str | None, error: CkptError, known: Fields | None = None) -> None:
        """A command that cannot look still shows a document, with what is `known` nevertheless. People are told on
        standard error, by `cli.main`."""
        from ckpttool.report.document import refusal_document
        from ckpttool.storage.urls import redact_url

        if not self.has_begun and self.form not in FOR_PEOPLE:
            self.show(refusal_document(schema, checkpoint and redact_url(checkpoint), error, known))

    def _write(self, pieces: list[str]) -> None:
        if pieces:
            self.has_begun = True
            echo("".join(pieces))
            pieces.clear()


def output_options(schema: str, *also: str, of: str | None = "path") -> Callable[[Command], Command]:
    """The command gets an `Output`, and if it cannot do its work, a refusal is shown in its name.

    `schema`: that of its documents; `also`: forms beside those of all documents; `of`: which argument is the
    checkpoint.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(form: str, color: str, **given: Any) -> Any:
            as_is = "csv" in also and not given.pop("csv_safe") and form == "csv"
            output = Output("csv-as-is" if as_is else form, _choose_style(color))
            try:
                return command(output=output, **given)
            except CkptError as error:
                output.refuse(schema, of and given[of], error)
                raise

        options = (_format_option([*OF_ALL, *also]), _COLOR_OPTION, *([CSV_SAFE_OPTION] if "csv" in also else []))
        return with_options(options, run)

    return decorate


def with_options(options: Sequence[Callable[[Any], Any]], command: Command) -> Command:
    """In the order in which the command's help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def _format_option(forms: Sequence[str]) -> Callable[[Command], Command]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default="text",
        show_default=True,
        help="Form of the output.",
    )


_COLOR_OPTION = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours; NO_COLOR is obeyed.",
)


CSV_SAFE_OPTION = click.option(
    "--csv-safe/--no-csv-safe",
    default=True,
    show_default=True,
    help="In CSV: an apostrophe before cells that a spreadsheet would calculate.",
)


def _choose_style(color: str) -> Style:
    on_terminal = is_on_terminal() and not os.environ.get("NO_COLOR")
    if color == "always" or (color == "auto" and on_terminal):
        return coloured
    return plain


def told_as_out_of_reach(checkpoint: Checkpoint) -> int:
    """One line for all that the store would not give; the exit status."""
    if not checkpoint.unreachable:
        return 0
    unread = [fault for fault in checkpoint.faults if fault.id == "unreadable"]
    more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
    say(f"ckpt: {unread[0].message if unread else 'not all could be read'}{more}")
    return 5
