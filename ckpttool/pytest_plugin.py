"""The pytest plugin: a marked test becomes a sweep over a job's crash points, one test for each.

    @pytest.mark.ckpt_crash("jobs/orders.py")
    def test_orders_survive_a_crash(crash):
        crash.check()

The job runs once, at the first test that needs it; each test recovers from the images of its own point.

A fixture holds a query against what is deployed, and a mark makes one test for each query of a job:

    @pytest.mark.ckpt_queries("jobs/orders.py")
    def test_orders_may_be_deployed(ckpt_query, check_change):
        check_change(ckpt_query)  # against <query>.json in the directory --ckpt-deployed
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ckpttool

if TYPE_CHECKING:
    from ckpttool.deploy import Checked
    from ckpttool.harness.judge import Judgement
    from ckpttool.query.model import Query

MARK, QUERIES = "ckpt_crash", "ckpt_queries"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ckpt", "crash tests of streaming jobs")
    group.addoption("--ckpt-seed", type=int, default=1, help="what the jobs' input is made from")
    group.addoption("--ckpt-python", default="python3", help="the Python that has pyspark")
    group.addoption("--ckpt-jars", default="", help="connectors: jars with commas between them")
    group.addoption("--ckpt-deployed", default=None, help="a directory with what is deployed, as <query>.json")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(job): stop this job at every point of a batch; needs the fixture crash")
    config.addinivalue_line("markers", f"{QUERIES}(job): one test for each query of this job; needs ckpt_query")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--ckpt-seed")
    return f"ckpt: seed {seed}" if seed != 1 else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    _queries(metafunc)
    marker = metafunc.definition.get_closest_marker(MARK)
    if marker is None or "crash" not in metafunc.fixturenames:
        return
    from ckpttool.harness.points import stops
    from ckpttool.harness.scenarios import job_scenario

    job = metafunc.definition.path.parent / marker.args[0]
    points = list(stops(job_scenario(job).groups))
    metafunc.parametrize("crash", [(job, point) for point in points], ids=points, indirect=True)


def _queries(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker(QUERIES)
    if marker is None or "ckpt_query" not in metafunc.fixturenames:
        return
    from ckpttool.query.model import named

    queries = _described(metafunc.definition.path.parent / marker.args[0], metafunc.config)
    metafunc.parametrize("ckpt_query", queries, ids=named(queries))


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


# -- changed queries ---------------------------------------------------------------------------------------------------


class ChangeCheck:
    """Called with a query, or what it is described from: a job's file, a saved description, a writer. And with what
    is deployed: a checkpoint, or a description of one; else that of the query's name in `--ckpt-deployed`."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def __call__(
        self, source: Any, deployed: str | Path | None = None, *, was: Any = None, accept: Sequence[str] = ()
    ) -> Checked:
        """Fails unless Spark goes on with what the query means, but for changes that are meant."""
        __tracebackhide__ = True
        query, before = self._one(source), None if was is None else self._one(was)
        checked = ckpttool.check_change(str(deployed or self._deployed(query)), query, before, accept=accept)
        if checked.left != "accepted":
            pytest.fail(checked.text, pytrace=False)
        return checked

    def _one(self, source: Any) -> Query:
        from ckpttool.query.model import Query, named

        if isinstance(source, Query):
            return source
        if not isinstance(source, str | Path):
            described: Query = ckpttool.describe_query(source)
            return described
        queries = _described(Path(source), self.config)
        assert len(queries) == 1, f"{source} has several queries: {', '.join(named(queries))}; mark the test {QUERIES}"
        return queries[0]

    def _deployed(self, query: Query) -> Path:
        folder = self.config.getoption("--ckpt-deployed")
        assert folder, "say what is deployed, or give --ckpt-deployed DIR"
        assert query.name, "a query without a name has no file in --ckpt-deployed"
        return Path(folder) / f"{query.name}.json"


def _described(place: Path, config: pytest.Config) -> list[Query]:
    import shutil

    from ckpttool.query.job import JobSettings, describe_job
    from ckpttool.query.saved import parse_description

    if place.suffix == ".json":
        return list(parse_description(place.read_bytes()).queries)
    given = config.getoption("--ckpt-python")
    description, failed = describe_job(place, JobSettings(python=Path(shutil.which(given) or given)))
    assert not failed, f"{place} failed {failed}"
    return list(description.queries)


@pytest.fixture
def check_change(request: pytest.FixtureRequest) -> ChangeCheck:
    """Holds a query against what is deployed."""
    return ChangeCheck(request.config)
