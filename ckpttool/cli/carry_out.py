"""What `apply` and `undo` share: their options, what they ask, and how they end."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.output import Command, Output, with_options
from ckpttool.cli.streams import say

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.apply.outcome import Outcome
    from ckpttool.apply.plan_file import PlanFile
    from ckpttool.apply.work import ApplySettings
    from ckpttool.harness.started_copy import StartedCopy

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def carrying_options(command: Command) -> Command:
    """The command gets what `settings_of` makes `ApplySettings` of, `yes` and `dry_run`."""
    options = (
        click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal."),
        click.option("--dry-run", is_flag=True, help="Look at everything, and change nothing."),
        _duration("--lock-timeout", "0s", "How long to wait for somebody else's lock."),
        _duration("--settle", None, "Between the two looks, in which a query that runs shows: 2s; object stores: 10s."),
        _duration("--hold", "0s", "How long the fence stays after the last step, for queries that wait."),
        click.option(
            "--done",
            "done_by_hand",
            multiple=True,
            type=click.IntRange(min=1),
            metavar="N",
            help="Step N was done by hand, where nothing but who did it tells.",
        ),
        click.option(
            "--iceberg-table",
            "iceberg_tables",
            multiple=True,
            metavar="CATALOG.NAMESPACE.TABLE",
            help="An Iceberg table that pyiceberg changes through its catalog: else that is for Spark.",
        ),
        click.option(
            "--accept", "accepted", multiple=True, metavar="ID", help="A condition that only a person can know holds."
        ),
    )
    return with_options(options, command)


def settings_of(
    given: dict[str, Any],
    restarted: Restarted,
    storage: dict[str, str],
    stop: Callable[[], bool],
    in_spark: StartedCopy | None = None,
) -> ApplySettings:
    from ckpttool.apply.work import ApplySettings

    return ApplySettings(
        lock_timeout=given["lock_timeout"],
        settle=given["settle"],
        hold=given["hold"],
        accepted=frozenset(given["accepted"]),
        done_by_hand=frozenset(given["done_by_hand"]),
        iceberg_tables=given["iceberg_tables"],
        keeps_state=given.get("backup") != "logs",
        given=restarted,
        storage=storage,
        interrupted=stop,
        in_spark=in_spark,
    )


def ask(lines: list[str], word: str, question: str) -> None:
    """Shows what will be done; whoever is there types a word that nobody types by habit."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: --yes carries it out, --dry-run only looks")
    for line in lines:
        say(line)
    if click.prompt(question, default="", show_default=False, err=True).strip() != word:
        raise click.Abort


def end(outcome: Outcome, plan: PlanFile, output: Output) -> int:
    """Shows how it ended. The last line on standard error says how it goes on."""
    from ckpttool.apply.run import exit_code_of
    from ckpttool.errors import CkptError
    from ckpttool.report.views.apply import apply_document

    if outcome.took_over:
        say("ckpt: the lock was taken over: the process that held it is gone")
    output.show(apply_document(outcome, plan))
    if outcome.next:
        goes_on, *takes_back = outcome.next
        say("; ".join([f"ckpt: {goes_on} goes on", *(f"{one} takes it back" for one in takes_back)]))
    if outcome.error is not None and not isinstance(outcome.error, CkptError):
        raise outcome.error
    return exit_code_of(outcome)


@contextmanager
def telling_reasons(output: Output, schema: str, path: str) -> Iterator[None]:
    """What is refused before there is a plan to show has a reason with an id as well."""
    from ckpttool.apply.outcome import NotApplied
    from ckpttool.apply.plan_file import BadPlan
    from ckpttool.report.views.apply import refused_fields

    try:
        yield
    except NotApplied as error:
        output.refuse(schema, path, error, refused_fields(error.reasons, None))
        raise
    except BadPlan as error:
        output.refuse(schema, path, error, refused_fields((), error.message))
        raise


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Once interrupted: stop after this operation; twice: at once. Tells whether it was."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            signal.default_int_handler(number, frame)
        asked.append(number)
        say("ckpt: stopping after this operation; once more stops at once")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def _duration(name: str, default: str | None, meaning: str) -> Callable[[Command], Command]:
    shown = default is not None
    return click.option(name, default=default, show_default=shown, metavar="TIME", callback=_seconds, help=meaning)


def _seconds(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m|h)?", text)
    if found is None:
        raise click.BadParameter("expected a time such as 500ms, 2s or 5m", param_hint=option.opts[0])
    return float(found[1]) * _UNITS[found[2] or "s"]
