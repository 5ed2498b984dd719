"""Spark's own planner, asked by `ckpt check-change --by-spark`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ckpttool import load_checkpoint
from ckpttool.apply.fingerprints import files_below
from ckpttool.laws.changes.judge import QueryChanges, deploy_of, judge_changes
from ckpttool.laws.changes.planner import disagreement, says
from ckpttool.plan.rewrites import Rewrite, keep_old_shape
from ckpttool.query.from_spark import query_of
from ckpttool.releases import Release, parse_release, since
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.store import open_store
from tests.conftest import run_ckpt
from tests.differential.query_families import families
from tests.differential.sweep.bases import REPOSITORY
from tests.differential.sweep.changes.query import Asked, From
from tests.parts.spark import ensure_java, ensure_spark
from tests.samples.process import SparkProcess

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("planned_by_spark.py")
PLANNING = Path(__file__).with_name("planning.py")
NOT_MATCHING = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"


@pytest.mark.parametrize(
    ("which", "condition"),
    [
        ("same", None),
        ("keyed", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        pytest.param("summed", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", marks=pytest.mark.at_length),
        pytest.param("stateless", NOT_MATCHING, marks=pytest.mark.at_length),
    ],
)
def test_it_says_what_is_said_here(which: str, condition: str | None, sample: Callable[[str], Path]) -> None:
    ensure_java()
    place = str(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint")
    store = open_store(place)
    before = {path: store.read(path) for path in files_below(store, "state")}
    given = ("--python", str(ensure_spark("4.2.0")), "--job-arg", which, "--job-arg", place)
    outcome = run_ckpt("check-change", place, "--query", str(JOB), "--by-spark", *given, "--format", "json")
    told = json.loads(outcome.out)
    error = told["spark_planner"]["error"]
    assert told["spark_planner"]["outcome"] == ("refused" if condition else "accepted"), error
    assert (error and error["condition"]) == condition
    assert "planner-disagrees" not in [one["id"] for one in told["findings"]]
    of_state = [one["spark"] and one["spark"]["condition"] for one in told["changes"] if "operator" in one["where"]]
    assert of_state == ([condition] if condition else [])
    assert {path: store.read(path) for path in files_below(store, "state")} == before


# -- pairs of queries --------------------------------------------------------------------------------------------------

SHAPED = sorted(since.PINNED)
# How many families there are, and of how many queries at most: each is planned on the state of each of its own.
ASKED = [
    pytest.param(("4.2.0", 1, 4), id="4.2.0"),
    *(
        pytest.param((release, 40, 12), id=f"{release}-at-length", marks=pytest.mark.at_length)
        for release in ("4.0.4", "4.2.0")
    ),
]


@pytest.fixture(scope="module", params=ASKED)
def planner(request: pytest.FixtureRequest) -> Iterator[tuple[Release, int, int, SparkProcess]]:
    release, *sizes = request.param
    with SparkProcess(release, script=PLANNING, path=[REPOSITORY]) as process:
        yield parse_release(release), *sizes, process


def test_two_queries_fit_each_other_where_sparks_planner_says_so(
    planner: tuple[Release, int, int, SparkProcess], tmp_path: Path
) -> None:
    release, count, most, spark = planner
    make_folders(tmp_path)

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(families(most))
    def holds(family: tuple[Asked, ...]) -> None:
        told = planned(spark, tmp_path, *family)
        for old, new, said in told["said"]:
            changes = changes_of(deployed(told["queries"][old], told["queries"][new], release))
            assert changes.verdict != "unknown"
            assert disagreement(changes, says(said)) is None

    holds()


def make_folders(root: Path) -> None:
    for folder in ("in", "in2"):
        (root / folder).mkdir()


def planned(spark: SparkProcess, root: Path, *queries: Asked) -> dict[str, Any]:
    return spark.run({"root": str(root), "queries": list(map(asdict, queries)), "pinned": SHAPED})


COUNTED = Asked(keys=("k",), values=("count(*) AS n",), mode="update")
BOTH = Asked((From(), From("in2")), select=("id", "k"), mode="append")
EDITED = [
    pytest.param(COUNTED.but(keys=("coalesce(k, '') AS k",)), COUNTED, id="a key that may be null now"),
    pytest.param(COUNTED, COUNTED.but(values=("count(*) AS n", "max(v) AS m")), id="one aggregate more"),
    pytest.param(BOTH, BOTH.but(sources=BOTH.sources[:1]), id="the last source went"),
    pytest.param(BOTH, BOTH.but(sources=BOTH.sources[1:]), id="the first source went"),
]


@pytest.mark.parametrize(("before", "after"), EDITED)
def test_spark_takes_the_code_that_is_told(
    before: Asked, after: Asked, planner: tuple[Release, int, int, SparkProcess], tmp_path: Path
) -> None:
    release, _, _, spark = planner
    make_folders(tmp_path)
    old, new = planned(spark, tmp_path, before, after)["queries"]
    scene = deployed(old, new, release)
    rewrite = keep_old_shape(scene, [one for one in changes_of(scene).found if one.answer == "refused"])
    assert isinstance(rewrite, Rewrite)
    lines = [line for line, _ in rewrite.lines]
    goes_on = before if any(line.startswith("second") for line in lines) else after
    given = {"root": str(tmp_path), "old": asdict(before), "new": asdict(goes_on), "lines": lines, "pinned": SHAPED}
    edited = spark.run(given)
    assert says(edited["said"]).outcome == "accepted"
    assert [one["options"] for one in edited["edited"]["sources"]] == [one["options"] for one in old["sources"]]


def changes_of(scene: Scene) -> QueryChanges:
    deploy = deploy_of(scene)
    assert deploy
    return judge_changes(deploy)


def deployed(before: dict[str, Any], after: dict[str, Any], release: Release) -> Scene:
    """The one query on a checkpoint with what Spark's planner has written of the other."""
    old, new = query_of(before), query_of(after)
    pinned = {"conf": {key: value for key, value in before["conf"].items() if key in SHAPED}}
    logged = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1} | pinned)
    bodies = {path: base64.b64decode(body) for path, body in before["files"].items()} | {
        "metadata": b'{"id":"0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"}',
        "commits/0": b'v1\n{"nextBatchWatermarkMs":0}',
        "offsets/0": "\n".join(["v1", logged, *['{"logOffset":0}'] * len(old.sources)]).encode(),
    }
    with TemporaryDirectory() as folder:
        for path, body in bodies.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(body)
        evidence = gather_evidence(load_checkpoint(open_store(folder)))
    return Scene(evidence, Start(release), query=new, was=old)
