"""Somebody's own command as a job: its specification says where it leaves what, and each run of the query is a run of
it. No Spark is there to be asked, so all else is seen in the files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool.connectors import recognise_offset
from ckpttool.errors import MalformedFile, NotFound, Refused
from ckpttool.formats import layout
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.harness.command import CommandRun, spark_on
from ckpttool.harness.contract import load_spec
from ckpttool.harness.disk import delta_commits
from ckpttool.harness.history import Disk, QuerySource, Run
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.job import as_seen
from ckpttool.harness.job_sink import JobSink, SinkDirectory
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch, clear
from ckpttool.harness.session import Answer, Ask, Died, Late
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.victim import await_jvm, last_line

OF_LINES = (".json", ".jsonl", ".ndjson", ".csv", ".txt")
FIRST_BATCHES = (0, 1, 2)  # the last of them that it runs is crashed


class CommandJob:
    """`suffix`: behind its name, where it is tried with less."""

    starts_anew = True

    def __init__(self, scratch: Scratch, path: Path, settings: TrialSettings, suffix: str = "") -> None:
        scenario = job_scenario(path)  # nothing is known of it but its specification
        self.scenario = replace(scenario, name=scenario.name + suffix, surely=(), crashed=FIRST_BATCHES)
        root = scratch.folder("work", self.scenario.name)
        self.scratch, self.settings, self.folder = scratch, settings, path.parent
        self.spec = load_spec(str(path), root)
        self.seconds = self.spec.timeout_s
        checkpoint, sink = (str(Path(one).relative_to(root)) for one in (self.spec.checkpoint, self.spec.sink.path))
        self.place = JobPlace(root, (checkpoint, sink))
        self.sink: JobSink = SinkDirectory(self.place)
        self._require_what_it_names()

    def _require_what_it_names(self) -> None:
        """What can be told before anything runs."""
        program = self.spec.command[0]
        if not (shutil.which(program) or shutil.which(str(self.folder / program))):
            raise Refused(f"{self.scenario.job}: {program} is not a command", "name a program that can be started")
        if self.spec.input is not None and not (self.folder / self.spec.input).is_dir():
            raise NotFound(f"{self.scenario.job}: the input {self.spec.input} is no directory")
        for what, place in (("checkpoint", self.place.checkpoint), ("sink", self.place.sink)):
            if place.is_relative_to(self.place.input):
                raise Refused(f"{self.scenario.job}: the {what} lies in {{scratch}}/input", "the input is copied there")

    def prepare(self) -> Run:
        clear(self.scratch.inside(self.place.root))
        if self.spec.input is not None:
            copy_input(self.folder / self.spec.input, self.place.input, self.settings.only)
        return Run(
            scenario=self.scenario.name,
            seed=self.settings.seed,
            spark_version="",  # which Spark it starts is seen when it does
            sources=(),
            operator=self.scenario.operator,
            sink=replace(self.scenario.sink, path=str(self.place.sink)),
            guarantee=self.scenario.guarantee,
            identity=self.spec.identity,
            records=(),
        )

    def start(self, name: str, java_options: Sequence[str] = ()) -> CommandRun:
        return CommandRun(self.scratch, self.spec, self.folder, name, java_options)

    def await_jvm(self, process: CommandRun, controller: Controller) -> None:
        """Refused if none comes, since then it is the command that is wrong."""
        name, see = self.scenario.name, f"see {process.log}"
        try:
            await_jvm(process, controller, self.seconds)
        except Died as error:
            ended = f"{name} ended with status {process.process.returncode} before it started a Spark"
            said = last_line(str(error))
            raise Refused(f"{ended}: {said}" if said else ended, see) from None
        except Late:
            raise Refused(
                f"{name} started no Spark within {self.seconds:g} s",
                "start it with spark-submit, or with pyspark; SPARK_SUBMIT_OPTS has to reach its driver",
            ) from None

    def spark_of(self, process: CommandRun, controller: Controller) -> str:
        """The release of the Spark that it has started."""
        release = spark_on(controller.class_path())
        if release is None:
            name = self.scenario.name
            raise Refused(f"{name} started a Java without a spark-core…jar on its class path", f"see {process.log}")
        return release

    def request(self, run: Run) -> dict[str, Any]:
        return {"conf": dict(run.conf), "seconds": self.seconds}

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:  # noqa: ARG002
        """A run of it, after which nothing of it is left."""
        with self.start(self.scenario.name) as process:
            return process.answer(request["seconds"])

    def check(self, run: Run, ask: Ask) -> Run:  # noqa: ARG002
        if not (self.place.checkpoint / layout.OFFSETS).is_dir():
            raise Refused(
                f"{run.scenario} ended, and no query has left a checkpoint in {self.spec.checkpoint}",
                "give the query the checkpoint that the specification names",
            )
        run = as_seen(run, self)
        if (run.sink.kind == "delta") != (self.spec.sink.kind == "delta"):
            seen = "a Delta table" if run.sink.kind == "delta" else "no Delta table"
            raise Refused(f"the sink of {run.scenario} is {seen}, and its kind is {self.spec.sink.kind}")
        if run.sink.kind == "delta" and (why := _unreadable(self.place.sink)):
            raise Refused(f"the sink of {run.scenario} is a Delta table with {why}, which is not read here")
        return replace(run, sources=tuple(_sources(self.sink.read(run.sink.kind))))


def copy_input(source: Path, target: Path, only: tuple[int, int] | None) -> None:
    """`only`: so many of its files, in the order of their names, and so many lines of each that is made of lines."""
    if only is None:
        shutil.copytree(source, target)
        return
    files, lines = only
    target.mkdir(parents=True)
    for path in input_files(source)[:files]:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in OF_LINES:
            place.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
            shutil.copystat(path, place)
        else:
            shutil.copy2(path, place)


def size_of_input(source: Path) -> tuple[int, int]:
    """How many files there are, and how many lines the longest has that is made of lines."""
    files = input_files(source)
    counts = (len(path.read_bytes().splitlines()) for path in files if path.suffix in OF_LINES)
    return len(files), max(counts, default=1)


def input_files(source: Path) -> list[Path]:
    return sorted(path for path in source.rglob("*") if path.is_file())


def _sources(disk: Disk) -> list[QuerySource]:
    """By their offsets, as the last batch has them."""
    batch = max(disk.offsets)
    try:
        lines = parse_offset_log(disk.offsets[batch].encode(), batch).sources
        kinds = {line.index: recognise_offset(line.text).kind for line in lines if line.text is not None}
    except MalformedFile:
        return []
    return [QuerySource(index=index, kind=kind) for index, kind in kinds.items()]


def _unreadable(table: Path) -> str | None:
    """What our own reading of its files would get wrong."""
    for path in (table / "_delta_log").glob("*.json"):
        if b'"deletionVector":{' in path.read_bytes():
            return "deletion vectors"
    for commit in delta_commits(table):
        if commit.metadata and commit.metadata.configuration.get("delta.columnMapping.mode", "none") != "none":
            return "column mapping"
    return None
