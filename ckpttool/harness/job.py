"""What is put on trial: a PySpark job in a session that answers requests, or somebody's own command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.formats.metadata import parse_metadata
from ckpttool.harness.disk import sink_kind
from ckpttool.harness.history import Disk, Run
from ckpttool.harness.job_sink import JobSink
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Ask, Process
from ckpttool.harness.settings import TrialSettings


class Job(Protocol):
    """What a trial asks of it, in this order. Before that its input is made, by a `prepare` of its own, which gives the
    `Run` that the trial begins with.

    `seconds`: that one run may take. `starts_anew`: each run is a process of its own, which knows nothing but files."""

    scratch: Scratch
    scenario: Scenario
    settings: TrialSettings
    place: JobPlace
    sink: JobSink
    seconds: float
    starts_anew: bool

    def start(self, name: str, java_options: Sequence[str] = ()) -> Process:
        """A process that runs the query, at once or when it is sent the request."""

    def request(self, run: Run) -> dict[str, Any]:
        """To run the query, as `run` has it: with its settings."""

    def check(self, run: Run, ask: Ask) -> Run:
        """After a run without a crash: with what only that shows. Refused if nobody could judge this job."""


def as_seen(run: Run, job: Job) -> Run:
    """What a run without a crash tells of a job that nobody knows: its sink, and what is in it."""
    kind = sink_kind(job.place.sink)
    disk = job.sink.read(kind)
    if not disk.visible:
        raise Refused(
            f"{run.scenario} wrote no rows that can be read to {job.place.sink}",
            "write Delta, Parquet or JSON to the sink that build() is given",
        )
    if lacking := [name for name in run.identity if name not in disk.visible[0]]:
        raise Refused(
            f"the sink's rows have no column {lacking[0]}, which IDENTITY names",
            "name columns that every row of the sink has",
        )
    # Under an id that is not the query's own the job itself records batches, as by txnAppId.
    apps = {commit.app_id for commit in disk.sink or () if commit.app_id} - {_query_id(disk)}
    ledger = kind == "file" or any(commit.batch_id is not None for commit in disk.sink or ())
    sink = replace(run.sink, kind=kind, ledger=ledger, app_id=min(apps, default=None))
    return replace(run, sink=sink, undisturbed=disk.visible)


def _query_id(disk: Disk) -> str | None:
    return parse_metadata(disk.metadata.encode()).id if disk.metadata else None
