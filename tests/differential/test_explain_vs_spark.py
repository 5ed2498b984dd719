"""What is read of the texts that real Spark prints of a query, held against what the same Spark plans of it, asked over
its own classes: sources, watermarks, operators and what they compute. What a text is said to tell, it tells alike."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.judge import judge_changes
from ckpttool.query.from_checkpoint import query_of as held_query
from ckpttool.query.from_explain import describe_explain
from ckpttool.query.from_progress import describe_progress
from ckpttool.query.from_spark import query_of
from ckpttool.query.model import DescribedFrom, DescribedSource, Query, QueryOperator
from ckpttool.reading.checkpoint import open_checkpoint
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import gather_evidence
from tests.parts.spark import ensure_jars, ensure_java, ensure_python_state, ensure_spark

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("explaining.py")
# What is printed differently from one release to the next.
SHORT = ("stateless", "windows", "sessions", "joined", "twice", "two_operators", "odd_names", "kafka", "named")
RELEASES = [
    *(pytest.param((release, SHORT), id=release) for release in ("3.5.7", "4.2.0")),
    *(
        pytest.param((release, ()), id=f"{release} at length", marks=pytest.mark.at_length)
        for release in ("3.3.4", "3.4.4", "3.5.7", "4.0.4", "4.1.3", "4.2.0", "4.3.0")
    ),
]
WITHOUT_A_PLAN = "directory_odd"  # it reads no file, and so runs no batch
UNREAD = ("odd_names", "literals", "wide")  # whose meaning nobody could be sure of
ORIGIN = DescribedFrom("explain", "printed")


@pytest.fixture(scope="module", params=RELEASES)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    release, names = request.param
    ensure_java()
    folder, python = tmp_path_factory.mktemp("explain"), ensure_spark(release)
    settings = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", f"spark.local.dir={folder}"]
    jars = ensure_jars(release, "kafka") if release not in ("3.3.4", "4.3.0") else []
    settings += ["--jars", ",".join(map(str, jars))] if jars else []
    environment = os.environ | {
        "PYTHONPATH": str(ensure_python_state(release)),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_SUBMIT_ARGS": " ".join([*settings, "pyspark-shell"]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    (folder / "root").mkdir()
    given = [str(folder / "root"), str(folder / "told"), *names]
    ran = subprocess.run([python, JOB, *given], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = [json.loads(line) for line in (folder / "told").read_text().splitlines()]
    assert not [one for one in found if "failed" in one]
    return [one | {"checkpoint": str(folder / "root" / f"ck-{one['name']}"), "release": release} for one in found]


def test_what_a_text_tells_is_what_spark_plans(told: list[dict[str, Any]]) -> None:
    for one in told:
        planned = query_of(one["raw"])
        for kind, text in one["texts"].items():
            try:
                (printed,) = describe_explain(text, ORIGIN).queries
            except MalformedFile:
                assert (one["name"], kind.partition("_")[0]) == (WITHOUT_A_PLAN, "running")
                continue
            where = (one["name"], kind)
            assert (where, compared(printed, printed)) == (where, compared(planned, printed))


def test_the_whole_text_of_a_query_tells_its_meaning(told: list[dict[str, Any]]) -> None:
    for one in told:
        (printed,) = describe_explain(one["texts"]["extended"], ORIGIN).queries
        assert (one["name"], "operators.meaning" in printed.not_told) == (one["name"], one["name"] in UNREAD)
        assert "sources" not in printed.not_told


def test_a_running_query_tells_its_mode(told: list[dict[str, Any]]) -> None:
    for one in told:
        if one["name"] != WITHOUT_A_PLAN and (text := one["texts"].get("running_extended")):
            (printed,) = describe_explain(text, ORIGIN).queries
            told_by = [one.name in ("stateStoreSave", "symmetricHashJoin") for one in printed.operators]
            assert printed.output_mode == one["raw"]["output_mode"] or (
                printed.output_mode is None and not any(told_by)
            )


def test_progress_tells_sources_and_operators_in_the_order_of_spark(told: list[dict[str, Any]]) -> None:
    for one in told:
        if not one["progress"]:
            continue
        (progress,) = describe_progress(json.dumps(one["progress"]).encode(), ORIGIN).queries
        planned = query_of(one["raw"])
        names = [operator.name for operator in progress.operators]
        expected = [operator.name for operator in planned.operators]
        assert [name or here for name, here in zip(names, expected, strict=True)] == expected
        kinds = [source.kind for source in planned.sources if source.shared_with is None]
        assert [source.kind for source in progress.sources] == kinds


def test_no_text_of_a_query_is_another_than_its_own_checkpoint(told: list[dict[str, Any]]) -> None:
    """What it does not tell may be unknown."""
    for one in told:
        if not one["progress"] or one["name"] == WITHOUT_A_PLAN:
            continue
        held = held_query(gather_evidence(open_checkpoint(one["checkpoint"])))
        forms = {kind: describe_explain(text, ORIGIN).queries[0] for kind, text in one["texts"].items()}
        forms["progress"] = describe_progress(json.dumps(one["progress"]).encode(), ORIGIN).queries[0]
        for kind, query in forms.items():
            changes = judge_changes(Deploy(query, held, parse_release(one["release"]), query_of(one["raw"])))
            worse = [change for change in changes.found if change.answer not in ("harmless", "unknown")]
            assert (one["name"], kind, worse) == (one["name"], kind, [])


def compared(query: Query, printed: Query) -> dict[str, object]:
    """As far as the text says that it tells."""
    untold = printed.not_told
    fields: dict[str, object] = {
        "sources": [source_of(one, untold) for one in query.sources],
        "watermarks": query.watermarks,
        "operators": [operator_of(one, untold) for one in query.operators],
        "plan": query.plan,
    }
    if "sources" in untold:
        fields["watermarks"] = [replace(one, sources=()) for one in query.watermarks or ()]
    return {name: value for name, value in fields.items() if name not in untold}


def source_of(source: DescribedSource, untold: tuple[str, ...]) -> tuple[object, ...]:
    columns = source.columns or tuple(field["name"] for field in (source.schema or {"fields": ()})["fields"])
    format_ = source.format if "sources.format" not in untold else None
    place = source.place if "plan" not in untold or source.kind == "file" else None  # of topics
    return (source.index, source.name if "plan" not in untold else None, source.kind, place, format_,
            columns if "sources.columns" not in untold else None, source.shared_with)  # fmt: skip


def operator_of(operator: QueryOperator, untold: tuple[str, ...]) -> QueryOperator:
    inputs = () if "operators.inputs" in untold else operator.inputs
    meaning = None if "operators.meaning" in untold else operator.meaning
    return replace(operator, stores=(), inputs=inputs, meaning=meaning)
