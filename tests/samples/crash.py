"""Real crashes: SIGKILL of the whole process group while the JVM is frozen at an exact point."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from ckpttool.harness.jdwp import Controller, Hit, Point
from tests.samples.catalogue import Kill
from tests.samples.process import SparkProcess

# The points of one batch in the order in which they are passed.
POINTS = {
    point.name: point
    for point in (
        Point("query-id-written", "*.StreamMetadata$", "write", "exit"),
        Point("source-log-written", "*.HDFSMetadataLog", "add", "exit", "FileStreamSourceLog"),
        Point("offset-log-renaming", "*.FileContextBasedCheckpointFileManager", "renameTempFile", "entry"),
        Point("offset-log-written", "*.HDFSMetadataLog", "add", "exit", "OffsetSeqLog"),
        Point("state-store-committed", "*.HDFSBackedStateStoreProvider$HDFSBackedStateStore", "commit", "exit"),
        Point("sink-log-begun", "*.HDFSMetadataLog", "add", "entry", "FileStreamSinkLog"),
        Point("commit-log-begun", "*.HDFSMetadataLog", "add", "entry", "CommitLog"),
    )
}


def kill_at(kill: Kill, spark: str, needs: Sequence[str], request: dict[str, Any], **process: Any) -> Hit:
    """Run the query, freeze it at the point, and kill it there."""
    with (
        Controller([POINTS[kill.point]]) as controller,
        SparkProcess(spark, needs, java_options=controller.java_option, cores=kill.cores, **process) as running,
    ):
        controller.accept()
        running.ask(request)
        hit = controller.wait_for(kill.point, kill.batch_id)
        running.kill()
        _await_death_of_group(running.process.pid)
        if running.process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the process ended with {running.process.returncode} before it was killed")
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
