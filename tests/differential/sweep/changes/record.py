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
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
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
    def __init__(self, spark: str, kept_in: Path, restarter: Restarter) -> None:
        self.spark, self.kept_in, self.restarter = spark, kept_in, restarter
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
            root = self._root("scratch")
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


def record(spark: str, recorder: Recorder, chosen: list[Change], until: float, kept: dict[str, Json]) -> None:
    """What is there is kept every few cases: a run that is cut short goes on where it was."""
    began, outcomes = time.monotonic(), Counter[str]()
    unmade = {one.base.name: one.base for one in chosen if not (recorder.kept_in / one.base.name).is_dir()}
    made = False
    for base in unmade.values():
        if time.monotonic() > until:
            break
        wrong = recorder.make(base)
        made = made or wrong is None
        print(f"{time.monotonic() - began:6.1f} s base {base.name}: {wrong or 'made'}", flush=True)
    if made:
        pack(spark, recorder.kept_in)
    for change in chosen:
        if change.id in kept or not (recorder.kept_in / change.base.name).is_dir() or time.monotonic() > until:
            continue
        case = recorder.case(change)
        outcomes[case["truth"]["outcome"]] += 1
        print(f"{time.monotonic() - began:6.1f} s {change.id}: {seen.told(case)}", flush=True)
        if case["truth"]["outcome"] in ("error", "ran"):
            kept[change.id] = case
            if sum(outcomes.values()) % 10 == 0:
                write(spark, kept)
    write(spark, kept)
    print(f"{len(kept)} cases, {time.monotonic() - began:.0f} s, {dict(outcomes)}", flush=True)


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


def in_a_fair_order(chosen: list[Change]) -> list[Change]:
    """So that a run that is cut short has something of everything; unchanged queries come first, and then those of
    which Spark takes wrong rows without a word."""
    mixed = random.Random(1).sample(chosen, len(chosen))
    return sorted(mixed, key=lambda one: (one.name != SAME, one.lost is None))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--only", default="", metavar="BASE", help="only those whose id begins like this")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    parser.add_argument("--anew", action="store_true", help="also those that are kept already")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    kept = read(options.spark) if cases_file(options.spark).exists() else {}
    chosen = in_a_fair_order([one for one in changes(options.spark) if one.id.startswith(options.only)])
    known = {key: case for key, case in kept.items() if not (options.anew and key in {one.id for one in chosen})}
    with tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder:
        kept_in = Path(folder) / "bases"
        kept_in.mkdir()
        if bases_file(options.spark).exists():
            unpack(options.spark, kept_in)
        with Restarter(options.spark, Changing(options.spark, Path(folder))) as restarter:
            record(options.spark, Recorder(options.spark, kept_in, restarter), chosen, until, known)


if __name__ == "__main__":
    main()
