"""Real crashes: SIGKILL of the whole process group while the JVM is frozen at an exact point."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from ckpttool.harness.jdwp import Controller, Hit
from ckpttool.harness.points import breakpoints, stops
from tests.samples.catalogue import Kill
from tests.samples.process import SparkProcess

# Each kill's name, and the points that are passed one after the other until it; the table names them.
POINTS = {
    "query-id-written": ("query-id-end",),
    "source-log-written": ("source-log-end",),
    "offset-log-renaming": ("offset-log-begin", "rename-begin"),
    "offset-log-written": ("offset-log-end",),
    "state-store-committed": ("state-commit-end",),
    "sink-log-begun": ("sink-log-begin",),
    "commit-log-begun": ("commit-log-begin",),
}


CHOSEN = stops(["files", "file-sink", "hdfs-state"])


def spell(kill: Kill) -> str:
    """`exit of HDFSMetadataLog.add of OffsetSeqLog`."""
    stop = CHOSEN[POINTS[kill.point][-1]]
    whose = f" of {stop.place.this}" if stop.place.this else ""
    return f"{stop.end} of {stop.place.classes[0].removeprefix('*.')}.{stop.place.method}{whose}"


def kill_at(kill: Kill, spark: str, needs: Sequence[str], request: dict[str, Any], **process: Any) -> Hit:
    """Run the query, freeze it at the point, and kill it there."""
    with (
        Controller(breakpoints({name: CHOSEN[name] for name in POINTS[kill.point]})) as controller,
        SparkProcess(spark, needs, java_options=controller.java_option, cores=kill.cores, **process) as running,
    ):
        while not controller.accept(running.process.pid):
            pass
        running.ask(request)
        for name in POINTS[kill.point]:
            hit = _await_hit(controller, name, kill.batch_id)
        running.kill()
        _await_death_of_group(running.process.pid)
        if running.process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the process ended with {running.process.returncode} before it was killed")
    return hit


def _await_hit(controller: Controller, name: str, batch_id: int | None) -> Hit:
    """It comes back with every Java thread suspended."""
    while True:
        for hit in controller.take_hits():
            if hit.point == name and batch_id in (None, hit.batch_id):
                return hit


def _await_death_of_group(group: int, seconds: float = 10) -> None:
    """The JVM is a child of the killed Python; it is gone when nobody is left in the group."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise RuntimeError(f"somebody in the process group {group} survived SIGKILL")
