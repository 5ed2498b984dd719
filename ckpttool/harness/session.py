"""A process in a session of its own that answers requests: one JSON object per line, on its standard input and output.

It can be frozen whole, with everything it has started, and killed whole. Its log is a file in the scratch directory.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

from ckpttool.harness.scratch import Scratch, freeze_session, kill_session, thaw_session

Answer = dict[str, Any]


class Died(Exception):
    """The process ended before it answered; the message holds the end of its log."""


class Late(Exception):
    """No answer came in time. The process is still there."""


class Session:
    def __init__(
        self,
        scratch: Scratch,
        command: Sequence[str],
        environment: Mapping[str, str],
        name: str = "session",
        folder: Path | None = None,
        talks: bool = True,
    ) -> None:
        """`folder`: where it is started. `talks`: by its standard input and output; else they are its log's."""
        self._scratch = scratch
        logs = scratch.folder("processes")
        self.log = logs / f"{name}.log"
        self._begins = self.log.stat().st_size if self.log.exists() else 0
        self._buffer = b""
        self._sent = 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else log,
                stderr=log,
                env=dict(environment),
                start_new_session=True,
                cwd=folder or logs,
            )
        scratch.watch(self.process.pid)

    def send(self, value: Mapping[str, Any]) -> None:
        """Numbered: an answer that nobody waited for must not be taken for that to a later request."""
        assert self.process.stdin
        self._sent += 1
        try:
            self.process.stdin.write(json.dumps({**value, "request": self._sent}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Died(self.told()) from None

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

    def poll(self, seconds: float = 0) -> Answer | None:
        """The answer, if it comes within this time."""
        if b"\n" not in self._buffer:
            if not select([self], [], [], seconds)[0]:
                return None
            data = os.read(self.fileno(), 1 << 20)
            if not data:
                raise Died(self.told())
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

    def told(self, count: int = 6000) -> str:
        """The end of its log, as far as it is its own: an earlier one may have begun it."""
        with self.log.open("rb") as log:
            log.seek(max(self._begins, log.seek(0, os.SEEK_END) - count))
            return log.read().decode(errors="replace")

    def freeze(self) -> None:
        freeze_session(self.process.pid)

    def thaw(self) -> None:
        thaw_session(self.process.pid)

    def kill(self) -> int:
        """SIGKILL to everybody in it, all stopped first; the status that the first process ended with."""
        with suppress(TimeoutError):
            self.freeze()
        kill_session(self.process.pid)
        status = self.process.wait()
        self._scratch.forget(self.process.pid)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()
        return status

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.kill()


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
