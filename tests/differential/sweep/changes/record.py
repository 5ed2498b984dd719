"""Make the bases of a release, start what they are changed to on copies of them, and keep what happened.

    python -m tests.differential.sweep.changes.record --spark 4.2.0 [--only count] [--seconds 400] [--anew]

What is kept already is not run again, unless `--anew` says so.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import random
import shutil
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from ckpttool.releases import since as releases
from tests.differential.sweep.bases import REPOSITORY, ROOT, SESSION, Sparks, anonymous, last, since
from tests.differential.sweep.changes import seen
from tests.differential.sweep.changes.catalogue import SAME, Base, Change, changes
from tests.differential.sweep.changes.load import are_alike, bases_file, cases_file, read, recorded, unpack
from tests.differential.sweep.changes.query import Asked, make_input
from tests.differential.sweep.restarts import Restarter
from tests.parts.spark import ensure_python_state

Json = dict[str, Any]
IN_SPARK = Path(__file__).with_name("in_spark.py")
BEFORE, IN_ALL = 3, 5  # files of input before the change, and with those after it
SECONDS = 45  # for one start
KEPT = ("id", "query", "conf", "root", "described", "truth")
WITHOUT_ROWS = ("noop", "memory")
flatten = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)


class Changing(Sparks):
    """Spark processes that run queries given as data."""

    def options(self) -> Json:
        packages = [ensure_python_state(self.spark)] if since(self.spark, "3.4") else []
        return {"script": IN_SPARK, "conf": SESSION, "path": [REPOSITORY, *packages]}


class Recorder:
    """`scratch`: where it runs queries from the beginning."""

    def __init__(self, spark: str, kept_in: Path, restarter: Restarter, scratch: str = "scratch") -> None:
        self.spark, self.kept_in, self.restarter, self.scratch = spark, kept_in, restarter, scratch
        self._scratch: dict[str, seen.Rows | None] = {}

    # -- bases ---------------------------------------------------------------------------------------------------------

    def make(self, base: Base) -> str | None:
        """What went wrong."""
        root = self._root(base.name)
        shutil.rmtree(root, ignore_errors=True)
        make_input(root, BEFORE)
        answer = self._ask(root, base.query, base.conf)
        if answer is None or answer["start"] or answer["error"] or answer["said"] or answer["timeout"]:
            chain = (answer or {}).get("error") or (answer or {}).get("start") or [answer]
            return flatten(chain[-1])
        shutil.rmtree(self.kept_in / base.name, ignore_errors=True)
        shutil.copytree(root, self.kept_in / base.name)
        return None

    # -- changes -------------------------------------------------------------------------------------------------------

    def case(self, change: Change) -> Json:
        root, conf = self._root(change.base.name), {**change.base.conf, **change.conf}
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.kept_in / change.base.name, root)
        make_input(root, IN_ALL)
        if change.query.output == seen.TAKEN:
            seen.take(root)
        truth, described = self._start(root, change.query, conf, described=True)
        if truth["outcome"] == "error":
            truth["back"] = truth["left"] and self._start(root, change.base.query, change.base.conf)[0]
        elif change.name == SAME:
            truth["scratch"] = truth.get("rows")
        elif truth["outcome"] == "ran":
            truth["scratch"] = self._known(change, truth["rows"]) or self._from_scratch(change, conf)
        return {
            "id": change.id,
            "query": seen.without_defaults(asdict(change.query), asdict(Asked())),
            "conf": conf,
            "root": str(root),
            "described": None if described is None or "failed" in described else described,
            "truth": seen.anywhere(truth, root),
        }

    def _start(
        self, root: Path, query: Asked, conf: Mapping[str, str], *, described: bool = False
    ) -> tuple[Json, Json | None]:
        before = seen.Disk(root)
        answer = self._ask(root, query, conf, described=described)
        after = seen.Disk(root)
        if answer is None or answer["timeout"]:
            self.restarter.kill()  # what hangs may hold locks that the next case needs
            return {"outcome": "timeout"}, None
        return seen.truth_of(answer, before, after, conf), answer.get("described")

    def _known(self, change: Change, rows: seen.Rows) -> seen.Rows | None:
        """What another release made from scratch, where these rows do not speak against it: they are the same, or the
        restart made them there too. Where the catalogue says whether rows are right they need not be."""
        for spark in recorded():
            truth = read(spark).get(change.id, {}).get("truth", {}) if spark != self.spark else {}
            if truth.get("scratch") and (change.is_said or truth["rows"] == rows or are_alike(truth["scratch"], rows)):
                return dict(truth["scratch"])
        return None

    def _from_scratch(self, change: Change, conf: Mapping[str, str]) -> seen.Rows | None:
        """The rows that the query makes of the later files when it has read the others itself."""
        query = change.query
        if change.is_said or query.sink in WITHOUT_ROWS or any(one.folder is None for one in query.sources):
            return None
        key = flatten([asdict(query), conf])
        if key not in self._scratch:
            root = self._root(self.scratch)
            shutil.rmtree(root, ignore_errors=True)
            make_input(root, BEFORE)
            self._ask(root, query.but(drive="available-now"), conf)
            make_input(root, IN_ALL)
            truth, _ = self._start(root, query, conf)
            self._scratch[key] = truth["rows"] if truth["outcome"] == "ran" else None
        return self._scratch[key]

    def _ask(self, root: Path, query: Asked, conf: Mapping[str, str], *, described: bool = False) -> Json | None:
        return self.restarter.ask(
            (),
            {
                "root": str(root),
                "checkpoint": "checkpoint",
                "conf": conf,
                "query": asdict(query),
                "timeout": SECONDS,
                "log": str(self.restarter.sparks.log),
                "commits": IN_ALL - BEFORE,
                "committed": last(root / "checkpoint" / "commits"),
                "pinned": sorted(releases.PINNED) if described else None,
            },
        )

    def _root(self, name: str) -> Path:
        return ROOT / self.spark / "changes" / name


class Turns:
    """Who does what next: never two at a time below the place of one base."""

    def __init__(self, chosen: Iterable[Change], until: float) -> None:
        self._left, self._busy, self._lock, self._until = list(chosen), set[str](), Lock(), until

    def __iter__(self) -> Iterator[Change]:
        while change := self._next():
            yield change
            with self._lock:
                self._busy.remove(change.base.name)

    def _next(self) -> Change | None:
        with self._lock:
            free = (one for one in self._left if one.base.name not in self._busy and time.monotonic() < self._until)
            if change := next(free, None):
                self._left.remove(change)
                self._busy.add(change.base.name)
            return change


class Record:
    """What is there is kept every few cases: a run that is cut short goes on where it was."""

    def __init__(self, spark: str, kept_in: Path, kept: dict[str, Json]) -> None:
        self.spark, self.kept_in, self.kept = spark, kept_in, kept
        self._began, self._outcomes, self._lock = time.monotonic(), Counter[str](), Lock()

    def go_on(self, recorders: Sequence[Recorder], chosen: list[Change], until: float) -> None:
        unmade = {one.base.name: one for one in chosen if not (self.kept_in / one.base.name).is_dir()}
        self._share(recorders, self._make, Turns(unmade.values(), until))
        if any((self.kept_in / name).is_dir() for name in unmade):
            pack(self.spark, self.kept_in)
        ready = [one for one in chosen if one.id not in self.kept and (self.kept_in / one.base.name).is_dir()]
        self._share(recorders, self._run, Turns(ready, until))
        write(self.spark, self.kept)
        self._tell(f"{len(self.kept)} cases, {dict(self._outcomes)}")

    def _share(self, recorders: Sequence[Recorder], do: Callable[[Recorder, Change], None], turns: Turns) -> None:
        def work(recorder: Recorder) -> None:
            for change in turns:
                do(recorder, change)

        with ThreadPoolExecutor(len(recorders)) as pool:
            list(pool.map(work, recorders))

    def _make(self, recorder: Recorder, change: Change) -> None:
        self._tell(f"base {change.base.name}: {recorder.make(change.base) or 'made'}")

    def _run(self, recorder: Recorder, change: Change) -> None:
        case = recorder.case(change)
        with self._lock:
            self._outcomes[case["truth"]["outcome"]] += 1
            self._tell(f"{change.id}: {seen.told(case)}")
            if case["truth"]["outcome"] in ("error", "ran"):
                self.kept[change.id] = case
                if self._outcomes.total() % 10 == 0:
                    write(self.spark, self.kept)

    def _tell(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s {text}", flush=True)


def pack(spark: str, kept_in: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(kept_in.rglob("*"), key=lambda path: (path.suffix, path.name, path)):
            if "_temporary" not in path.parts:
                tar.add(path, arcname=str(path.relative_to(kept_in)), recursive=False, filter=anonymous)
    bases_file(spark).write_bytes(lzma.compress(packed.getvalue(), preset=9))


def write(spark: str, kept: dict[str, Json]) -> None:
    """In the order of the catalogue; what is not in it any more goes."""
    named = [one.id for one in changes(spark)]
    lines = [flatten({name: kept[key][name] for name in KEPT}) for key in named if key in kept]
    cases_file(spark).write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))


def in_a_fair_order(chosen: list[Change], kept: Container[str]) -> list[Change]:
    """So that a run that is cut short has something of everything: unchanged queries come first, then what is called as
    nothing that is kept, and then those of which Spark takes wrong rows without a word."""
    mixed = random.Random(1).sample(chosen, len(chosen))
    known = {id_ for one in chosen if one.id in kept for id_ in one.ids}
    return sorted(mixed, key=lambda one: (one.name != SAME, known.issuperset(one.ids), one.lost is None))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--only", default="", metavar="BASE", help="only those whose id begins like this")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    parser.add_argument("--processes", type=int, default=1, help="how many Sparks at a time")
    parser.add_argument("--anew", action="store_true", help="also those that are kept already")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    kept = read(options.spark) if cases_file(options.spark).exists() else {}
    chosen = in_a_fair_order([one for one in changes(options.spark) if one.id.startswith(options.only)], kept)
    known = {key: case for key, case in kept.items() if not (options.anew and key in {one.id for one in chosen})}
    with tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as name, ExitStack() as running:
        kept_in = Path(name) / "bases"
        kept_in.mkdir()
        if bases_file(options.spark).exists():
            unpack(options.spark, kept_in)
        recorders = []
        for number in map(str, range(options.processes)):
            (Path(name) / number).mkdir()
            restarter = Restarter(options.spark, Changing(options.spark, Path(name) / number))
            recorders.append(Recorder(options.spark, kept_in, running.enter_context(restarter), f"scratch-{number}"))
        Record(options.spark, kept_in, known).go_on(recorders, chosen, until)


if __name__ == "__main__":
    main()
