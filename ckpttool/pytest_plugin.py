"""The pytest plugin: a marked test becomes a sweep over a job's crash points, one test for each.

    @pytest.mark.ckpt_crash("jobs/orders.py")
    def test_orders_survive_a_crash(crash):
        crash.check()

The job runs once, at the first test that needs it; each test recovers from the images of its own point.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ckpttool.harness.judge import Judgement

MARK = "ckpt_crash"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ckpt", "crash tests of streaming jobs")
    group.addoption("--ckpt-seed", type=int, default=1, help="what the jobs' input is made from")
    group.addoption("--ckpt-python", default="python3", help="the Python that has pyspark")
    group.addoption("--ckpt-jars", default="", help="connectors: jars with commas between them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(job): stop this job at every point of a batch; needs the fixture crash")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--ckpt-seed")
    return f"ckpt: seed {seed}" if seed != 1 else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker(MARK)
    if marker is None or "crash" not in metafunc.fixturenames:
        return
    from ckpttool.harness.points import stops
    from ckpttool.harness.scenarios import job_scenario

    job = metafunc.definition.path.parent / marker.args[0]
    points = list(stops(job_scenario(job).groups))
    metafunc.parametrize("crash", [(job, point) for point in points], ids=points, indirect=True)


class CrashAt:
    """All crashes of a job at one point, judged. The seed is in the message, and so is the place of the image."""

    def __init__(self, point: str, seed: int, judgements: list[Judgement]) -> None:
        self.point, self.seed, self.judgements = point, seed, judgements

    def check(self) -> None:
        """Fail unless everything is there exactly once after each."""
        for judgement in self.judgements:
            messages = [anomaly.message for anomaly in judgement.anomalies] or list(judgement.reasons)
            where = f"{judgement.case.name}, seed {self.seed}, image {judgement.case.image}"
            assert judgement.verdict == "valid", f"{judgement.verdict}: {'; '.join(messages)} ({where})"


class Sweep:
    """One job, run to its end under the debugger, and the Spark that recovers from its images."""

    def __init__(self, stack: ExitStack, path: Path, folder: Path, options: Any) -> None:
        import shutil

        from ckpttool.harness.campaign import run_victims
        from ckpttool.harness.driver import Driver
        from ckpttool.harness.preflight import require_for_job
        from ckpttool.harness.pyspark_job import PySparkJob
        from ckpttool.harness.scenarios import job_scenario
        from ckpttool.harness.scratch import Scratch
        from ckpttool.harness.settings import TrialSettings

        python = shutil.which(options.getoption("--ckpt-python")) or options.getoption("--ckpt-python")
        jars = [Path(jar).resolve() for jar in options.getoption("--ckpt-jars").split(",") if jar]
        driver = Driver(Path(python).absolute(), jars)
        release = require_for_job(driver, [], folder)
        settings = TrialSettings(driver, release, options.getoption("--ckpt-seed"))
        job = PySparkJob(stack.enter_context(Scratch(folder)), job_scenario(path), settings)
        ((self.trial, _),), self.spark = run_victims(stack, [job])

    def at(self, point: str) -> list[Judgement]:
        from ckpttool.harness.judge import judge_case

        images = [image for image in self.trial.images if image.point == point]
        cases = [self.trial.recover_image(self.spark.ask, image) for image in images]
        return [judge_case(self.trial.run, case) for case in cases]


@pytest.fixture(scope="session")
def ckpt_sweeps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Job → its sweep, begun when it is asked for."""
    begun: dict[Path, Sweep] = {}
    with ExitStack() as stack:

        def sweep(job: Path) -> Sweep:
            if job not in begun:
                folder = tmp_path_factory.mktemp("ckpt") / "scratch"
                begun[job] = Sweep(stack, job, folder, request.config)
            return begun[job]

        yield sweep


@pytest.fixture
def crash(request: pytest.FixtureRequest, ckpt_sweeps: Any) -> CrashAt:
    """The crashes of the marked job at this test's point; skipped where the job does not pass it."""
    job, point = request.param
    judgements = ckpt_sweeps(job).at(point)
    if not judgements:
        pytest.skip(f"the job does not pass {point}")
    return CrashAt(point, request.config.getoption("--ckpt-seed"), judgements)
