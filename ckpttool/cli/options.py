"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckpttool.errors import CkptError
from ckpttool.report.style import Style, coloured, plain

if TYPE_CHECKING:
    from ckpttool.model import Checkpoint
    from ckpttool.releases import Release

F = TypeVar("F", bound=Callable[..., Any])


def storage_options(command: F) -> F:
    command = click.option(
        "--storage-options-file",
        type=click.Path(exists=True, dir_okay=False),
        help="A JSON object of such options; refused if others can read the file.",
    )(command)
    return click.option(
        "--storage-option",
        "storage_option",
        multiple=True,
        metavar="K=V",
        help="An option for fsspec, for one protocol with abfs:K=V. Other users can see the command line.",
    )(command)


def listing_option(command: F) -> F:
    return click.option(
        "--listing",
        type=click.Choice(["quick", "full"]),
        default="quick",
        show_default=True,
        help="List every name of a log in an object store, also where its newest ids can be probed.",
    )(command)


def restart_options(command: F) -> F:
    """How the query will be started again."""
    options = (
        click.option(
            "--spark-version", metavar="X.Y[.Z]", help="The Spark that will start the query; else the newest fitting."
        ),
        click.option(
            "--trigger",
            type=click.Choice(["default", "once", "available-now", "continuous", "real-time"]),
            help="The trigger of the restarted query; else what the files show.",
        ),
        click.option("--conf", "confs", multiple=True, metavar="K=V", help="A setting of the session at the restart."),
        click.option(
            "--option", "options", multiple=True, metavar="K=V", help="An option of the restarted query's sources."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def output_options(*formats: str) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        command = click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="Colours; NO_COLOR is obeyed.",
        )(command)
        return click.option(
            "--format",
            "form",
            type=click.Choice(formats),
            default="text",
            show_default=True,
            help="Form of the output.",
        )(command)

    return decorate


def gather_storage_options(pairs: Iterable[str], file: str | None) -> dict[str, str]:
    """The file's options, overridden by those of the command line."""
    options = _read_options_file(file) if file else {}
    return options | parse_pairs(pairs, "--storage-option")


def parse_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter("expected K=V", param_hint=option)
        found[key] = value
    return found


def _read_options_file(path: str) -> dict[str, str]:
    import json

    if os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise click.BadParameter(f"others can read {path}: chmod 600 it", param_hint="--storage-options-file")
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except (ValueError, OSError):
        values = None
    if not isinstance(values, dict):
        raise click.BadParameter(f"{path} is not a JSON object", param_hint="--storage-options-file")
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}


def choose_style(color: str) -> Style:
    on_terminal = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if color == "always" or (color == "auto" and on_terminal):
        return coloured
    return plain


def echo(text: str) -> None:
    """To standard output as it is: whether there is colour was decided before."""
    try:
        click.echo(text, color=True, nl=not text.endswith("\n"))
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None


def given_release(text: str | None) -> Release | None:
    """The value of --spark-version."""
    from ckpttool.errors import NotFound
    from ckpttool.releases import parse_release

    if text is None:
        return None
    try:
        return parse_release(text)
    except NotFound as error:
        raise click.BadParameter(f"{error.message}: {error.next_step}", param_hint="--spark-version") from None


def batch_count(text: str) -> int | None:
    """The value of --batches; None for all."""
    if text == "all":
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) == 0:
        raise click.BadParameter("expected a positive number or `all`", param_hint="--batches")
    return int(text)


def milliseconds(text: str, option: str) -> int:
    """Without a zone it is UTC, as all times that are shown."""
    from datetime import UTC, datetime, timedelta

    try:
        time_given = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("expected a time such as 2026-11-18T14:00:00Z", param_hint=option) from None
    moment = time_given if time_given.tzinfo else time_given.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@contextmanager
def refusals_as_json(command: str, path: str, form: str) -> Iterator[None]:
    """A command that cannot look at its checkpoint still prints its JSON, if that is what was asked for."""
    try:
        yield
    except CkptError as error:
        if form == "json":
            from ckpttool.report.json import refusal_fields, render_json
            from ckpttool.storage.urls import redact_url

            echo(render_json(refusal_fields(command, redact_url(path), error)))
        raise


def told_as_out_of_reach(checkpoint: Checkpoint) -> int:
    """One line for all that the store would not give; the exit status."""
    if not checkpoint.unreachable:
        return 0
    from ckpttool.report.layout import printable

    unread = [fault for fault in checkpoint.faults if fault.id == "unreadable"]
    more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
    click.echo(f"ckpt: {printable(unread[0].message) if unread else 'not all could be read'}{more}", err=True)
    return 5
