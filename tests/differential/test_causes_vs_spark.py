"""Each cause, made with real Spark: the query runs, nothing is told of it; then it happens, and the cause is told.

One Spark of each release makes all of them. What Spark itself does afterwards stands with each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ckpttool.api import Restarted
from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.look import check_up
from ckpttool.releases import parse_release
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.samples.place import place_sample
from tests.samples.process import JOBS, SparkProcess

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

SCRIPT = Path(__file__).with_name("cause_queries.py")
RELEASES = ["3.5.7", "4.2.0"]
HOUR_S = 3_600
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}


@dataclass
class Job:
    """A query in a place of its own, and the Spark that runs it."""

    spark: SparkProcess
    release: str
    root: Path
    topics: Topics
    at: str = "checkpoint"
    files: int = 0
    sinks: Sequence[str] = ()
    options: dict[str, str] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.root / self.at

    def feed(self, count: int = 1, minute: int | None = None) -> None:
        """Files of two rows each, a minute after those of the file before."""
        (self.root / "in").mkdir(exist_ok=True)
        for _ in range(count):
            at = self.files if minute is None else minute
            time = f"{2024 + at // 60:04}-01-01T00:{at % 60:02}:00Z"
            rows = [{"id": self.files * 2 + one, "ts": time} for one in (0, 1)]
            (self.root / "in" / f"{self.files:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
            self.files += 1

    def run(self, query: str, count: int = 0) -> str | None:
        """After so many more files; what stopped it."""
        self.feed(count)
        request = {"root": str(self.root), "checkpoint": self.at, "query": query, "conf": CONF, "options": self.options}
        return _condition(self.spark.run(request))

    def causes(self, release: str | None = None) -> dict[str, str]:
        return {one.id: one.sign.sure for one in self.checkup(release).diagnosis.causes}

    def checkup(self, release: str | None = None) -> Checkup:
        given = Restarted(sinks=self.sinks, release=parse_release(release or self.release))
        now_ms = max(int(path.stat().st_mtime * 1000) for path in self.root.rglob("*")) + 600_000
        return check_up(str(self.checkpoint), given, now_ms=now_ms)


def _condition(answer: dict[str, Any]) -> str | None:
    error = answer["error"]
    return json.dumps(error) if error else None


def newest(log: Path) -> Path:
    return max(log.glob("[0-9]*"), key=lambda path: int(path.name.split(".")[0]))


def later(root: Path) -> None:
    """Whoever copies keeps no times."""
    for path in [path for path in root.rglob("*") if path.is_file()]:
        moved = path.stat().st_mtime + HOUR_S
        os.utime(path, (moved, moved))


# -- what happens ------------------------------------------------------------------------------------------------------


def by_age(job: Job) -> str | None:
    assert job.run("windows", 5) is None
    assert job.causes() == {}
    old = ["!", "-newer", str(job.checkpoint / "commits" / "0"), "-delete"]
    subprocess.run(["find", str(job.checkpoint), "-type", "f", *old], check=True)
    return job.run("windows", 1)


def failed_deploy(job: Job) -> str | None:
    """The old code goes on afterwards, as is told."""
    assert job.run("windows", 3) is None
    assert job.causes() == {}
    assert job.run("unique_windows", 1)
    return None


def first_operator(job: Job) -> str | None:
    """Where the start failed decides whether what describes it was written, or empty directories alone."""
    assert job.run("plain", 3) is None
    assert job.causes() == {}
    assert job.run("windows", 1)
    return None


def two_drivers(job: Job) -> str | None:
    """The second one began where the first stood then, and its offsets overwrote those of the first."""
    assert job.run("plain", 2) is None
    other = job.root / "other"
    shutil.copytree(job.checkpoint, other)
    assert job.run("plain", 2) is None
    assert job.causes() == {}
    job.at = "other"
    assert job.run("plain") is None
    job.at = "checkpoint"
    for name in ("2", ".2.crc"):
        shutil.copy2(other / "offsets" / name, job.checkpoint / "offsets" / name)
    seconds_before = newest(job.checkpoint / "commits").stat().st_mtime - 5
    os.utime(job.checkpoint / "commits" / "3", (seconds_before, seconds_before))
    return job.run("plain", 1)


def another_query(job: Job) -> str | None:
    return _turns(job, ("a", "b", "a", "b"))


def subscription(job: Job) -> str | None:
    return _turns(job, ("a", "a", "b", "b"))


def _turns(job: Job, which: Sequence[str]) -> str | None:
    names = {one: f"{job.root.name}-{one}" for one in ("a", "b")}
    for topic in names.values():
        job.topics.create(topic)
    for one in which:
        for topic in names.values():
            job.topics.fill(topic, 3)
        job.options = {"kafka.bootstrap.servers": job.topics.address, "subscribe": names[one]}
        assert job.run("from_kafka") is None
        if one == "a":
            assert set(job.causes()) <= {"another-query", "subscription-changed"}
    return None


def stateless_run(job: Job) -> str | None:
    assert job.run("windows", 4) is None
    assert job.causes() == {}
    refused = job.run("plain", 3)
    return refused or job.run("windows", 1)


def other_windows(job: Job) -> str | None:
    assert job.run("windows", 3) is None
    assert job.causes() == {}
    return job.run("longer_windows", 3)


def copied_in_flight(job: Job) -> str | None:
    assert job.run("to_parquet", 3) is None
    copy = job.root / "copy"
    shutil.copytree(job.checkpoint / "offsets", copy / "offsets")
    assert job.run("to_parquet", 1) is None
    shutil.copytree(job.checkpoint, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("offsets"))
    assert job.causes() == {}
    job.at = "copy"
    later(copy)
    return job.run("to_parquet", 1)


def old_backup(job: Job) -> str | None:
    job.sinks = [str(job.root / "output")]
    assert job.run("to_parquet", 2) is None
    shutil.copytree(job.checkpoint, job.root / "backup")
    assert job.run("to_parquet", 2) is None
    assert job.causes() == {}
    shutil.rmtree(job.checkpoint)
    shutil.copytree(job.root / "backup", job.checkpoint)
    later(job.checkpoint)
    return None


def state_elsewhere(job: Job) -> str | None:
    """Partition 1 was of an executor on another machine."""
    assert job.run("windows", 3) is None
    assert job.causes() == {}
    shutil.rmtree(job.checkpoint / "state" / "0" / "1")
    return job.run("windows", 1)


def cleaned_up(job: Job) -> str | None:
    job.at, job.sinks = "table/checkpoint", [str(job.root / "table")]
    assert job.run("to_delta", 3) is None
    assert job.causes() == {}
    vacuum = {"sql": [f"VACUUM delta.`{job.root / 'table'}` RETAIN 0 HOURS"], "conf": CONF}
    assert job.spark.run(vacuum)["error"] is None
    return None


def edited(job: Job) -> str | None:
    assert job.run("plain", 4) is None
    assert job.causes() == {}
    path = newest(job.checkpoint / "offsets")
    path.write_text(path.read_text().replace('"logOffset":3', '"logOffset":1'))
    return None


def disk_full(job: Job) -> str | None:
    """The two newest files are there, and their bytes are not."""
    assert job.run("plain", 3) is None
    assert job.causes() == {}
    for log in ("offsets", "commits"):
        path = newest(job.checkpoint / log)
        path.write_bytes(b"")
        (path.parent / f".{path.name}.crc").unlink()
    return job.run("plain", 1)


def row_of_the_future(job: Job) -> str | None:
    assert job.run("windows", 4) is None
    assert job.causes() == {}
    job.feed(minute=60 * 90)  # in the year 2114
    assert job.run("windows", 2) is None
    return None


def older_spark(job: Job) -> str | None:
    """What 4.2.0 has written."""
    place_sample("4.2.0-offset-log-v2-sound", job.root)
    job.feed()
    return job.run("plain")


BOTH = ("3.5.7", "4.2.0")


@dataclass(frozen=True)
class Story:
    """`sure`: how sure it is of the cause. `told_in`: the releases in which it comes to that. `stops`: whether the next
    start fails."""

    happens: Callable[[Job], str | None]
    cause: str
    sure: str
    told_in: Sequence[str] = BOTH
    stops: bool = False


STORIES = (
    Story(by_age, "deleted-by-age", "likely", stops=True),
    Story(failed_deploy, "failed-deploy", "certain", told_in=("3.5.7",)),
    Story(first_operator, "failed-deploy", "likely or possible", told_in=("3.5.7",)),
    Story(two_drivers, "two-drivers", "certain"),
    Story(another_query, "another-query", "certain"),
    Story(subscription, "subscription-changed", "likely"),
    Story(stateless_run, "stateless-run", "likely", told_in=("3.5.7",), stops=True),
    Story(other_windows, "window-or-key-changed", "certain"),
    Story(copied_in_flight, "copy-in-flight", "likely", stops=True),
    Story(old_backup, "old-backup-put-back", "likely"),
    Story(state_elsewhere, "state-elsewhere", "likely", stops=True),
    Story(cleaned_up, "cleaned-up", "likely"),
    Story(edited, "edited-by-hand", "certain"),
    Story(disk_full, "disk-full", "likely", stops=True),
    Story(row_of_the_future, "row-of-the-future", "certain"),
    Story(older_spark, "older-spark", "certain", told_in=("3.5.7",), stops=True),
)


@pytest.fixture(scope="module", params=RELEASES)
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, SparkProcess, Topics]]:
    """One Spark at a time."""
    with (
        Broker() as broker,
        SparkProcess(
            request.param, ("kafka", "delta"), script=SCRIPT, path=[JOBS.parent], brings_broker=False
        ) as process,
    ):
        yield request.param, process, Topics(broker.address)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.happens.__name__)
def test_it_is_told_what_happened(running: tuple[str, SparkProcess, Topics], tmp_path: Path, story: Story) -> None:
    release, process, topics = running
    job = Job(process, release, tmp_path, topics)
    error = story.happens(job)
    told = job.causes()
    assert (told.get(story.cause) or "none") in (story.sure if release in story.told_in else "none")
    if release in story.told_in:
        assert bool(error) is story.stops
