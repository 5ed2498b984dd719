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
from hypothesis import HealthCheck, assume, given, settings

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
from tests.differential.query_pairs import pairs
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
FEW, MANY = 12, 500
ASKED = [
    pytest.param(("4.2.0", FEW), id="4.2.0"),
    *(
        pytest.param((release, count), id=f"{release}-at-length", marks=pytest.mark.at_length)
        for release, count in (("4.2.0", 2 * MANY), ("4.0.4", MANY))
    ),
]


@pytest.fixture(scope="module", params=ASKED)
def planner(request: pytest.FixtureRequest) -> Iterator[tuple[Release, int, SparkProcess]]:
    """A Spark that plans, and how often it is asked."""
    release, count = request.param
    with SparkProcess(release, script=PLANNING, path=[REPOSITORY]) as process:
        yield parse_release(release), count, process


def test_two_queries_fit_each_other_where_sparks_planner_says_so(
    planner: tuple[Release, int, SparkProcess], tmp_path: Path
) -> None:
    release, count, spark = planner
    for folder in ("in", "in2"):
        (tmp_path / folder).mkdir()

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pairs())
    def holds(pair: tuple[Asked, Asked]) -> None:
        old, new = map(asdict, pair)
        told = spark.run({"root": str(tmp_path), "old": old, "new": new, "pinned": SHAPED})
        assume("said" in told)
        changes = changes_between(told, release)
        assert changes.verdict != "unknown"
        assert disagreement(changes, says(told["said"])) is None

    holds()


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
    before: Asked, after: Asked, planner: tuple[Release, int, SparkProcess], tmp_path: Path
) -> None:
    release, _, spark = planner
    for folder in ("in", "in2"):
        (tmp_path / folder).mkdir()
    both = {"root": str(tmp_path), "old": asdict(before), "new": asdict(after), "pinned": SHAPED}
    told = spark.run(both)
    scene = deployed(told, release)
    changes = changes_of(scene)
    rewrite = keep_old_shape(scene, [one for one in changes.found if one.answer == "refused"])
    assert isinstance(rewrite, Rewrite)
    first_query = [line for line, _ in rewrite.lines if not line.startswith("second")]
    goes_on = both | {"new": asdict(before)} if len(first_query) < len(rewrite.lines) else both
    edited = spark.run(goes_on | {"lines": [line for line, _ in rewrite.lines]})
    assert says(edited["said"]).outcome == "accepted"
    assert [one["options"] for one in edited["edited"]["sources"]] == [one["options"] for one in told["old"]["sources"]]


def changes_between(told: dict[str, Any], release: Release) -> QueryChanges:
    return changes_of(deployed(told, release))


def changes_of(scene: Scene) -> QueryChanges:
    deploy = deploy_of(scene)
    assert deploy
    return judge_changes(deploy)


def deployed(told: dict[str, Any], release: Release) -> Scene:
    """The new query on a checkpoint with what Spark's planner has written of the old one."""
    old, new = query_of(told["old"]), query_of(told["new"])
    pinned = {"conf": {key: value for key, value in told["old"]["conf"].items() if key in SHAPED}}
    logged = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1} | pinned)
    bodies = {path: base64.b64decode(body) for path, body in told["old"]["files"].items()} | {
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
