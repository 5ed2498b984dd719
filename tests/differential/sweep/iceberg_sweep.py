"""Queries that read an Iceberg table, restarted by real Spark with Iceberg's own runtime: over tables to which anything
happened, with whatever may stand in a line of the offset log or in a source's first offset, and with other options.

    python -m tests.differential.sweep.iceberg_sweep --spark 4.1.3 [--only expired]

The tables are made once, and only read afterwards; their metadata is kept in `truths/<release>/iceberg-tables.json`,
and a case in a line of `iceberg.jsonl` beside it, so that both are judged without Spark.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.differential.sweep.kafka_sweep import logs, logs_of, truth_of
from tests.differential.sweep.load import cases_file, lay, tables_file
from tests.differential.sweep.run import flatten, read, write
from tests.samples.process import JOBS, SparkProcess

SCRIPT = Path(__file__).parents[1] / "iceberg_queries.py"
REPOSITORY = SCRIPT.parents[2]
Json = dict[str, Any]
V2 = "'format-version'='2'"
ON_READ = f"{V2}, 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"

# What happened to each table, and its properties; `s0` is its first snapshot, `s1` the second, gone or not.
MADE: dict[str, tuple[str, str]] = {
    "sound": ("append append append append", ""),
    "files": ("append:2 append:2 append:2", ""),
    "empty": ("", ""),
    "expired": ("append append append append append expire:3", ""),
    "expired-all": ("append append append append expire:1", ""),
    "deleted": ("append append append delete append", ""),
    "deleted-last": ("append append append delete", ""),
    "emptied": ("append append append delete:true", ""),
    "overwritten": ("append append overwrite append", ""),
    "overwritten-last": ("append append append overwrite", ""),
    "updated": ("append append update append", ""),
    "updated-on-read": ("append append update append", ON_READ),
    "deleted-on-read": ("append append append delete:id=1 append", ON_READ),
    "oldest-deleted": ("append append delete append append expire:3", ""),
    "oldest-overwritten": ("append append overwrite append append expire:3", ""),
    "oldest-rewritten": ("append append rewrite append append expire:3", ""),
    "rewritten": ("append append append rewrite append", ""),
    "rewritten-last": ("append append append rewrite", ""),
    "rewritten-manifests": ("append append append rewrite-manifests append", ""),
    "rolled-back": ("append append append append rollback:1", ""),
    "rolled-back-on": ("append append append append rollback:1 append", ""),
    "rolled-back-expired": ("append append append append append expire:4 rollback:2 append", ""),
    "grown": ("append append append add-column append", ""),
    "again": ("append append append again append append", ""),
    "again-empty": ("append append append again", ""),
    "dropped": ("append append append drop", ""),
    "data-lost": ("append append append append lose-data", ""),
}
SKIPS: tuple[dict[str, str], ...] = (
    {},
    {"streaming-skip-delete-snapshots": "true"},
    {"streaming-skip-overwrite-snapshots": "true"},
    {"streaming-skip-delete-snapshots": "true", "streaming-skip-overwrite-snapshots": "true"},
)
CHANGING = ("deleted", "overwritten", "updated", "oldest", "emptied")
OPTIONS: tuple[dict[str, str], ...] = (
    {"stream-from-timestamp": "0"},
    {"stream-from-timestamp": "9999999999999"},
    {"stream-from-timestamp": "x"},
    {"streaming-max-files-per-micro-batch": "1"},
    {"streaming-max-files-per-micro-batch": "0"},
    {"streaming-max-rows-per-micro-batch": "3"},
    {"streaming-skip-delete-snapshots": "maybe"},
    {"STREAMING-SKIP-DELETE-SNAPSHOTS": "true"},
    {"snapshot-id": "{s1}"},
    {"start-snapshot-id": "{s1}"},
    {"branch": "main"},
    {"split-size": "10"},
)


@dataclass(frozen=True)
class IcebergCase:
    """`ends`: the line of the source in each offsets file; `committed`: how many of the batches; `initial`: the first
    offset. `{s0}` stands for the id of a snapshot."""

    area: str
    what: str
    table: str
    ends: tuple[str | None, ...]
    committed: int
    initial: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    trigger: str = "available-now"

    @property
    def id(self) -> str:
        told = [self.table, self.ends, self.committed, self.initial, dict(self.options), self.trigger]
        return f"iceberg-{self.area}/{hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:10]}"

    def files(self, snapshots: Sequence[int]) -> dict[str, str]:
        """Bytes as Latin-1, so that JSON can have them."""
        ends = [None if end is None else filled(end, snapshots) for end in self.ends]
        found = logs_of(ends, self.committed, '{"spark.sql.shuffle.partitions":"2"}')
        if self.initial is not None:
            found["sources/0/offsets/0"] = filled(self.initial, snapshots)
        return found


def filled(text: str, snapshots: Sequence[int]) -> str:
    """A snapshot that was never made has an id that no table has."""
    return re.sub(r"\{s(\d+)\}", lambda one: str(([*snapshots, *[7] * 99])[int(one[1])]), text)


def at(snapshot: int | str, position: int | str = 1, scan: str = "false") -> str:
    name = f"{{s{snapshot}}}" if isinstance(snapshot, int) else snapshot
    return f'{{"version":1,"snapshot_id":{name},"position":{position},"scan_all_files":{scan}}}'


START = at("-1", -1)
FIRST = at(0, 0)
LINES = (
    *("-", "", "{}", "null", "7", "{", "[]", '"text"', "true", at(1) + "x", at(1) + "{}", at(1)[:-1], f" {at(1)} "),
    *(at(1).replace('"version":1', '"version":2'), at(1).replace('"version":1,', "")),
    *(at(1).replace('"version":1', '"version":"1"'), at(1).replace('"version":1', '"version":1.0')),
    *(at("null"), at("1.5"), at('"{s1}"'), at("99999999999999999999"), at("-1", 1), at("-1", 0), at("0")),
    *(at(1, "null"), at(1, "-1"), at(1, "1.5"), at(1, '"1"'), at(1, 99), at(1, 0), at(1, 2147483648)),
    *(at(1, 1, "true"), at(1, 1, "null"), at(1, 1, '"false"'), at(1, 1, "0"), at(1)[:-1] + ',"more":3}', START),
    *('{"logOffset":3}', '{"t":{"0":3}}', f"{at(1)[:-1]},}}", '{"snapshot_id":{s1},"position":1}'),
)


def cases() -> Iterator[IcebergCase]:
    yield from _tables()
    yield from _lines()
    yield from _initial()
    for options in OPTIONS:
        told = str(options)
        yield IcebergCase("options", f"new batch {told}", "sound", (at(0), at(1)), 2, FIRST, options)
        yield IcebergCase("options", f"replay {told}", "sound", (at(0), at(2)), 1, FIRST, options)
        yield IcebergCase("options", f"nothing planned {told}", "sound", (), 0, None, options)


def _tables() -> Iterator[IcebergCase]:
    for table, (ops, _) in MADE.items():
        last = sum(1 for op in ops.split() if op.partition(":")[0] not in ("expire", "rollback", "add-column", "drop"))
        skips = (
            SKIPS if table in ("deleted", "overwritten") else SKIPS[::3] if table.startswith(CHANGING) else SKIPS[:1]
        )
        for options in skips:
            told = f"{table} {options}"
            yield IcebergCase("tables", f"{told} new batch", table, (at(0), at(1)), 2, FIRST, options)
            yield IcebergCase("tables", f"{told} new batch later", table, (at(1), at(2)), 2, FIRST, options)
            yield IcebergCase("tables", f"{told} replay", table, (at(0), at(2)), 1, FIRST, options)
            yield IcebergCase("tables", f"{told} replay late", table, (at(1), at(last - 1)), 1, FIRST, options)
            given = IcebergCase("tables", f"{told} default", table, (at(0), at(2)), 2, FIRST, options, "default")
            yield given
        yield IcebergCase("tables", f"{table} read to the end", table, (at(1), at(last - 1)), 2, FIRST)
        yield IcebergCase("tables", f"{table} fresh", table, (), 0, None)
        yield IcebergCase("tables", f"{table} nothing planned", table, (), 0, FIRST)
        yield IcebergCase("tables", f"{table} first batch again", table, (at(1),), 0, FIRST)
        yield IcebergCase("tables", f"{table} first batch again from nothing", table, (at(1),), 0, START)
        yield IcebergCase("tables", f"{table} from nothing", table, (START, START), 2, START)


def _lines() -> Iterator[IcebergCase]:
    for number, line in enumerate(LINES):
        yield IcebergCase("offsets", f"new batch from {line!r}", "sound", (at(0), line), 2, FIRST)
        yield IcebergCase("offsets", f"replay up to {line!r}", "sound", (at(0), line), 1, FIRST)
        if number % 2:
            yield IcebergCase("offsets", f"replay from {line!r}", "sound", (line, at(2)), 1, FIRST)
    yield IcebergCase("offsets", "no line, replay", "sound", (at(0), None), 1, FIRST)
    yield IcebergCase("offsets", "backwards, replay", "sound", (at(2), at(1)), 1, FIRST)
    yield IcebergCase("offsets", "backwards in a snapshot, replay", "files", (at(1, 2), at(1, 1)), 1, FIRST)
    yield IcebergCase("offsets", "parts of a snapshot, replay", "files", (at(1, 1), at(1, 2)), 1, FIRST)
    yield IcebergCase("offsets", "part of a snapshot, new batch", "files", (at(0, 2), at(1, 1)), 2, FIRST)


def _initial() -> Iterator[IcebergCase]:
    for number, line in enumerate((*LINES, "v1\n" + FIRST, "\0v1\n" + FIRST, None)):
        told = repr(line)
        if number % 2:
            yield IcebergCase("sources", f"new batch, {told}", "sound", (at(0), at(1)), 2, line)
        else:
            yield IcebergCase("sources", f"first batch again, {told}", "sound", (at(1),), 0, line)
        yield IcebergCase("sources", f"new batch, {told}, default", "sound", (at(0), at(1)), 2, line, trigger="default")


# -- restarting --------------------------------------------------------------------------------------------------------


class Restarts:
    """One Spark, which makes the tables and then runs the cases one after the other."""

    def __init__(self, spark: str, folder: Path) -> None:
        self.folder, self.lake = folder, folder / "lake"
        conf = {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(self.lake),
        }
        path = [JOBS.parent, REPOSITORY]
        self.running = SparkProcess(spark, ("iceberg",), script=SCRIPT, path=path, conf=conf)
        self.tables: dict[str, Json] = {}

    def __enter__(self) -> Restarts:
        return self

    def __exit__(self, *_: object) -> None:
        self.running.__exit__(None, None, None)

    def place(self, table: str) -> Path:
        return self.lake / "db" / table.replace("-", "_")

    def make(self, table: str) -> None:
        ops, properties = MADE[table]
        name, place = table.replace("-", "_"), str(self.place(table))
        made = self.running.run({"make": name, "place": place, "ops": ops.split(), "properties": properties})
        assert made["error"] is None, (table, made)
        self.tables[table] = {"snapshots": made["snapshots"], "files": made["files"]}

    def case(self, case: IcebergCase) -> Json:
        checkpoint = self.folder / case.id.replace("/", "-")
        snapshots = self.tables[case.table]["snapshots"]
        files = case.files(snapshots)
        options = {key: filled(value, snapshots) for key, value in case.options.items()}
        lay(files, checkpoint)
        before = logs(checkpoint)
        asked = {"checkpoint": str(checkpoint), "table": str(self.place(case.table)), "options": options}
        done = self.running.run(asked | {"trigger": case.trigger})
        assert done["error"] is None, done
        truth = truth_of(done, before, logs(checkpoint))
        for error in ("error", "later_error"):
            if truth.get(error):
                truth[error]["message"] = truth[error]["message"].replace(str(self.folder), "<folder>")
        return {
            "id": case.id,
            "group": f"iceberg/{case.area}",
            "told": case.what,
            "table": case.table,
            "files": files,
            "restart": {"options": options, "conf": {}, "trigger": case.trigger},
            "truth": truth,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--folder", type=Path, help="keep the tables here, and use those that an earlier run has kept")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpttool-iceberg-") as made_here:
        record(options.spark, options.folder or Path(made_here), time.monotonic() + options.seconds)


def record(spark: str, folder: Path, until: float) -> None:
    """The metadata of new tables has new ids, and then nothing of the cases before is of any use."""
    kept_tables, began, outcomes = folder / "tables.json", time.monotonic(), Counter[str]()
    with Restarts(spark, folder) as restarts:
        if kept_tables.exists():
            restarts.tables = json.loads(kept_tables.read_text())
        else:
            cases_file(spark, "iceberg").unlink(missing_ok=True)
            for name in MADE:
                restarts.make(name)
            kept_tables.write_text(json.dumps(restarts.tables))
            print(f"{len(MADE)} tables, {time.monotonic() - began:.0f} s", flush=True)
        tables_file(spark).write_text(json.dumps(restarts.tables, indent=0).replace(str(folder), "<folder>") + "\n")
        kept = read(spark, "iceberg")
        todo = [case for case in {case.id: case for case in cases()}.values() if case.id not in kept]
        random.Random(1).shuffle(todo)  # so that those of a run that is short are of all kinds
        with cases_file(spark, "iceberg").open("a") as out:
            for count, case in enumerate(todo, 1):
                if time.monotonic() > until:
                    break
                done = restarts.case(case)
                outcomes[done["truth"]["outcome"]] += 1
                out.write(flatten(done) + "\n")
                out.flush()
                if count % 25 == 0 or count == len(todo):
                    print(f"{count} of {len(todo)}, {time.monotonic() - began:.0f} s, {dict(outcomes)}", flush=True)
    write(spark, "iceberg", read(spark, "iceberg"))


if __name__ == "__main__":
    main()
