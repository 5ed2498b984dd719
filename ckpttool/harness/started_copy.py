"""A checkpoint that a plan has mended, started once before its fence falls, by the user's own command: on a copy of it
and of its sink. The originals are read, and nothing else.

The command is ended as soon as it has committed a batch, which tells all that was promised.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ckpttool.apply.outcome import SparkStart
from ckpttool.apply.plan_file import PlanFile
from ckpttool.errors import MalformedFile, Refused, Unavailable
from ckpttool.formats import layout
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.formats.whole_urls import with_urls
from ckpttool.harness.command import spark_in
from ckpttool.harness.command_job import CommandJob
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import ObservedRestart
from ckpttool.harness.recover import UNNAMED, committed, recover
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Late
from ckpttool.harness.settings import TrialSettings
from ckpttool.plan.moved_urls import Known
from ckpttool.reading.sinks import NAMED
from ckpttool.scene.batches import offset_json
from ckpttool.storage.store import Store, is_directory, read_pieces, read_whole

LOGS = (layout.DELTA_LOG, layout.FILE_SINK_LOG)
WITH_URLS = ("sources", "schemas", "sink-log")  # kinds of files that may name others
BETWEEN_S = 0.2
ENDED: Answer = {"failed": None, "started": True, "run_id": None}


class StartedCopy:
    def __init__(self, scratch: Scratch, spec: Path, plan: PlanFile) -> None:
        """Refused if the command cannot be started, or leaves not what the plan is about."""
        self._root = scratch.root
        self._job = CommandJob(scratch, spec, TrialSettings(Driver(Path("python3")), ""))
        self._release: str | None = None
        ours, sinks = (
            self._job.spec.sink.kind,
            [mark for mark in plan.relies_on.sinks if mark.path.lower() not in NAMED],
        )
        if [mark.kind for mark in sinks] not in ([], [ours]):
            theirs = " and ".join(f"{mark.path} ({mark.kind})" for mark in sinks)
            raise Refused(f"{spec}: the sink is one of kind {ours}, and the plan's is {theirs}",
                          "only a Delta table or files can be copied for a Spark, and one of them: leave out"
                          " --verify-with-spark")  # fmt: skip

    def __call__(
        self, plan: PlanFile, checkpoint: Store, sinks: Mapping[str, Store], interrupted: Callable[[], bool]
    ) -> SparkStart:
        request = self._job.request(self._job.prepare())
        try:
            self._lay(plan, checkpoint, sinks)
        except OSError as error:
            raise Unavailable(
                f"the copy in {self._root} cannot be written: {error.strerror}",
                "make room, or set XDG_STATE_HOME to another disk",
            ) from None
        (restart,) = recover(partial(self._ask, interrupted), request, self._job.place, attempts=1)
        return SparkStart(
            version=self._release,
            batch_id=restart.first_batch,
            sources=list(self._read_in(restart.first_batch)),
            error=_error(restart),
        )

    # -- the copy

    def _lay(self, plan: PlanFile, checkpoint: Store, sinks: Mapping[str, Store]) -> None:
        place, spec = self._job.place, self._job.spec
        moved = [(plan.checkpoint, place.checkpoint), *((path, place.sink) for path in sinks)]
        if spec.input is not None:
            moved.append((os.path.abspath(self._job.folder / spec.input), place.input))
        becomes = Known([(old, str(new)) for old, new in moved]).becomes
        for path, sink in sinks.items():
            _copy(sink, place.sink, becomes, without=plan.checkpoint.removeprefix(f"{path.rstrip('/')}/"))
        _copy(checkpoint, place.checkpoint, becomes)

    # -- the start

    def _ask(self, interrupted: Callable[[], bool], request: Mapping[str, Any], seconds: float) -> Answer:  # noqa: ARG002
        """Until it ends by itself, or has committed a batch."""
        job, deadline = self._job, time.monotonic() + request["seconds"]
        before = committed(job.place)
        with job.start(job.scenario.name) as process:
            while time.monotonic() < deadline:
                answer = process.poll(BETWEEN_S)
                self._release = self._release or spark_in(process.process.pid)
                if answer is not None:
                    return answer
                if committed(job.place) != before:
                    return ENDED
                if interrupted():
                    raise KeyboardInterrupt
        raise Late(f"no batch was committed within {request['seconds']:g} s")

    def _read_in(self, batch: int | None) -> Iterator[dict[str, Any]]:
        """What the offsets around it say; nothing of what is not there."""
        if batch is None or (ends := self._offsets(batch)) is None:
            return
        starts = self._offsets(batch - 1) if batch else dict.fromkeys(ends)
        for index, end in ends.items():
            begun = {} if starts is None else {"start": starts.get(index)}
            yield {"index": index, **begun, "end": end}

    def _offsets(self, batch: int) -> dict[int, Any] | None:
        try:
            body = (self._job.place.checkpoint / layout.offsets(batch)).read_bytes()
            return {line.index: offset_json(line.text) for line in parse_offset_log(body, batch).sources}
        except (OSError, MalformedFile):
            return None


def _error(restart: ObservedRestart) -> dict[str, str | None] | None:
    """A failure after the first batch is not of what was promised."""
    failure = restart.failure
    if failure is None or restart.first_batch is not None:
        return None
    if failure.class_name.startswith(UNNAMED) or failure.class_name == "TimeoutError":
        told = failure.class_name.removesuffix("TimeoutError")
        return {"class": None, "condition": None, "message": ": ".join(filter(None, [told, failure.message]))}
    return {"class": failure.class_name, "condition": failure.condition, "message": failure.message}


def _copy(store: Store, target: Path, becomes: Callable[[str], str], without: str = "") -> None:
    """`without`: the checkpoint, where it lies in its sink. A file that names others has no checksum there."""
    target.mkdir(parents=True, exist_ok=True)
    store.survey()
    changed = [path for path in _below(store, without) if _copied(store, path, target / path, becomes)]
    for path in changed:
        (target / layout.hadoop_crc(path)).unlink(missing_ok=True)


def _below(store: Store, without: str, folder: str = "") -> Iterator[str]:
    """Its files. A sink's log first: what it names is there then, and stays."""
    names = sorted(store.list(folder), key=lambda name: (name not in LOGS, name))
    for path in (f"{folder}/{name}" if folder else name for name in names):
        if path == without:
            continue
        if is_directory(store, path):
            yield from _below(store, without, path)
        else:
            yield path


def _copied(store: Store, path: str, target: Path, becomes: Callable[[str], str]) -> bool:
    """Whether it became another one by that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if layout.kind_of(path) not in WITH_URLS and not layout.is_schema_log(path):
        with target.open("wb") as file:
            file.writelines(read_pieces(store, path))
        return False
    body = read_whole(store, path)
    target.write_bytes(followed := _followed(body, becomes))
    return followed != body


def _followed(body: bytes, becomes: Callable[[str], str]) -> bytes:
    try:
        return with_urls(body, becomes)
    except MalformedFile:  # of another kind, or damaged as the original is
        return body
