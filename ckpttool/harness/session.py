"""Processes that run a query, each in a session (of the operating system) of its own with everything that it starts:
so it can be frozen whole, and killed whole. Its log is a file in the scratch directory.

A `Session` answers requests. What somebody's own command does instead is in `command.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any, Self

from ckpttool.harness.scratch import Scratch, freeze_session, kill_session, thaw_session

Answer = dict[str, Any]
Ask = Callable[[Mapping[str, Any], float], Answer]  # a request, and the seconds that it may take


class Died(Exception):
    """The process ended before it answered; the message holds the end of its log."""


class Late(Exception):
    """No answer came in time. The process is still there."""


class Process(ABC):
    """Whatever is sent to it, it has one answer to; `select` tells when that is there."""

    def __init__(
        self,
        scratch: Scratch,
        command: Sequence[str],
        environment: Mapping[str, str],
        name: str,
        folder: Path | None = None,
        pipes: bool = True,
    ) -> None:
        """`folder`: where it is started. `pipes`: to its standard input and output; else the output is its log's."""
        self._scratch = scratch
        logs = scratch.folder("processes")
        self.log = logs / f"{name}.log"
        self._begins = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else log,
                stderr=log,
                env=dict(environment),
                start_new_session=True,
                cwd=folder or logs,
            )
        self._status: int | None = None  # once it was killed
        scratch.watch(self.process.pid)

    @abstractmethod
    def send(self, value: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def poll(self, seconds: float = 0) -> Answer | None:
        """The answer to what was sent last, if it comes within this time."""

    @abstractmethod
    def fileno(self) -> int: ...

    def answer(self, seconds: float) -> Answer:
        """Wait for the answer to what was sent last."""
        deadline = time.monotonic() + seconds
        while (answer := self.poll(max(0.0, deadline - time.monotonic()))) is None:
            if time.monotonic() >= deadline:
                raise Late(f"no answer within {seconds:g} s")
        return answer

    def ask(self, value: Mapping[str, Any], seconds: float) -> Answer:
        self.send(value)
        return self.answer(seconds)

    def end_of_log(self, count: int = 6000) -> str:
        """As far as it is its own: an earlier process of this name may have begun it."""
        with self.log.open("rb") as log:
            log.seek(max(self._begins, log.seek(0, os.SEEK_END) - count))
            return log.read().decode(errors="replace")

    def freeze(self) -> None:
        freeze_session(self.process.pid)

    def thaw(self) -> None:
        thaw_session(self.process.pid)

    def kill(self) -> int:
        """SIGKILL to everybody in its session, all stopped first; the status that the first process ended with. It may
        have ended by itself and left others behind. A second time nothing is done: its number may be another's."""
        if self._status is None:
            with suppress(TimeoutError):
                self.freeze()
            kill_session(self.process.pid)
            self._status = self.process.wait()
            self._scratch.forget(self.process.pid)
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe:
                    with suppress(BrokenPipeError):
                        pipe.close()
        return self._status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Session(Process):
    """Requests and answers: one JSON object per line, on its standard input and output."""

    def __init__(
        self,
        scratch: Scratch,
        command: Sequence[str],
        environment: Mapping[str, str],
        name: str = "session",
        folder: Path | None = None,
    ) -> None:
        super().__init__(scratch, command, environment, name, folder)
        self._buffer = b""
        self._sent = 0

    def send(self, value: Mapping[str, Any]) -> None:
        """Numbered: an answer that nobody waited for must not be taken for that to a later request."""
        assert self.process.stdin
        self._sent += 1
        try:
            self.process.stdin.write(json.dumps({**value, "request": self._sent}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Died(self.end_of_log()) from None

    def poll(self, seconds: float = 0) -> Answer | None:
        if b"\n" not in self._buffer:
            if not select([self], [], [], seconds)[0]:
                return None
            data = os.read(self.fileno(), 1 << 20)
            if not data:
                raise Died(self.end_of_log())
            self._buffer += data
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        answer: Answer = json.loads(line)
        return answer if answer.pop("request", self._sent) == self._sent else None

    def fileno(self) -> int:
        assert self.process.stdout
        return self.process.stdout.fileno()


class WarmSession:
    """A session that is there when it is asked: started at the first request, and again after one that did not end."""

    def __init__(self, start: Callable[[], Session], session: Session | None = None) -> None:
        self._start = start
        self._session = session

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:
        if self._session is None:
            self._session = self._start()
        try:
            return self._session.ask(request, seconds)
        except (Late, Died):
            self.close()  # what hangs may hold locks that the next request needs
            raise

    def close(self) -> None:
        if self._session is not None:
            self._session.kill()
            self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def environment_for(python: Path, path: Sequence[Path] = ()) -> dict[str, str]:
    """That of a process that runs Spark with this Python."""
    environment = os.environ | {
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    for unwanted in ("SPARK_HOME", "JAVA_TOOL_OPTIONS", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"):
        environment.pop(unwanted, None)
    if path:
        environment["PYTHONPATH"] = os.pathsep.join(map(str, path))
    return environment
