"""Exceptions as Java and Python print them: classes, messages, the chain of causes, and where each was thrown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

MOST_THROWN = 50  # of one failure: a chain of causes is short, and tasks of one stage say the same
_MOST_FRAMES, _LONGEST_MESSAGE, _LOOKED_AT = 60, 4_000, 8_000
_GIVEN_UP = 40  # lines between exceptions that are neither frames nor a message
_NAME = r"(?:[a-z_$][\w$]{0,80}\.){1,20}[A-Z][\w$]{0,120}"
_THROWN = re.compile(rf"(?<![\w$.])(?P<name>{_NAME}):?(?=\s|$)")
_SHORT = re.compile(r"(?:E\s+|Caused by: )?(?P<name>[A-Z]\w{0,100}(?:Exception|Error)):(?=\s)")
_FRAME = re.compile(r"\s*at (?:[\w.@-]{1,80}/+)?(?P<place>[\w.$<>]{1,300})\(")
_ENDS = ("Exception", "Error", "Failure", "Throwable", "NotEmpty", "NotCompatible", "NullValue", "NotLoaded")
CONDITION = re.compile(r"\[(?P<name>_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?)\]")
_STATE = re.compile(r"SQLSTATE: ?(?P<state>[0-9A-Z]{5})\b")
# What says only that something else went wrong, or where.
_AROUND = ("StreamingQueryException", "Py4JJavaError", "Py4JError", "StreamingPythonRunnerInitializationException")
_AROUND_CONDITIONS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED", "WRITING_JOB_ABORTED")


class Thrown(Struct):
    """One exception. `frames`: where, without line numbers."""

    class_name: str
    message: str
    frames: list[str]

    @property
    def short_name(self) -> str:
        return self.class_name.rpartition(".")[2]

    @property
    def text(self) -> str:
        return "\n".join((f"{self.class_name}: {self.message}", *self.frames))


class ThrownChain(Struct):
    """What was thrown in one place of a log, from the outside to the cause. `ended`: a query ended by it."""

    thrown: list[Thrown]
    query_id: str | None = None
    ended: bool = False
    times: int = 1

    @property
    def cause(self) -> Thrown:
        """The innermost; what only wraps is never the answer, unless there is nothing else."""
        return next((one for one in reversed(self.thrown) if one.short_name not in _AROUND), self.thrown[-1])

    @property
    def conditions(self) -> list[str]:
        """As Spark names them, those of the cause first."""
        found = [match["name"] for one in reversed(self.thrown) for match in CONDITION.finditer(one.message)]
        return [name for name in dict.fromkeys(found) if name.partition(".")[0] not in _AROUND_CONDITIONS]

    @property
    def sql_state(self) -> str | None:
        found = (match["state"] for one in reversed(self.thrown) for match in _STATE.finditer(one.message))
        return next((state for state in found if state != "XXKST"), None)  # that of STREAM_FAILED

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.thrown)

    @property
    def likeness(self) -> str:
        """The same for what is the same error again."""
        return re.sub(r"[0-9a-f-]*\d[0-9a-f-]*", "0", f"{self.cause.class_name}: {self.cause.message[:300]}")


class ThrownReader:
    """Takes the lines of a record one by one; `chain`: what was thrown in it so far."""

    def __init__(self) -> None:
        self.chain: ThrownChain | None = None
        self._beside = 0

    def feed(self, line: str) -> None:
        line = line[:_LOOKED_AT]
        if self.chain and (frame := _FRAME.match(line)):
            self._add_frame(frame["place"])
            return
        found = list(_thrown_in(line))
        if found:
            self.chain = self.chain or ThrownChain([])
            self.chain.thrown += found[: MOST_THROWN - len(self.chain.thrown)]
            self._beside = 0
        elif self.chain:
            self._go_on(line)

    @property
    def is_over(self) -> bool:
        return self._beside > _GIVEN_UP

    def _add_frame(self, place: str) -> None:
        last = self.chain.thrown[-1] if self.chain else None
        if last and len(last.frames) < _MOST_FRAMES:
            last.frames.append(f"at {place}")
        self._beside = 0

    def _go_on(self, line: str) -> None:
        """A message has several lines until the first frame."""
        self._beside += 1
        last = self.chain.thrown[-1] if self.chain else None
        if last and not last.frames and len(last.message) < _LONGEST_MESSAGE:
            last.message += "\n" + line[:_LONGEST_MESSAGE]


def _thrown_in(line: str) -> Iterator[Thrown]:
    """Several in one line where a job's failure tells that of its task."""
    short = _SHORT.match(line)
    if short:
        yield Thrown(short["name"], line[short.end() :].strip()[:_LONGEST_MESSAGE], [])
    for match in _THROWN.finditer(line):
        name, message = match["name"], line[match.end() :].strip()[:_LONGEST_MESSAGE]
        if name.endswith(_ENDS) or (":" in match[0] and CONDITION.match(message)):
            yield Thrown(name, message, [])
