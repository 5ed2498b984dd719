"""Jobs of somebody's own: a sound one is put on trial on the command line, each bad one is refused with its reason."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.driver import Driver
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Session
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, watched
from tests.conftest import run_ckpt
from tests.parts.spark import ensure_spark

pytestmark = pytest.mark.spark

SPARK = "4.2.0"
JOBS = Path(__file__).with_name("jobs")
BAD = {
    "throws": "fails by itself: .*no third batch today",
    "never_ends": "does not end by itself",
    "writes_nothing": "wrote no rows that can be read",
    "other_columns": "no column order, which IDENTITY names",
    "csv_sink": "is neither Parquet nor JSON",
    "lacks_build": "has no build",
    "broken": "the job's file does not load",
}


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scratch, TrialSettings, Session, Controller]]:
    settings = TrialSettings(Driver(ensure_spark(SPARK)), SPARK)
    groups = job_scenario(JOBS / "sound.py").groups
    with Scratch(tmp_path_factory.mktemp("jobs") / "scratch") as scratch:
        start = partial(settings.driver.start, scratch, "victim")
        with watched(groups, start) as (session, controller):
            yield scratch, settings, session, controller


@pytest.mark.parametrize("name", BAD)
def test_a_bad_job_is_refused(victim: tuple[Scratch, TrialSettings, Session, Controller], name: str) -> None:
    scratch, settings, session, controller = victim
    if name == "never_ends":
        settings = replace(settings, seconds=4)  # a third of the time that the run gets
    job = PySparkJob(scratch, job_scenario(JOBS / f"{name}.py"), settings)
    with pytest.raises(Refused, match=BAD[name]):
        Trial(job, job.prepare(asker(session, controller))).run_victim(session, controller)


def test_a_job_on_the_command_line(tmp_path: Path) -> None:
    """Once to the end, then one case again from its image; no process is left."""
    scratch = tmp_path / "scratch"
    options = ["--python", str(ensure_spark(SPARK))]
    job = JOBS / "sound.py"
    ran = run_ckpt("crash-test", "run", "--job", str(job), *options, "--scratch", str(scratch), "--format", "json")
    report = json.loads(ran.out)
    assert ran.code == 0, report["summary"]
    assert report["summary"]["valid"] >= 40
    assert report["seed"] == 1
    assert "seed 1, Spark 4.2.0" in ran.err
    assert not [pid for pid in os.listdir("/proc") if pid.isdecimal() and str(scratch) in command_line(pid)]

    image = next(path for path in sorted((scratch / "images" / "sound").iterdir()) if "commit-log-begin" in path.name)
    again = run_ckpt("crash-test", "replay", str(image), "--format", "json")
    assert again.code == 0
    (point,) = json.loads(again.out)["points"]
    assert (point["point"], point["verdict"]) == ("commit-log-begin", "valid")


def command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
