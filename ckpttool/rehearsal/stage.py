"""The runs of a rehearsal. The first one plans the batches; another replays them, from the same input."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from ckpttool.errors import CkptError
from ckpttool.formats import layout
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.offsets import encode_offset_log, parse_offset_log
from ckpttool.harness.place import JobPlace
from ckpttool.harness.recover import failure_of
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer
from ckpttool.laws.restart import SourceRange, possible_releases, ranges_between
from ckpttool.query.from_spark import query_of
from ckpttool.query.job import JobSettings
from ckpttool.query.model import Query
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.rehearsal.child import Code, CodeInSpark
from ckpttool.rehearsal.copying import CheckpointClone, make_clone
from ckpttool.rehearsal.model import CodeRun, SinkIs, Which, Written
from ckpttool.rehearsal.rows import compare
from ckpttool.rehearsal.watch import Watch
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.state.reader import open_state
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import is_local, redact_url
from ckpttool.words import shown

_LIMITED = ("delta", "file", "kafka")  # sources that take no more for a batch than they are told
# Sources that tell nobody how far a batch has read; files stay where they are, since the child sees to it.
_SILENT = ("auto-loader", "cosmos", "delta", "eventhubs", "file", "hudi", "iceberg", "kafka", "mongodb", "paimon",
           "rate", "rate-micro-batch")  # fmt: skip
NAMES = ("checkpoint", "rows")


class Stage:
    """`children` ends the Sparks of both codes, which stay for more."""

    def __init__(
        self,
        scratch: Scratch,
        store: Store,
        scene: Scene,
        children: ExitStack,
        watch: Watch,
        rows: int | None = None,
        sink: SinkIs = "capture",
    ) -> None:
        self.scratch, self.store, self.scene, self.children = scratch, store, scene, children
        self.watch, self._rows, self._sink = watch, rows, sink
        self._written: dict[str, Sequence[Answer]] = {}
        self.batch_ids: list[int] = []
        self.queries: dict[Which, Query] = {}  # as far as they could be described
        self._spark: dict[Which, CodeInSpark] = {}
        self.range: tuple[SourceRange, ...] = ()
        self.not_rehearsed: dict[str, None] = {}  # each once
        self.clone = CheckpointClone(scratch.root, 0, 0, 0.0)

    def start(self, which: Which, code: Code, settings: JobSettings) -> None:
        """A Python for each code. The second one goes on in the Spark of the first, where that makes no difference."""
        spark = CodeInSpark(self.scratch, code, settings, which, self._places, self._rows)
        self._spark[which] = self.children.enter_context(spark)

    def run(self, which: Which, batches: int) -> CodeRun:
        """`batches`: how many, if they are not planned yet."""
        place, spark = self.place(which), self._spark[which]
        self.clone = make_clone(self.store, self.scene, place.checkpoint)
        before = _rows_of_state(place)
        reached, began = spark.reach(None if which == "old" else self._spark.get("old")), time.monotonic()
        if reached["described"] is not None:
            self.queries[which] = query_of(reached["described"])
        self._note(which, reached["query"])
        if self.batch_ids and self._reads_the_same:
            answers = self._replay(spark, place, self._clones(place))
        else:
            until = self.batch_ids[-1] if self.batch_ids else self._until(batches)
            answers = [spark.run(place, until, self._clones(place))]
        self._written[which] = answers[-1].get("written", ())
        self.not_rehearsed |= dict.fromkeys(answers[-1].get("left_out", ()))
        run = self._told(which, answers)
        if not self.batch_ids:
            self._planned_by(which)
        after = _progress(answers)[-1:]
        rows = dict(enumerate(after[0]["state_rows"])) if after else {}
        return replace(
            run,
            spark_version=reached["spark_version"],
            state_rows={number: (before.get(number), rows.get(number)) for number in sorted({*before, *rows})},
            seconds=round(time.monotonic() - began, 3),
        )

    def is_steady(self) -> bool:
        """Whether the old code gives the same when it replays its own batches."""
        place, spark = self.place("again"), self._spark["old"]
        make_clone(self.store, self.scene, place.checkpoint)
        if self._spark["new"].offer is None:  # the new code may have made it another Spark
            spark.anew()
            spark.reach()
        self._written["again"] = self._replay(spark, place, self._clones(place))[-1].get("written", ())
        rows = compare(self.rows("old"), _rows(place, self.batch_ids))
        return rows.is_same and all(one.is_same for one in self.written(other="again"))

    def place(self, which: str) -> JobPlace:
        return JobPlace(self.scratch.root / which, NAMES)

    def rows(self, which: Which) -> Iterator[str]:
        """Of all batches that are done, as JSON."""
        return _rows(self.place(which), self._done(which))

    def written(self, identity: Sequence[str] = (), other: str = "new") -> Iterator[Written]:
        """What the functions of the old code and of another one have made of each place."""
        both = ("old", other)
        for place in dict.fromkeys(one["place"] for which in both for one in self._written.get(which, ())):
            added, removed = (
                compare(self._rows_written("old", place, kind), self._rows_written(other, place, kind), identity)
                for kind in ("added", "removed")
            )
            yield Written(redact_url(place), added, removed)

    def _rows_written(self, which: str, place: str, kind: str) -> Iterator[str]:
        for one in self._written.get(which, ()):
            if (one["place"], one["which"]) == (place, kind):
                yield from _lines(self.place(which).sink / "written" / str(one["number"]))

    # -- around a run

    @property
    def _places(self) -> list[str]:
        """How the job may spell it."""
        url = self.store.url
        return [url, os.path.realpath(url)] if is_local(url) else [url]

    def _until(self, batches: int) -> int:
        return self.scene.next_id + batches - 1

    @property
    def _reads_the_same(self) -> bool:
        """A range of other sources means nothing to a code: it plans its own batches, as it would after a deploy."""
        if len(self.queries) < 2:
            return True
        old, new = ([(one.kind, one.place) for one in query.sources] for query in self.queries.values())
        return old == new

    def _note(self, which: Which, query: Answer) -> None:
        """What becomes of the rows after the query is not run."""
        kinds = {source.kind for source in self.queries[which].sources} if which in self.queries else set()
        if self._rows is not None and (others := kinds - {*_LIMITED}):
            self.not_rehearsed[f"--rows of a source of kind {' and '.join(sorted(others))}, which takes no limit"] = (
                None
            )
        for other in sorted(kinds - {*_SILENT}):
            told = f"what a source of kind {shown(other)} does where it reads, once a batch is done: that was done"
            self.not_rehearsed[told] = None
        if not self._reads_the_same:
            self.not_rehearsed["the same input for both: their sources differ, and each code planned its own"] = None
        function, kind = query["function"], query["format"]
        told = f"what the sink makes of the rows: {kind}"
        if function:
            named = f"{function['name']} ({function['file']}:{function['line']})"
            told = f"the body of {kind}: {named}"
            if kind == "foreachBatch" and self._sink == "run":
                told = f"what {named} does beside Spark, which was done, and what it reads of what it has written"
        self.not_rehearsed[told] = None
        if place := _directory(query):
            try:
                self.watch.add(place)
            except CkptError as error:
                self.not_rehearsed[f"whether anything changes in {redact_url(place)}: {error.message}"] = None

    def _done(self, which: Which) -> list[int]:
        """Not what was committed before, ahead of its offsets: Spark fails where it comes to it."""
        there = self.scene.checkpoint.commit_names.ids
        found = self.place(which).batches("commits")
        return [batch for batch in found if batch >= self.scene.next_id and batch not in there]

    def _planned_by(self, which: Which) -> None:
        self.batch_ids = self._done(which)
        if self.batch_ids:
            self.range = _range(self.place(which), self.batch_ids)
            self.not_rehearsed[f"batches after {self.batch_ids[-1]}"] = None

    def _clones(self, place: JobPlace) -> Path | None:
        return place.root / "clones" if self._sink == "run" else None

    def _replay(self, child: CodeInSpark, place: JobPlace, clones: Path | None = None) -> list[Answer]:
        answers: list[Answer] = []
        for batch in self.batch_ids:
            _hand_over(self.place("old").checkpoint, place.checkpoint, batch, first=not answers)
            answers.append(child.run(place, batch, clones))
            if not answers[-1]["committed"]:
                break
        return answers

    def _told(self, which: Which, answers: Sequence[Answer]) -> CodeRun:
        place, done = self.place(which), self._done(which)
        failure = None if answers[-1]["late"] else failure_of(answers[-1], place)
        ended = bool(done) and done == (self.batch_ids or done)
        why = None if failure or ended else answers[-1]["late"] or "there is nothing new to read"
        return CodeRun(
            which,
            "failed" if failure else "done" if ended else "not_reached",
            why=why,
            error=failure,
            rows_in=sum(one["numInputRows"] for one in _progress(answers) if one["batchId"] in done),
            rows_out=sum(1 for _ in self.rows(which)),
            watermark_ms=_watermark(place.checkpoint, done[-1]) if done else None,
        )


def _directory(query: Answer) -> str | None:
    """Where its sink keeps files; a table's name leads nowhere without its catalog."""
    place = query["place"] or {key.lower(): value for key, value in query["options"].items()}.get("path")
    return place if place and "/" in place and query["format"] != "table" else None


