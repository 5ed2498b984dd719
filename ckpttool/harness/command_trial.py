"""A command on trial: what it leaves is found by its specification, and each recovery is a run of it.

A run takes as long as the command does, so what is the same is recovered from once: crashes at different points often
leave the same files, and a process that starts anew knows nothing but these.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from ckpttool.connectors import recognise_offset
from ckpttool.errors import MalformedFile, NotFound, Refused, Unavailable
from ckpttool.formats import layout
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.harness.command import UNTOLD, Anew, Command, spark_on
from ckpttool.harness.contract import Spec, load_spec
from ckpttool.harness.crashes import crash_of
from ckpttool.harness.disk import delta_commits
from ckpttool.harness.history import Case, Disk, Histories, Run, Source
from ckpttool.harness.images import Image, Images, contents
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.place import JobPlace
from ckpttool.harness.points import breakpoints
from ckpttool.harness.recover import Spark
from ckpttool.harness.scenarios import Scenario, job_scenario
from ckpttool.harness.scratch import Scratch, clear
from ckpttool.harness.session import Answer, Died, Late
from ckpttool.harness.settings import Settings
from ckpttool.harness.trial import Progress, Trial
from ckpttool.harness.victim import Harvest, connect, last_line
from ckpttool.harness.wire import JdwpError

OF_LINES = (".json", ".jsonl", ".ndjson", ".csv", ".txt")
FIRST_BATCHES = (0, 1, 2)  # the last of them that it runs is crashed


@dataclass(frozen=True, slots=True)
class CommandPlace(JobPlace):
    """`spec`: says where below the root things lie."""

    spec: Spec

    @property
    def checkpoint(self) -> Path:
        return Path(self.spec.checkpoint)

    @property
    def sink(self) -> Path:
        return Path(self.spec.sink.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The one may lie in the other."""
        names = [PurePath(path).relative_to(self.root) for path in (self.checkpoint, self.sink)]
        outer = [one for one in names if not any(other != one and one.is_relative_to(other) for other in names)]
        return tuple(dict.fromkeys(map(str, outer)))


def command_scenario(path: Path) -> Scenario:
    """Nothing is known of it but its specification."""
    return replace(job_scenario(path), surely=(), crashed=FIRST_BATCHES)


class CommandTrial(Trial):
    """`suffix`: behind its name, where it is tried with less."""

    def __init__(
        self, scratch: Scratch, path: Path, settings: Settings, told: Progress = lambda *_: None, suffix: str = ""
    ) -> None:
        scenario = command_scenario(path)
        super().__init__(scratch, replace(scenario, name=scenario.name + suffix), settings, told)
        self.folder = path.parent
        root = self.place.root
        self.spec = load_spec(str(path), root)
        self.settings = replace(settings, seconds=self.spec.timeout_s)
        self.place = CommandPlace(root, self.spec)
        self.images = Images(self.images.folder, self.place.parts)
        self._recovered: dict[str, Case] = {}
        self._check()

    def _check(self) -> None:
        """What can be told before anything runs."""
        program = self.spec.command[0]
        if not (shutil.which(program) or shutil.which(str(self.folder / program))):
            raise Refused(f"{self.scenario.job}: {program} is not a command", "name a program that can be started")
        if self.spec.input is not None and not (self.folder / self.spec.input).is_dir():
            raise NotFound(f"{self.scenario.job}: the input {self.spec.input} is no directory")
        for what, place in (("checkpoint", self.place.checkpoint), ("sink", self.place.sink)):
            if place.is_relative_to(self.place.input):
                raise Refused(f"{self.scenario.job}: the {what} lies in {{scratch}}/input", "the input is copied there")

    def start(self, java_options: tuple[str, ...] = ()) -> Command:
        return Command(self.scratch, self.spec, self.folder, self.scenario.name, java_options)

    # -- the victim

    def prepare(self, ask: Callable[[Mapping[str, Any]], Answer]) -> Run:  # noqa: ARG002
        for folder in (self.place.root, self.images.folder):
            clear(self.scratch.inside(folder))
        if self.spec.input is not None:
            copy_input(self.folder / self.spec.input, self.place.input, self.settings.only)
        return Run(
            scenario=self.scenario.name,
            seed=self.settings.seed,
            spark_version=self.settings.release,
            sources=(),
            operator=self.scenario.operator,
            sink=replace(self.scenario.sink, path=str(self.place.sink)),
            guarantee=self.scenario.guarantee,
            identity=self.spec.identity,
            records=(),
        )

    def request(self) -> dict[str, Any]:
        return {"do": "run", "conf": {}, "seconds": self.spec.timeout_s}

    def as_seen(self, run: Run) -> Run:
        if not (self.place.checkpoint / layout.OFFSETS).is_dir():
            raise Refused(
                f"{self.scenario.name} ended, and no query has left a checkpoint in {self.spec.checkpoint}",
                "give the query the checkpoint that the specification names",
            )
        run = super().as_seen(run)
        if (run.sink.kind == "delta") != (self.spec.sink.kind == "delta"):
            seen = "a Delta table" if run.sink.kind == "delta" else "no Delta table"
            raise Refused(f"the sink of {self.scenario.name} is {seen}, and its kind is {self.spec.sink.kind}")
        if run.sink.kind == "delta" and (why := _unreadable(self.place.sink)):
            raise Refused(f"the sink of {self.scenario.name} is a Delta table with {why}, which is not read here")
        return replace(run, sources=tuple(_sources(self.read())))

    def compare_readers(self, ask: Callable[[Mapping[str, Any]], Answer]) -> None:
        """There is no Spark to ask."""

    # -- the recoveries

    def crashed_images(self) -> list[Image]:
        """Of the last batch that was committed, unless batches were asked for."""
        images = list(self.images)
        last = max((image.batch_id or 0 for image in images if image.window == "done"), default=None)
        return [image for image in images if self.settings.batches or image.batch_id == last]

    def recover_image(self, spark: Spark, image: Image, armed: bool, run_id: str) -> Case:
        key = str(sorted(contents(self.images.path(image)).items()))
        case = self._recovered.get(key)
        if case is None:
            case = self._recovered[key] = super().recover_image(spark, image, armed, run_id)
            if any(one.failure and one.failure.class_name.startswith(UNTOLD) for one in case.restarts):
                case = self._recovered[key] = replace(case, prediction=None)  # nothing to hold it against
            return case
        crash = crash_of(image, case.crashes[0].disk, armed)
        path = self.images.path(image)
        name = f"image-{crash.point}-{crash.batch_id}-{crash.nth}"
        replay = f"ckpt crash-test replay {path}"
        return replace(case, name=name, crashes=(crash,), image=str(path), replay=replay, seconds=0.0)


