"""The next batches of a query, run by its new code and by its old one on clones of the checkpoint, from one input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.scratch import Scratch
from ckpttool.laws.restart import possible_releases
from ckpttool.query.job import JobSettings, python_of
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.needed_state import asks_for_state, load_state_at
from ckpttool.rehearsal.agreement import agrees
from ckpttool.rehearsal.child import code_of
from ckpttool.rehearsal.model import CodeRun, Rehearsal, SinkIs, Which
from ckpttool.rehearsal.rows import compare
from ckpttool.rehearsal.stage import Stage
from ckpttool.rehearsal.watch import Watch
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import is_local, redact_url

_BATCHES = "rehearse a query of Structured Streaming that runs in micro-batches"


class Rehearsed(Struct, frozen=True):
    """How it is done. `settings`: of both jobs, else those of the Python that is active. `rows`: how many a batch may
    take of a source, if the job is not to say so. `identity`: the columns that tell rows apart, else all. `work`: the
    directory for all that is written, else a new one. `watch`: what else must stay as it is, beside the checkpoint.
    `sink`: `run` calls functions of foreachBatch, whose writes go to clones; what they do beside Spark is done."""

    settings: JobSettings | None = None
    batches: int = 1
    rows: int | None = None
    identity: Sequence[str] = ()
    work: Path | None = None
    keep: bool = False
    watch: Sequence[str] = ()
    sink: SinkIs = "capture"


def rehearse(
    url: str,
    job: str,
    was_job: str | None = None,
    how: Rehearsed | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Rehearsal:
    """The next batch of the query at `url`, run by `job` and by `was_job`: `JOB.py`, or `JOB.py::QUERY`. Nothing is
    written but in one directory of ours, and no sink's code is run unless `how` says so."""
    store, watch = open_store(url, storage_options), Watch(storage_options or {})
    how = how or Rehearsed()
    settings = how.settings or JobSettings(python_of(None))
    scene = look(store)
    for one in (url, *how.watch):
        _refuse_within(how.work, one)
        watch.add(one)
    with Scratch(how.work, how.keep) as scratch, ExitStack() as children:
        stage = Stage(scratch, store, scene, children, watch, how.rows, how.sink)
        codes: dict[Which, str] = {"old": was_job, "new": job} if was_job else {"new": job}
        for which, code in codes.items():
            stage.start(which, code_of(code), settings)
        runs = [stage.run("old", how.batches)] if was_job else []
        if runs and runs[0].outcome != "done":
            runs.append(CodeRun("new", "not_reached", why="the old code came to no batch that could be replayed"))
        else:
            runs.append(stage.run("new", how.batches))
        both_done = len(runs) == 2 and all(run.outcome == "done" for run in runs)
        rows = compare(stage.rows("old"), stage.rows("new"), how.identity) if both_done else None
        written = tuple(stage.written(how.identity)) if both_done else ()
        same = rows is None or (rows.is_same and all(one.is_same for one in written))
        steady = same or stage.is_steady()
        if not steady:
            stage.not_rehearsed["what is due to the code: the old one gives other rows each time"] = None
        told_before = agrees(
            store, scene.checkpoint, storage_options, stage.queries, runs[-1], rows if steady else None
        )
        touched = tuple(watch.touched())
    return Rehearsal(
        checkpoint=redact_url(store.url),
        batch_ids=stage.batch_ids,
        range=stage.range,
        clone=stage.clone,
        runs=runs,
        rows=rows,
        written=written,
        steady=steady,
        agrees_with_check_change=told_before,
        not_rehearsed=tuple(stage.not_rehearsed),
        touched=touched,
        kept=str(scratch.root) if how.keep else None,
    )


def look(store: Store) -> Scene:
    """With the files of the state that the next batch begins with; all that a snapshot of RocksDB names among them."""
    evidence = gather_evidence(load_checkpoint(store, batches=ONLY_OPENED))
    if evidence.mode == "dstreams":
        raise Refused("a DStreams checkpoint has no batches that could be run again", _BATCHES)
    scene = Scene(evidence, Start(possible_releases(evidence)[-1]))
    if how := _of_no_plain_batches(scene):
        raise Refused(f"{how} is not rehearsed: its batches are not those of another trigger", _BATCHES)
    if not asks_for_state(scene):
        return scene
    files = load_state_at(store, scene, scene.next_id, "quick")
    if any(one.provider == "rocksdb" or one.unique_id is not None for one in files.stores):
        files = load_state_at(store, scene, scene.next_id, "full")
    return replace(scene, states={scene.next_id: files})


def _of_no_plain_batches(scene: Scene) -> str | None:
    modes = {
        "continuous processing": scene.is_continuous,
        "real-time mode": scene.is_realtime,
        "asynchronous progress tracking": scene.is_async,
    }
    return next((mode for mode, is_so in modes.items() if is_so), None)


def _refuse_within(work: Path | None, url: str) -> None:
    if work and is_local(url) and work.resolve().is_relative_to(Path(url.removeprefix("file://")).resolve()):
        raise Refused(f"{work} lies in {url}, where nothing is to be written", "give another --work DIR")