def _rows(place: JobPlace, batches: Sequence[int]) -> Iterator[str]:
    for batch in batches:
        yield from _lines(place.sink / str(batch))


def _lines(folder: Path) -> Iterator[str]:
    for part in sorted(folder.glob("part-*")):
        with part.open(encoding="utf-8") as lines:
            yield from lines


def _progress(answers: Sequence[Answer]) -> list[Answer]:
    return [one for answer in answers for one in answer["progress"]]


def _rows_of_state(place: JobPlace) -> dict[int, int]:
    """By operator, with what the batches begin; nothing of what cannot be read, which the run shows."""
    found: dict[int, int] = {}
    try:
        reader = open_state(open_store(str(place.checkpoint)))
        for table in reader.tables:
            rows = sum(reader.count(table, partition) for partition in reader.partitions(table.operator))
            found[table.operator] = found.get(table.operator, 0) + rows
    except CkptError:
        return {}
    return found


def _watermark(checkpoint: Path, batch: int) -> int | None:
    return parse_commit_log((checkpoint / layout.commits(batch)).read_bytes(), batch).next_watermark_ms


def _range(place: JobPlace, batches: Sequence[int]) -> tuple[SourceRange, ...]:
    checkpoint = load_checkpoint(open_store(str(place.checkpoint)), also=batches)
    evidence = gather_evidence(checkpoint)
    return ranges_between(Scene(evidence, Start(possible_releases(evidence)[-1])), batches[0] - 1, batches[-1])


def _hand_over(planned: Path, clone: Path, batch: int, *, first: bool) -> None:
    """The range of a batch, without its commit: whoever has it replays it. From the second batch on the watermark is
    what the replaying code has come to by itself."""
    if (planned / layout.SOURCES).is_dir():
        shutil.copytree(planned / layout.SOURCES, clone / layout.SOURCES, dirs_exist_ok=True)
    body = (planned / layout.offsets(batch)).read_bytes()
    own = None if first else _watermark(clone, batch - 1)
    entry = parse_offset_log(body, batch)
    if own is not None and entry.metadata is not None:
        body = encode_offset_log(replace(entry, metadata=replace(entry.metadata, watermark_ms=own)))
    (clone / layout.offsets(batch)).write_bytes(body)
