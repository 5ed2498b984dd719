"""Standard output and standard error: the only place that writes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase, TextIOWrapper
from typing import TextIO

import click

from ckpttool.errors import Unavailable

_ANEW = "\r\x1b[K"  # the line of a terminal begins again, empty
_STANDARD_ERROR = 2  # the number of its descriptor


def prepare() -> None:
    """Once, before anything is opened or shown."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character gets its escape
            stream.reconfigure(errors="backslashreplace")
    if None in (sys.stdin, sys.stdout, sys.stderr):
        # What is opened next would take the place of what is closed, and get what others print there.
        while (opened := os.open(os.devnull, os.O_WRONLY)) <= _STANDARD_ERROR:
            pass
        os.close(opened)


class Printable(TextIOBase):
    """Standard error for whoever writes to it: libraries that log or warn, and tracebacks, tell of what files hold."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        from ckpttool.report.layout import printable

        self.stream.write("\n".join(map(printable, text.split("\n"))))
        return len(text)

    def flush(self) -> None:
        self.stream.flush()

    def isatty(self) -> bool:
        return self.stream.isatty()

    def fileno(self) -> int:
        return self.stream.fileno()


def echo(text: str) -> None:
    """To standard output as it is: whether there is colour was decided before, and each form has escaped its own."""
    with _that_may_fail():
        click.echo(text, color=True, nl=False)


def finish() -> None:
    """What is still on its way to standard output arrives, or it is told that it does not."""
    with _that_may_fail():
        sys.stdout.flush()


@contextmanager
def _that_may_fail() -> Iterator[None]:
    """A reader that went away has seen enough. Anything else has kept the user from what was asked for."""
    if sys.stdout is None:  # it was closed before we began
        raise Unavailable("the output cannot be written: standard output is closed")
    try:
        yield
    except BrokenPipeError:
        _let_go(sys.stdout)
        raise click.exceptions.Exit(0) from None
    except OSError as error:
        raise unwritable(error) from None


def unwritable(error: OSError) -> Unavailable:
    """And nothing more is written."""
    _let_go(sys.stdout)
    return Unavailable(f"the output cannot be written: {error.strerror or error}")


def _let_go(stream: TextIO) -> None:
    """The interpreter must not complain once more when it flushes at the end."""
    with suppress(OSError, ValueError):  # what tests put in its place is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(line: str) -> None:
    """To standard error, where nothing that a file made up may reach the terminal raw. Where nobody can be told, the
    exit status still tells."""
    from ckpttool.report.layout import printable

    _tell(f"{printable(line)}\n")


def show_progress(line: str, last: bool) -> None:
    """A line that is written over by the next, unless it is the last: only for somebody who looks on."""
    from ckpttool.report.layout import printable

    if sees_progress():
        _tell(f"{_ANEW}{printable(line)}" + "\n" * last)


def end_progress() -> None:
    """What is shown next begins where the line was."""
    if sees_progress():
        _tell(_ANEW)


def sees_progress() -> bool:
    return _is_terminal(sys.stderr)


def is_on_terminal() -> bool:
    return _is_terminal(sys.stdout)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _tell(text: str) -> None:
    stream = sys.stderr.stream if isinstance(sys.stderr, Printable) else sys.stderr
    if stream is None:  # it was closed before we began
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        _let_go(stream)
