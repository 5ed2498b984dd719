"""One run of somebody's own command: known only by how it ends, and by what it leaves.

Its Spark connects to the controller by SPARK_SUBMIT_OPTS, which spark-submit and PySpark hand on to the JVM of the
driver and to no other. What it says of a failure is read from Spark's own log.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

from ckpttool.harness.contract import Spec
from ckpttool.harness.recover import UNNAMED
from ckpttool.harness.scratch import Scratch, members
from ckpttool.harness.session import Answer, Process
from ckpttool.harness.victim import last_line

JVM = ("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dspark.ui.enabled=false")
FAILED = "terminated with error\n"  # Spark says so of a query, and the stack trace follows
_CAUSE = re.compile(r"^(?:Caused by: )?((?:[a-z_]\w*\.)+[\w$]+)(?:: (.*))?$", re.MULTILINE)
_FRAME = re.compile(r"^\s+at .*?([\w$]+)\(", re.MULTILINE)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
_NEXT = re.compile(r"^(?:\d\d/\d\d/\d\d \d\d:\d\d:\d\d |Traceback \()", re.MULTILINE)
_SPARK = re.compile(r"/spark-core_[\d.]+-(\d+\.\d+\.\d+)[^/]*\.jar$")


class CommandRun(Process):
    """It needs no request, and its answer is how it ended."""

    def __init__(self, scratch: Scratch, spec: Spec, folder: Path, name: str, java_options: Sequence[str] = ()) -> None:
        environment = dict(os.environ)
        ours = [*JVM, *_places(scratch), *java_options]
        environment["SPARK_SUBMIT_OPTS"] = " ".join([environment.get("SPARK_SUBMIT_OPTS", ""), *ours]).strip()
        super().__init__(scratch, spec.command, environment, name, folder, pipes=False)
        self._end = os.fdopen(os.pidfd_open(self.process.pid), "rb", buffering=0)  # readable when it has ended
        self._run_id = f"process {self.process.pid} {uuid.uuid4()}"  # stands for the query's, which it does not tell

    def send(self, value: Mapping[str, Any]) -> None:
        """It runs already."""

    def poll(self, seconds: float = 0) -> Answer | None:
        if not select([self], [], [], seconds)[0]:
            return None
        status = self.process.wait()
        failed = failures_in(self.end_of_log(100_000), status) if status else None
        return {"error": None, "failed": failed, "late": False, "started": True, "run_id": self._run_id}

    def fileno(self) -> int:
        return self._end.fileno()

    def kill(self) -> int:
        self._end.close()
        return super().kill()


def _places(scratch: Scratch) -> list[str]:
    """What Spark writes beside checkpoint and sink, unless the command says otherwise."""
    local = scratch.folder("local")
    warehouse = scratch.folder("warehouse")
    options = {"java.io.tmpdir": local, "spark.local.dir": local, "spark.sql.warehouse.dir": warehouse}
    return [f'"-D{name}={path}"' if " " in str(path) else f"-D{name}={path}" for name, path in options.items()]


def spark_on(class_path: Sequence[str]) -> str | None:
    """The release of the Spark that a JVM was started with."""
    found = (_SPARK.search(f"/{path}") for path in class_path)
    return next((match[1] for match in found if match), None)


def spark_in(session: int) -> str | None:
    """The release of the Spark that a process of it runs: a JVM keeps the jars open that it takes classes from."""
    opened = []
    for pid in members(session):
        with suppress(OSError):  # it has ended, or opened another file meanwhile
            opened += [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return spark_on(opened)


def failures_in(log: str, status: int) -> list[dict[str, Any]]:
    """The causes of the last failure that Spark's log tells of, from the outermost to the root."""
    _, failed, trace = log.rpartition(FAILED)
    if end := _NEXT.search(trace):
        trace = trace[: end.start()]
    causes = list(_CAUSE.finditer(trace)) if failed else []
    if not causes:
        return [{"class": f"{UNNAMED}{status}", "condition": None, "message": last_line(log), "in": []}]
    ends = [cause.start() for cause in causes[1:]] + [len(trace)]
    return [
        {
            "class": cause[1],
            "condition": condition[1] if (condition := _CONDITION.match(cause[2] or "")) else None,
            "message": cause[2] or "",
            "in": _FRAME.findall(trace[cause.end() : end]),
        }
        for cause, end in zip(causes, ends, strict=True)
    ]
