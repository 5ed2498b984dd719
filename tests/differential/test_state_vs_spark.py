"""The rows that we read from state stores, and those that Spark's own reader gives of the same checkpoint.

Queries with every kind of state run under every provider and format; then `statestore` and `state-metadata` of the
same Spark are asked for two batches of each store, and the answers are held against ours, row by row. Spark 3.5 has
no such reader: there the state is folded from the input once more, and a later Spark is asked.

    python -m tests.differential.test_state_vs_spark --spark 4.3.0 [--written-by 3.5.7] [--only join]

runs every case; the test takes those that differ most.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ckpttool import open_store
from ckpttool.releases import Release, parse_release
from ckpttool.report.state_rows import line_renderer
from ckpttool.state.reader import StateReader, open_state
from ckpttool.state.tables import TRANSFORM
from tests.parts.spark import ensure_python_state
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("state_queries.py")
REPOSITORY = SCRIPT.parents[2]
STATE = "spark.sql.streaming.stateStore."
PACKAGE = "org.apache.spark.sql.execution.streaming.state."
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"

SNAPSHOTS = {f"{STATE}minDeltasForSnapshot": "2"}
DATABASE = {f"{STATE}providerClass": f"{PACKAGE}RocksDBStateStoreProvider"}
CHANGELOGS = {**DATABASE, **SNAPSHOTS, f"{STATE}rocksdb.changelogCheckpointing.enabled": "true"}
WITH_IDS = {f"{STATE}checkpointFormatVersion": "2"}
CHECKSUMS = {f"{STATE}rowChecksum.enabled": "true"}
OLDEST, FOUR = "3.1.0", "4.0.0"  # state has schemas since 3.1
CONFS: dict[str, tuple[str, dict[str, str]]] = {
    "hdfs": (OLDEST, {}),
    "hdfs-zstd": (OLDEST, {**SNAPSHOTS, f"{STATE}compression.codec": "zstd"}),
    "hdfs-snappy": (OLDEST, {f"{STATE}compression.codec": "snappy"}),
    "hdfs-lzf": (OLDEST, {f"{STATE}compression.codec": "lzf"}),
    "hdfs-checksums": ("4.2.0", CHECKSUMS),
    "rocksdb": ("3.2.0", DATABASE),
    "changelogs": ("3.5.0", CHANGELOGS),
    "changelogs-lzf": ("3.5.0", {**CHANGELOGS, f"{STATE}compression.codec": "lzf"}),
    "checksums": ("4.2.0", {**CHANGELOGS, **CHECKSUMS}),
    "ids": (FOUR, {**CHANGELOGS, **WITH_IDS}),
    "ids-snapshots": (FOUR, {**DATABASE, **WITH_IDS}),
}
# Each with the first release that has it.
ANYWHERE = {
    **dict.fromkeys(("aggregation", "buffers", "keyless", "windows", "deduplication", "limit", "join"), OLDEST),
    "two_operators": "3.5.0",
    "deduplication_with_expiry": "3.5.0",
    "sessions": "3.2.0",
    "groups_with_state": "3.4.0",
}


@dataclass(frozen=True)
class Case:
    """A query under a configuration. `since`: the first release that has it."""

    workload: str
    conf: str
    since: str = OLDEST
    args: dict[str, Any] = field(default_factory=dict)
    more: dict[str, str] = field(default_factory=dict)
    variant: str = ""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.workload, self.variant, self.conf) if part)


def every_case() -> Iterator[Case]:
    for conf, (since, _) in CONFS.items():
        for workload, first in ANYWHERE.items():
            yield Case(workload, conf, max(since, first))
        yield Case("join", conf, since, {"how": "left_outer"}, variant="outer")
        yield Case("aggregation", conf, since, {}, {"spark.sql.streaming.aggregation.stateFormatVersion": "1"}, "1")
        yield Case("groups_with_state", conf, max(since, "3.4.0"), {"timeout": "NoTimeout"}, variant="no-timeout")
        if "hdfs" in conf:
            continue
        yield Case("join", conf, max(since, "4.1.0"), {}, {JOIN_FORMAT: "3"}, "3")
        four = {JOIN_FORMAT: "4", "spark.sql.streaming.join.stateFormatV4.enabled": "true"}
        yield Case("join", conf, max(since, "4.2.0"), {}, four, "4")
        for encoding in ("unsaferow", "avro"):
            for mode, ttl_ms in (("ProcessingTime", 3_600_000), ("EventTime", 0), ("None", 0)):
                args = {"time_mode": mode, "ttl_ms": ttl_ms}
                more = {f"{STATE}encodingFormat": encoding}
                yield Case("processor", conf, max(since, FOUR), args, more, f"{encoding}-{mode}")


CHOSEN = (
    *("aggregation-hdfs", "buffers-hdfs-lzf", "keyless-hdfs", "deduplication_with_expiry-hdfs", "limit-hdfs"),
    *("deduplication-hdfs-checksums", "sessions-hdfs-zstd", "join-hdfs", "groups_with_state-hdfs"),
    *("buffers-changelogs", "sessions-changelogs", "two_operators-changelogs", "aggregation-1-rocksdb"),
    *("deduplication-ids", "windows-ids-snapshots", "join-3-changelogs", "join-4-rocksdb"),
    *("processor-unsaferow-ProcessingTime-changelogs", "processor-avro-EventTime-ids", "aggregation-checksums"),
)


# -- both answers ------------------------------------------------------------------------------------------------------


@dataclass
class Place:
    """A running Spark and a directory for its checkpoints."""

    spark: SparkProcess
    release: Release
    root: Path

    def run(self, case: Case) -> Path:
        """The root of what the query left."""
        root = self.root / case.name
        root.mkdir(parents=True, exist_ok=True)
        conf = CONFS[case.conf][1] | case.more
        asked = {"name": case.name, "workload": case.workload, "root": str(root), "checkpoint": "checkpoint"}
        done = self.spark.run({**asked, "conf": conf, "args": case.args})
        assert done["error"] is None, done["error"]
        return root

    def ask(self, case: Case, **request: Any) -> dict[str, Any]:
        conf = CONFS[case.conf][1] | case.more
        answer = self.spark.run({"workload": "", "conf": conf, **request})
        assert answer["error"] is None, (request, answer["error"])
        return answer


def differences(place: Place, case: Case, writer: Place | None = None) -> Iterator[str]:
    """What Spark's readers say otherwise than we do, a line for each store and batch. `writer`: an older Spark that has
    written it, and left no metadata."""
    checkpoint = (writer or place).run(case) / "checkpoint"
    ours = open_state(open_store(str(checkpoint)))
    if writer is None:
        yield from operator_differences(ours, place.ask(case, metadata=True, path=str(checkpoint))["rows"])
    for batch in (ours.batch, 1):
        reader = open_state(open_store(str(checkpoint)), batch)
        for table in reader.tables:
            options = reading_options(table)
            if options is None:
                continue
            request = {"operatorId": str(table.operator), "batchId": str(batch), **options}
            theirs = place.ask(case, read=request, path=str(checkpoint))["rows"]
            render = line_renderer(table)
            expected = Counter(canonical(text, theirs=True) for text in theirs)
            found = Counter(canonical(render(row)) for row in reader.rows(table))
            if reader.findings:
                yield f"{case.name} {table.name} batch {batch}: {reader.findings}"
            if found != expected:
                yield f"{case.name} {table.name} batch {batch}: {first_difference(found, expected)}"


def operator_differences(reader: StateReader, metadata: list[dict[str, Any]]) -> Iterator[str]:
    """Spark takes the number of partitions from metadata, which is wrong for operators of a single one."""
    expected = {(row["operatorId"], row["operatorName"]) for row in metadata}
    found = {(operator.id, str(operator.name)) for operator in reader.operators.values()}
    if found != expected:
        yield f"operators {found}, to Spark {expected}"


def reading_options(table: Any) -> dict[str, str] | None:
    """How Spark is asked for the table; None for what it does not show, or shows wrongly."""
    if table.shape == "joined":
        has_time = any(field.name == "__event_time" for field in table.key.fields)
        return None if has_time else {"joinSide": table.name}  # 4.2 and 4.3 take other bytes for the time
    if table.operator_name in TRANSFORM:
        if table.is_internal:
            return None
        return {"readRegisteredTimers": "true"} if table.shape == "timers" else {"stateVarName": table.name}
    return {"storeName": table.name}


def canonical(text: str, theirs: bool = False) -> Any:
    """A row that can be compared: numbers by value, objects as pairs since names may come twice."""
    row = dict(json.loads(text, parse_float=Decimal, object_pairs_hook=_pairs))
    partition = row.pop("partition_id" if theirs else "partition")
    return (partition, *((name, _comparable(value)) for name, value in sorted(row.items())))


class _Object(tuple[Any, ...]):
    """The pairs of an object, told apart from arrays."""


def _pairs(pairs: list[tuple[str, Any]]) -> _Object:
    return _Object(pairs)


def _comparable(value: Any) -> Any:
    """Maps whose keys are no texts: arrays of pairs with us, of `k` and `v` as Spark is asked for them, and objects
    where Spark cannot be asked so."""
    if isinstance(value, _Object):
        if [name for name, _ in value] == ["k", "v"]:
            return (str(_comparable(value[0][1])), _comparable(value[1][1]))
        return tuple((name, _comparable(one)) for name, one in value)
    if isinstance(value, list):
        is_map = bool(value) and all(isinstance(one, list) and len(one) == 2 and type(one[0]) is int for one in value)
        return tuple((str(one[0]), _comparable(one[1])) if is_map else _comparable(one) for one in value)
    return value


def first_difference(found: Counter[Any], expected: Counter[Any]) -> str:
    more, less = list(found - expected), list(expected - found)
    return f"{len(more)} rows of ours, {len(less)} of Spark's: {str(more[:1])[:700]} | {str(less[:1])[:700]}"


# -- the tests ---------------------------------------------------------------------------------------------------------


@cache
def release_of(version: str) -> Release:
    release = parse_release(version)
    assert release is not None
    return release


def cases_of(version: str) -> dict[str, Case]:
    return {case.name: case for case in every_case() if release_of(case.since) <= release_of(version)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with started("4.2.0") as spark:
        yield Place(spark, release_of("4.2.0"), tmp_path_factory.mktemp("state"))


def started(version: str) -> SparkProcess:
    path = [JOBS.parent, REPOSITORY]
    if release_of(version) >= release_of(ANYWHERE["groups_with_state"]):
        path.append(ensure_python_state(version))
    return SparkProcess(version, script=SCRIPT, path=path, conf={"spark.sql.timeType.enabled": "true"})


# What others show as well: with `make test-spark`.
AT_LENGTH = (
    "buffers-hdfs-lzf",
    "sessions-changelogs",
    "two_operators-changelogs",
    "keyless-hdfs",
    "deduplication-hdfs-checksums",
    "buffers-changelogs",
    "aggregation-1-rocksdb",
    "windows-ids-snapshots",
    "join-3-changelogs",
    "aggregation-checksums",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.at_length) if name in AT_LENGTH else name for name in CHOSEN]
)
def test_rows_are_those_that_spark_reads(place: Place, name: str) -> None:
    assert list(differences(place, cases_of("4.2.0")[name])) == []


def test_rows_of_schemas_that_have_evolved(place: Place) -> None:
    """Spark reads a state as its newest schema has it, and an earlier batch by the schema that the batch had."""
    more = {f"{STATE}encodingFormat": "avro"}
    first = Case("evolving", "changelogs", FOUR, {"count": 2}, more)
    place.run(first)
    second = Case("evolving", "changelogs", FOUR, {"count": 5, "evolved": True}, more)
    assert list(differences(place, second)) == []
    reader = open_state(open_store(str(place.root / second.name / "checkpoint")))
    assert sorted(table.name for table in reader.tables if not table.is_internal) == ["added", "items", "value"]


@pytest.fixture(scope="module")
def without_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with started("3.5.7") as spark:
        yield Place(spark, release_of("3.5.7"), tmp_path_factory.mktemp("older"))


def test_rows_of_a_spark_without_a_reader_are_those_that_the_input_gives(without_reader: Place) -> None:
    for conf in ("hdfs-zstd", "rocksdb", "changelogs"):
        for workload in FOLDED:
            assert folded_differences(without_reader.run(Case(workload, conf)), workload) is None, (workload, conf)


@pytest.mark.parametrize(
    "name",
    [
        *("windows-rocksdb", "sessions-hdfs", "join-changelogs", "groups_with_state-hdfs-lzf"),
        *("two_operators-changelogs-lzf", "deduplication_with_expiry-hdfs-snappy", "buffers-rocksdb"),
    ],
)
def test_rows_of_a_spark_without_a_reader_are_those_that_a_later_one_reads(
    place: Place, without_reader: Place, name: str
) -> None:
    assert list(differences(place, cases_of("3.5.7")[name], without_reader)) == []


def test_sessions_of_a_spark_without_a_reader_are_the_same_in_every_provider(without_reader: Place) -> None:
    """Spark 4.2 reads them where they are files, but not in a RocksDB that no metadata describes."""
    in_files, *others = (
        rows_of(without_reader.run(Case("sessions", conf))) for conf in ("hdfs", "rocksdb", "changelogs")
    )
    assert sum(in_files.values()) == 7
    assert others == [in_files, in_files]


def rows_of(root: Path) -> Counter[Any]:
    reader = open_state(open_store(str(root / "checkpoint")))
    (table,) = reader.tables
    return Counter(map(line_renderer(table), reader.rows(table)))


# -- 3.5: the input once more ------------------------------------------------------------------------------------------


def inputs(root: Path) -> list[dict[str, Any]]:
    files = sorted((root / "input").glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _aggregation(rows: list[dict[str, Any]]) -> Counter[Any]:
    """Every row has a key of its own."""
    return Counter((-5_000_000_000 * row["id"], 1, row["name"]) for row in rows)


def _keyless(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter([len(rows)])


def _limit(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter([min(4, len(rows))])


def _deduplication(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter((row["at"][:19] + ".000Z", -5_000_000_000 * row["id"]) for row in rows)


FOLDED: dict[str, Any] = {
    "aggregation": (_aggregation, lambda k, v: (k["a_long"], v["count"], v["max"])),
    "keyless": (_keyless, lambda _, v: v["count"]),
    "limit": (_limit, lambda _, v: v["value"]),
    "deduplication": (_deduplication, lambda k, _: (k["at"], k["a_long"])),
}


def folded_differences(root: Path, workload: str) -> str | None:
    fold, shown = FOLDED[workload]
    reader = open_state(open_store(str(root / "checkpoint")))
    (table,) = reader.tables
    rows = [json.loads(line_renderer(table)(row)) for row in reader.rows(table)]
    found = Counter(shown(row["key"], row["value"]) for row in rows)
    return None if found == fold(inputs(root)) else first_difference(found, fold(inputs(root)))


# -- by hand -----------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description="Hold the rows of every kind of state against Spark's.")
    parser.add_argument("--spark", nargs="+", default=["4.2.0"])
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--written-by", help="another Spark that runs the queries: 3.5, which has no such reader")
    options = parser.parse_args()
    bad = 0
    for version in options.spark:
        root = Path(tempfile.mkdtemp(prefix="state-", dir="/tmp"))
        with ExitStack() as open_ones:
            place = Place(open_ones.enter_context(started(version)), release_of(version), root)
            writer = options.written_by and replace(place, spark=open_ones.enter_context(started(options.written_by)))
            for case in cases_of(options.written_by or version).values():
                if options.only in case.name:
                    bad += tell(place, version, case, writer)
        shutil.rmtree(root)
    sys.exit(1 if bad else 0)


def tell(place: Place, version: str, case: Case, writer: Place | None) -> int:
    try:
        found = list(differences(place, case, writer))
    except AssertionError as error:  # a query or a reader that this release refuses
        found = [f"{case.name}: Spark: {str(error)[:300]}"]
    print(version, case.name, "ok" if not found else "DIFFERS", flush=True)
    for one in found:
        print("   ", one, flush=True)
    return len(found)


if __name__ == "__main__":
    main()
