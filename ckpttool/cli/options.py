"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

from ckpttool.cli.output import Command, with_options
from ckpttool.formats import limits
from ckpttool.words import enumerated

if TYPE_CHECKING:
    from ckpttool.releases import Release

_UNITS_MS = {"s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def storage_options(command: Command) -> Command:
    """The command gets `storage`, the options for fsspec: the file's, overridden by those of the command line. And it
    runs under the limits of `--read-limit`."""

    @wraps(command)
    def run(
        storage_option: dict[str, str], storage_options_file: str | None, read_limit: dict[str, int], **given: Any
    ) -> Any:
        of_file = _read_options_file(storage_options_file) if storage_options_file else {}
        with limits.changed(read_limit):
            return command(storage=of_file | storage_option, **given)

    options = (
        pairs_option(
            "--storage-option",
            help="An option for fsspec, for one protocol with abfs:K=V. Other users can see the command line.",
        ),
        click.option(
            "--storage-options-file",
            type=click.Path(exists=True, dir_okay=False),
            help="A JSON object of such options; refused if others can read the file.",
        ),
        click.option(
            "--read-limit",
            multiple=True,
            metavar="KIND=N",
            callback=_read_limits,
            help="Read more, or less, of a kind of file; docs/cli.md has the kinds.",
        ),
    )
    return with_options(options, run)


def listing_option(command: Command) -> Command:
    return click.option(
        "--listing",
        type=click.Choice(["quick", "full"]),
        default="quick",
        show_default=True,
        help="List every name of a log in an object store, also where its newest ids can be probed.",
    )(command)


def look_at_option(command: Command) -> Command:
    """The command gets all that were given."""
    return click.option(
        "--look-at",
        multiple=True,
        metavar="URL",
        help="A host, bucket or directory that files of the checkpoint may lead to; others are not asked.",
    )(command)


def spark_version_option(meaning: str) -> Callable[[Command], Command]:
    """The command gets a release, or None."""
    return click.option("--spark-version", metavar="X.Y[.Z]", callback=_release, help=meaning)


def restart_options(command: Command, *, by_source: bool = False) -> Command:
    """How the query will be started again. `by_source`: options may be given to one of the sources."""
    of_sources = known_pairs_option(
        "--option",
        "options",
        kind="option",
        numbered=by_source,
        help="An option of the restarted query's sources"
        + (", or of the one with that number alone; 0 is the first." if by_source else "."),
    )
    options = (
        spark_version_option("The Spark that will start the query; else the newest fitting."),
        click.option(
            "--trigger",
            type=click.Choice(["default", "once", "available-now", "continuous", "real-time"]),
            help="The trigger of the restarted query; else what the files show.",
        ),
        known_pairs_option("--conf", "confs", kind="conf", help="A setting of the session at the restart."),
        of_sources,
    )
    return with_options(options, command)


def pairs_option(*names: str, metavar: str = "K=V", **settings: Any) -> Callable[[Command], Command]:
    """It may be given as often as one likes; the command gets a dictionary."""
    return click.option(*names, multiple=True, metavar=metavar, callback=_pairs, **settings)


def known_pairs_option(
    *names: str, kind: Literal["conf", "option"], help: str, numbered: bool = False
) -> Callable[[Command], Command]:
    """Of names that Spark or a connector has. A slip of one is refused: the answer would be about another start.
    `numbered`: a number and a dot may stand before a name."""

    def pairs(context: click.Context, option: click.Parameter, given: Iterable[str]) -> dict[str, str]:
        from ckpttool.laws.given import meant

        found = _pairs(context, option, given)
        for key in found:
            if name := meant(kind, split_number(key)[1] if numbered else key):
                raise click.BadParameter(f"{key!r} is unknown: did you mean {name}?", param_hint=option.opts[0])
        return found

    metavar = "[INDEX.]K=V" if numbered else "K=V"
    return click.option(*names, multiple=True, metavar=metavar, callback=pairs, help=help)


def split_number(key: str) -> tuple[int | None, str]:
    """`1.maxFilesPerTrigger`: the number of a source, and an option of it."""
    found = re.fullmatch(r"([0-9]{1,4})\.(.+)", key)
    return (int(found[1]), found[2]) if found else (None, key)


def duration_option(name: str, help: str) -> Callable[[Command], Command]:
    """In milliseconds."""

    def parsed(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
        if text is None:
            return None
        found = re.fullmatch(f"([0-9]{{1,9}})({'|'.join(_UNITS_MS)})", text)
        if found is None:
            units = enumerated(_UNITS_MS)
            raise click.BadParameter(f"expected a number and one of {units}, like 30d", param_hint=option.opts[0])
        return int(found[1]) * _UNITS_MS[found[2]]

    return click.option(name, metavar="DURATION", callback=parsed, help=help)


def _pairs(_: click.Context, option: click.Parameter, pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter("expected K=V", param_hint=option.opts[0])
        found[key] = value
    return found


def _read_limits(_: click.Context, option: click.Parameter, pairs: Iterable[str]) -> dict[str, int]:
    found = {}
    for kind, number in _pairs(_, option, pairs).items():
        if kind not in limits.TABLE:
            raise click.BadParameter(f"the kinds are {', '.join(limits.TABLE)}", param_hint="--read-limit")
        if not (number.isascii() and number.isdecimal() and len(number) < 19):
            raise click.BadParameter("expected KIND=N, N a number", param_hint="--read-limit")
        found[kind] = int(number)
    return found


def _read_options_file(path: str) -> dict[str, str]:
    import json

    if os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise click.BadParameter(f"others can read {path}: chmod 600 it", param_hint="--storage-options-file")
    try:
        with open_given(path) as file:
            values = json.load(file)
    except (ValueError, OSError):
        values = None
    if not isinstance(values, dict):
        raise click.BadParameter(f"{path} is not a JSON object", param_hint="--storage-options-file")
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}


def _release(_: click.Context, __: click.Parameter, text: str | None) -> Release | None:
    from ckpttool.errors import NotFound
    from ckpttool.releases import parse_release

    try:
        return None if text is None else parse_release(text)
    except NotFound as error:
        raise click.BadParameter(f"{error.message}: {error.next_step}", param_hint="--spark-version") from None


def batches_option(meaning: str) -> Callable[[Command], Command]:
    """The command gets a number, or None for all."""
    return click.option(
        "--batches", default="100", show_default=True, metavar="N|all", callback=_batch_count, help=meaning
    )


def _batch_count(_: click.Context, __: click.Parameter, text: str) -> int | None:
    if text == "all":
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) == 0:
        raise click.BadParameter("expected a positive number or `all`", param_hint="--batches")
    return int(text)


def time_option(name: str, meaning: str, *, hidden: bool = False) -> Callable[[Command], Command]:
    """The command gets milliseconds, or None. Without a zone it is UTC, as all times that are shown."""
    return click.option(name, metavar="T", callback=_milliseconds, help=meaning, hidden=hidden)


def _milliseconds(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
    from ckpttool.formats.times import parse_time

    try:
        return None if text is None else parse_time(text)
    except ValueError:
        raise click.BadParameter("expected a time such as 2026-11-18T14:00:00Z", param_hint=option.opts[0]) from None


def open_given(path: str, errors: str | None = None) -> TextIO:
    """A file that an option names. It may be a pipe: one that somebody writes to is waited for, and one that nobody
    writes to is empty."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return open(descriptor, encoding="utf-8", errors=errors)
