"""What can stop us from working, and the exit code each kind ends in.

Damage inside a checkpoint is not an error of ours: it becomes a `Finding`. `MalformedFile` is how a parser says it;
`load_checkpoint` turns it into one. The exit codes are those of `docs/cli.md`, the same for every command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckpttool.model import Position, SparkError


def exit_code(
    *,
    misused: bool = False,
    refused: bool = False,
    wrong: bool = False,
    unreachable: bool = False,
    unknown: bool = False,
) -> int:
    """The one rule for what a command that answers ends with. What was given cannot be (2), or asks for what we do not
    read (6): then nothing was judged. Else what is known to be `wrong` (1) counts whatever else could not be seen; and
    a part out of reach (5) before an answer that stays open (3), since it is the reason for it."""
    met = ((misused, 2), (refused, Refused.exit_code), (wrong, 1), (unreachable, Unavailable.exit_code), (unknown, 3))
    return next((code for is_met, code in met if is_met), 0)


class CkptError(Exception):
    """The root of everything we raise on purpose: one line for the user, and what to do next."""

    exit_code = 70

    def __init__(self, message: str, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    @property
    def told(self) -> str:
        """The message, with the file that it is about where that is known."""
        return self.message


class NotFound(CkptError):
    """The path, or the part of the checkpoint that was asked for, is not there."""

    exit_code = 4


class NotACheckpoint(CkptError):
    """Something is there, and it is not a checkpoint. `candidates`: checkpoints seen nearby."""

    exit_code = 4

    def __init__(self, message: str, next_step: str | None = None, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message, next_step)
        self.candidates = candidates


class Unavailable(CkptError):
    """Storage or broker could not be reached, or refused us."""

    exit_code = 5


class Refused(CkptError):
    """A precondition does not hold: a missing extra, a scheme we do not read, a checkpoint that looks alive."""

    exit_code = 6


class NotPointedAt(Refused):
    """A place that only a file names: nobody is asked there. `option`: what would allow it, word for word."""

    def __init__(self, why: str, option: str | None = None) -> None:
        super().__init__(f"{why} ({option} has it looked at)" if option else why, option)


class MalformedFile(CkptError):
    """Bytes that are not what the format says; carries the place, so that a finding can show it."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        expected: str,
        position: Position | None = None,
        spark: SparkError | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, next_step)
        self.expected = expected
        self.position = position
        self.spark = spark


class UnsupportedVersion(MalformedFile):
    """A format version newer than any Spark we know of writes."""


class LeftUnread(MalformedFile):
    """A file that we chose not to read (too large, or a link that leads out), so nothing is known about it."""


class Deadly(MalformedFile):
    """Bytes that native code died over, or came to no end with. What Spark makes of them is not known."""


class InFile(MalformedFile):
    """Damage of which the file is known."""

    def __init__(self, path: str, error: MalformedFile) -> None:
        super().__init__(error.message, expected=error.expected, position=error.position, spark=error.spark)
        self.path = path
        self.is_deadly = isinstance(error, Deadly)

    @property
    def told(self) -> str:
        return f"{self.path}: {self.message}"


@contextmanager
def told_of(path: str) -> Iterator[None]:
    """What is wrong with a file is raised with its path."""
    try:
        yield
    except InFile:
        raise
    except MalformedFile as error:
        raise InFile(path, error) from None