def try_command(scratch: Scratch, path: Path, settings: Settings, told: Progress = lambda *_: None) -> Histories:
    """Its victim, then a recovery from every image."""
    trial = CommandTrial(scratch, path, settings, told)
    run, taken = harvest_command(trial)
    with Anew(trial.start) as spark:
        return Histories(run, tuple(trial.cases(spark, taken)))


def harvest_command(trial: CommandTrial) -> tuple[Run, Harvest]:
    run = trial.prepare(lambda _: {})
    with Controller(breakpoints(trial.chosen), first_batch=0) as controller:
        session = trial.start((controller.java_option,))
        with session:
            _await_spark(trial, session, controller)
            run = replace(run, spark_version=trial.settings.release)
            try:
                return trial.harvest(session, controller, run)
            except (Died, JdwpError) as error:
                raise Unavailable(f"Spark ended, or hangs: {last_line(str(error))}", f"see {session.log}") from None


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


def _await_spark(trial: CommandTrial, session: Command, controller: Controller) -> None:
    """Until its JVM is there, and says which Spark it has."""
    name, see = trial.scenario.name, f"see {session.log}"
    try:
        connect(session, controller, trial.spec.timeout_s)
    except Died as error:
        status = session.process.returncode
        said = last_line(str(error))
        raise Refused(
            f"{name} ended with status {status} before it started a Spark{said and f': {said}'}", see
        ) from None
    except Late:
        raise Refused(
            f"{name} started no Spark within {trial.spec.timeout_s:g} s",
            "start it with spark-submit, or with pyspark; SPARK_SUBMIT_OPTS has to reach its driver",
        ) from None
    release = spark_on(controller.class_path())
    if release is None:
        raise Refused(f"{name} started a Java without a spark-core…jar on its class path", see)
    trial.settings = replace(trial.settings, release=release)


def _sources(disk: Disk) -> list[Source]:
    """By their offsets, as the last batch has them."""
    batch = max(disk.offsets)
    try:
        lines = parse_offset_log(disk.offsets[batch].encode(), batch).sources
        kinds = {line.index: recognise_offset(line.text).kind for line in lines if line.text is not None}
    except MalformedFile:
        return []
    return [Source(index=index, kind=kind) for index, kind in kinds.items()]


def _unreadable(table: Path) -> str | None:
    """What our own reading of its files would get wrong."""
    for path in (table / "_delta_log").glob("*.json"):
        if b'"deletionVector":{' in path.read_bytes():
            return "deletion vectors"
    for commit in delta_commits(table):
        if commit.metadata and commit.metadata.configuration.get("delta.columnMapping.mode", "none") != "none":
            return "column mapping"
    return None
