"""A scenario on trial: run it once, stopped at every point; recover from each crash; write the history down.

The same JVM that was the victim does the recoveries, once the controller has let go of it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ckpttool.api import Restarted
from ckpttool.errors import Refused
from ckpttool.formats.metadata import parse_metadata
from ckpttool.harness.contract import check_input
from ckpttool.harness.crashes import crash_of, never_reached, torn
from ckpttool.harness.disk import DiskReader, data_files, sink_kind
from ckpttool.harness.history import Case, Crash, Disk, Fields, Run, Source, StateRow
from ckpttool.harness.history_json import encode_case, encode_run
from ckpttool.harness.images import Image, Images, remove_parts
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.judge.base import UNKNOWN_JOB, canonical
from ckpttool.harness.kills import NotReached, kill_at
from ckpttool.harness.place import PARTS, JobPlace
from ckpttool.harness.points import breakpoints, drifted, stops
from ckpttool.harness.recover import Spark, predict, recover, state_rows, stores_of
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch, clear
from ckpttool.harness.session import Answer, Died, Late, Session
from ckpttool.harness.settings import Settings
from ckpttool.harness.shrink import At
from ckpttool.harness.sources import Input, given_input, input_of
from ckpttool.harness.tears import ALL, Action, tear, tears
from ckpttool.harness.topics import Topics
from ckpttool.harness.victim import Harvest, asker, connect, harvest, last_line
from ckpttool.harness.witness import read_state, say_the_same
from ckpttool.plan import Wish
from ckpttool.releases import parse_release

READER = "source.json"  # how the job reads its input, kept for replays
READ_SECONDS = 60.0
END = "start the query with trigger(availableNow=True), or give it more time"
Progress = Callable[[str, int, int, float], None]  # scenario, done, of (0: nobody knows), per second


@dataclass(frozen=True, slots=True)
class Again:
    """A recovery that was stopped at every point, like the run before it."""

    first: Crash
    taken: Harvest


class Trial:
    """One scenario in one scratch directory."""

    def __init__(
        self, scratch: Scratch, scenario: Scenario, settings: Settings, told: Progress = lambda *_: None
    ) -> None:
        self.scratch, self.scenario, self.settings = scratch, scenario, settings
        self.place = JobPlace(scratch.folder("work", scenario.name))
        self.images = Images(scratch.folder("images", scenario.name), PARTS, self._write_ends)
        self.chosen, self.required = stops(scenario.groups), stops(scenario.required)
        self.history = scratch.folder("histories") / f"{scenario.name}.jsonl"
        self._told = told
        self._reader = DiskReader(scenario.sink.kind)
        self.input: Input | None = None
        self.topics = _topics(settings) if scenario.sink.kind == "kafka" else None
        self.target = str(self.place.sink)
        self.controls: list[Case] = []

    # -- the victim

    def prepare(self, ask: Callable[[Mapping[str, Any]], Answer]) -> Run:
        """Make the input, and say what is put on trial."""
        told = ask(
            {
                "do": "describe",
                "job": str(self.scenario.job),
                "seed": self.settings.seed,
                "batches": self.scenario.batches,
            }
        )
        if told["error"]:
            raise Refused(f"{self.scenario.job.name}: {told['error'][-1]['message']}", "mend the job's file")
        for folder in (self.place.root, self.images.folder):
            clear(self.scratch.inside(folder))
        rows = given_input(self.settings.input) if self.settings.input else told["input"]
        if rows is None:
            raise Refused(f"{self.scenario.job.name} has no make_input, and no input is given", "give --input")
        for batch, some in enumerate(rows):
            check_input(some, batch)
        if self.settings.only:
            batches, count = self.settings.only
            rows = [some[:count] for some in rows[:batches]]
        self.input = input_of(self.scenario.source, self.place, rows, told["schema"], self.settings.broker)
        self.input.make(ask)
        (self.place.root / READER).write_text(json.dumps(self.input.reader()), encoding="utf-8")
        return Run(
            scenario=self.scenario.name,
            seed=self.settings.seed,
            spark_version=self.settings.release,
            sources=(Source(index=0, kind=self.scenario.source),),
            operator=self.scenario.operator,
            sink=replace(self.scenario.sink, path=str(self.place.sink)),
            guarantee=self.scenario.guarantee,
            control=self.scenario.control,
            identity=tuple(told["identity"]),
            conf=self.scenario.conf,
            records=tuple(self.input.records()),
        )

    def as_before(self, run: Run) -> Trial:
        """Ready to recover, with the input that lies there; `run` as the history has it."""
        self.scenario = replace(self.scenario, sink=run.sink, conf=run.conf)
        self.settings = replace(self.settings, release=run.spark_version)
        self._reader = DiskReader(run.sink.kind)
        return self

    def request(self) -> dict[str, Any]:
        """To run the query."""
        source = json.loads((self.place.root / READER).read_text(encoding="utf-8"))
        inferred = source["format"] == "json" and not source["schema"]
        return {
            "do": "run",
            "job": str(self.scenario.job),
            "conf": dict(self.scenario.conf) | ({"spark.sql.streaming.schemaInference": "true"} if inferred else {}),
            "source": source,
            "sink": self.target,
            "checkpoint": str(self.place.checkpoint),
            "seconds": self.settings.seconds,
        }

    def harvest(self, session: Session, controller: Controller, run: Run) -> tuple[Run, Harvest]:
        self._told(self.scenario.name, 0, 0, 0.0)
        controller.forget_batches(first_batch=0)
        self._new_topic()
        batches = self.settings.batches or self.scenario.crashed
        seconds = 3 * self.settings.seconds  # it runs under the debugger
        request = self.request() | {"seconds": seconds}
        request["conf"] |= self.scenario.victim_conf
        try:
            taken = harvest(session, controller, request, self.chosen, self.images, self.place, batches, seconds + 30)
        except Late:
            raise Refused(f"{self.scenario.name} does not end by itself", END) from None
        if failed := taken.answer["failed"] or taken.answer["error"]:
            raise Refused(
                f"{self.scenario.name} fails by itself: {failed[-1]['class']}: {last_line(failed[-1]['message'])}"
            )
        if taken.answer["late"]:
            raise Refused(f"{self.scenario.name} does not end by itself", END)
        run = self.as_seen(run)
        if moved := drifted(self.required, taken.armed):
            raise Refused(f"this Spark has no code for the points {', '.join(moved)}", "its methods have moved")
        self.compare_readers(asker(session, controller))
        self.history.write_text(encode_run(run), encoding="utf-8")
        self.controls = list(self.keep([self._planted(), *self._never_reached(taken)]))
        return run, taken

    def harvest_recovery(self, session: Session, controller: Controller, image: Image) -> Again:
        """Recover from an image under the debugger: what a second crash, in the recovery, can leave."""
        self.put_back(self.images, image)
        first = crash_of(image, self.read(), armed=True)
        planned, committed = max(first.disk.offsets, default=-1), max(first.disk.commits, default=-1)
        batch = planned if planned > committed else committed + 1
        controller.forget_batches(first_batch=batch)
        images = Images(self.images.folder.with_name(f"{self.scenario.name}-again"), PARTS, self._write_ends)
        seconds = 3 * self.settings.seconds
        request = self.request() | {"seconds": seconds}
        taken = harvest(session, controller, request, self.chosen, images, self.place, {batch}, seconds + 30)
        return Again(first, taken)

    def as_seen(self, run: Run) -> Run:
        """What only a run without a crash tells of a job that nobody knows: its sink, and what is in it."""
        if run.operator.kind != UNKNOWN_JOB:
            return run
        kind = sink_kind(self.place.sink)
        self._reader = DiskReader(kind)
        disk = self.read()
        if not disk.visible:
            raise Refused(
                f"{self.scenario.name} wrote no rows that can be read to {self.place.sink}",
                "write Delta, Parquet or JSON to the sink that build() is given",
            )
        if lacking := [name for name in run.identity if name not in disk.visible[0]]:
            raise Refused(
                f"the sink's rows have no column {lacking[0]}, which IDENTITY names",
                "name columns that every row of the sink has",
            )
        apps = {commit.app_id for commit in disk.sink or () if commit.app_id} - {taken_id(disk)}
        ledger = kind == "file" or any(commit.batch_id is not None for commit in disk.sink or ())
        sink = replace(run.sink, kind=kind, ledger=ledger, app_id=min(apps, default=None))
        self.scenario = replace(self.scenario, sink=sink)
        return replace(run, sink=sink, undisturbed=disk.visible)

    def kill(self, at: At, prepared: bool = True) -> tuple[Crash, Run | None]:
        """Run the query anew, and kill it at one point; the disk is left as it is. `prepared`: its input is there."""
        remove_parts(self.place.root, PARTS)
        self._new_topic()
        run, seconds = None, 3 * self.settings.seconds
        with Controller(breakpoints(self.chosen), first_batch=0) as controller:
            session = self.settings.driver.start(self.scratch, "killed", [controller.java_option])
            with session:
                connect(session, controller)
                if not prepared:
                    run = self.prepare(asker(session, controller))
                controller.forget_batches(first_batch=0)
                killed = kill_at(
                    session,
                    controller,
                    self.request(),
                    self.chosen,
                    at,
                    self.images,
                    self.place.root,
                    seconds,
                )
        disk = self.read()
        crash = crash_of(killed.image, disk, killed.armed, "kill", killed.dead)
        same = f"the disk differs from the image in {', '.join(killed.differing)}"
        note = same if killed.differing else "the disk is what the image has"
        proof = replace(crash.proof, witness=crash.proof.witness and not killed.differing, note=note)
        return replace(crash, proof=proof), run

    # -- the recoveries

    def cases(self, spark: Spark, taken: Harvest) -> Iterator[Case]:
        """The controls first, then a case per image; each is appended to the history."""
        run_id = taken.answer["run_id"]
        yield from self.controls
        images, began = self.crashed_images(), time.monotonic()
        for number, image in enumerate(images, 1):
            case = self.recover_image(spark, image, taken.armed.get(image.point, 0) > 0, run_id)
            case = replace(case, released=taken.released.get(image.number))
            self._told(self.scenario.name, number, len(images), number / (time.monotonic() - began))
            yield from self.keep([case])

    def crashed_images(self) -> list[Image]:
        """Those that are recovered from."""
        return list(self.images)

    def cases_again(self, spark: Spark, again: Again) -> Iterator[Case]:
        """Two crashes in a row."""
        images, released = again.taken.images, again.taken.released
        for image in images:
            self.put_back(images, image)
            disk = self.read()
            second = crash_of(image, disk, armed=True, before=again.first.disk)
            case = replace(self.recover_disk(spark, second, ""), released=released.get(image.number))
            path, name = str(images.path(image)), f"again-{again.first.point}-{image.id}"
            yield from self.keep([replace(case, name=name, crashes=(again.first, second), image=path)])

    def recover_image(self, spark: Spark, image: Image, armed: bool, run_id: str) -> Case:
        self.put_back(self.images, image)
        disk = self.read()
        case = self.recover_disk(spark, crash_of(image, disk, armed), run_id)
        path = self.images.path(image)
        return replace(case, image=str(path), replay=f"ckpt crash-test replay {path}")

    def tear_image(self, spark: Spark, image: Image, actions: Collection[Action] = ALL) -> Iterator[Case]:
        """Recover from every such tear of one image."""
        self.put_back(self.images, image)
        for one in [one for one in tears(self.place) if one.action in actions]:
            self.put_back(self.images, image)
            edit = tear(self.place, one)
            case = self.recover_disk(spark, torn(crash_of(image, self.read(), armed=True), edit), "")
            yield from self.keep(
                [replace(case, name=f"torn-{one.name}-{image.id}", image=str(self.images.path(image)))]
            )

    def kill_and_recover(self, spark: Spark, at: At) -> Case:
        try:
            crash, _ = self.kill(at)
            case = self.recover_disk(spark, crash, "")
        except NotReached:
            case = never_reached(self.chosen[at.point], at.batch_id, "kill")
        (kept,) = self.keep([case])
        return kept

    def restarted(self, conf: Mapping[str, str], wish: Wish | None = None) -> Restarted:
        """As plan-recovery is told of the restart."""
        sink = self.scenario.sink
        named = "kafka" if sink.kind == "kafka" else "foreachBatch"
        return Restarted(
            parse_release(self.settings.release),
            trigger="available-now",
            conf=conf,
            sinks=(str(self.place.sink) if sink.ledger else named,),
            txn_app_id=sink.app_id,
            wish=wish,
        )

    def recover_disk(
        self, spark: Spark, crash: Crash, run_id: str, conf: Mapping[str, str] = MappingProxyType({})
    ) -> Case:
        """What lies on the disk now is what the crash left. `conf`: settings that the restart needs besides."""
        began = time.monotonic()
        request = self.request()
        request["conf"] |= conf
        prediction = predict(self.place, self.restarted(request["conf"]))
        recovered = recover(spark, request, self.place)
        after, state, why = self.look(spark)
        return Case(
            name=f"{crash.mode}-{crash.point}-{crash.batch_id}-{crash.nth}",
            crashes=(crash,),
            run_ids=(run_id,) if run_id else (),
            restarts=recovered.restarts,
            drained=recovered.drained,
            after=after,
            state=state,
            state_why=why,
            prediction=prediction,
            seconds=round(time.monotonic() - began, 3),
        )

    def look(self, spark: Spark) -> tuple[Disk, Mapping[int, tuple[StateRow, ...]] | None, str | None]:
        """The disk, and the state after the last commit as Spark reads it; before 4.0, which cannot, as we do."""
        after = self.read()
        if not self.scenario.is_stateful or not after.commits:
            return after, None, None
        batch = max(after.commits)
        ours, why = read_state(self.place, batch, self.scenario.state_variable or "default")
        if self.settings.release.startswith("3."):
            return after, None if ours is None else {batch: ours}, why
        stores = stores_of(after.state_files or (), self.scenario.state_variable)
        request = {"do": "state", "checkpoint": str(self.place.checkpoint), "stores": stores, "batch": batch}
        request["conf"] = dict(self.scenario.conf)  # not all of it is in the offset log
        answer = self._ask(spark, request)
        if answer["error"]:
            return after, None, f"the state of batch {batch} cannot be read: {answer['error'][-1]['message'][:200]}"
        rows = state_rows(answer)
        if ours is not None and not say_the_same(ours, rows):
            return after, None, f"Spark and ckpt state show different state of batch {batch}"
        return after, {batch: rows}, None

    def _ask(self, spark: Spark, request: Mapping[str, Any]) -> Answer:
        try:
            return spark.ask(request, READ_SECONDS)
        except (Late, Died) as error:
            return {
                "error": [{"class": type(error).__name__, "message": str(error)[-300:], "condition": None, "in": []}]
            }

    def compare_readers(self, ask: Callable[[Mapping[str, Any]], Answer]) -> None:
        """We read the sink of every crash ourselves, since that is quick. Once, Spark says whether we can."""
        kind = self._format()
        if kind is None:
            return
        answer = ask({"do": "sink", "kind": kind, "path": str(self.place.sink)})
        if answer["error"]:
            raise Refused(f"Spark cannot read the sink of {self.scenario.name}: {answer['error'][-1]['message'][:200]}")
        ours, theirs = (Counter(map(canonical, rows)) for rows in (self.read().visible or (), answer["rows"]))
        if ours != theirs:
            raise Refused(f"the sink of {self.scenario.name} has {theirs.total()} rows, and we read {ours.total()}")

    def _format(self) -> str | None:
        """How Spark reads the sink; None: there is nothing to read yet."""
        if self.topics:
            return None
        if self.scenario.sink.kind == "delta":
            return "delta" if (self.place.sink / "_delta_log").exists() else None
        names = data_files(self.place.sink)
        return Path(names[0]).suffix[1:] if names else None

    # -- the disk

    def read(self) -> Disk:
        return self._reader.read(self.place, self._topic_rows())

    def put_back(self, images: Images, image: Image) -> None:
        images.put_back(image, self.place.root)
        if self.topics:
            self.target = self.topics.refill(self.place.sink)

    def _topic_rows(self) -> tuple[Fields, ...] | None:
        return self.topics.rows(self.target) if self.topics else None

    def _new_topic(self) -> None:
        if self.topics:
            self.target = self.topics.new()

    def _write_ends(self) -> None:
        if self.topics:
            self.topics.write_ends(self.target, self.place.sink)

    # -- what is no crash

    def _planted(self) -> Case:
        """The run without a crash, from whose sink a file is taken out: the judge has to miss its rows."""
        if self.topics:
            first, *_ = self._topic_rows() or ()
            self._write_ends()
            self.target = self.topics.refill(self.place.sink, leave_out=1)
            return Case(name="planted-loss", crashes=(), restarts=(), drained=True, after=self.read(), planted=(first,))
        sink = self.place.sink
        sound = self.read()
        paths = [sink / name for name in self._reader.live_files(sink)]
        path, rows = next((path, rows) for path in paths if (rows := self._reader.rows_of(path)))
        path.unlink()
        after = self.read()
        assert sound.visible != after.visible
        return Case(name="planted-loss", crashes=(), restarts=(), drained=True, after=after, planted=rows)

    def _never_reached(self, taken: Harvest) -> Iterator[Case]:
        """Points that every such query passes, and this one did not: void, never a pass."""
        for name, stop in self.required.items():
            due = stop.place.name in self.scenario.reaches or not (stop.place.optional or stop.place.apart)
            if due and name not in taken.passed:
                yield never_reached(stop, None, "image")

    def keep(self, cases: Sequence[Case]) -> Iterator[Case]:
        for case in cases:
            with self.history.open("a", encoding="utf-8") as file:
                file.write(encode_case(case))
            yield case


def taken_id(disk: Disk) -> str | None:
    """The query's own id."""
    return parse_metadata(disk.metadata.encode()).id if disk.metadata else None


def _topics(settings: Settings) -> Topics:
    if settings.broker is None:
        raise Refused("the job writes to Kafka, and no broker is given", "give --bootstrap-server")
    return Topics(settings.broker)
