"""`ckpt check-change` over checkpoints and descriptions that are at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.query.from_spark import query_of
from ckpttool.query.model import DescribedFrom, Description, Meaning, Query, fields_of
from tests.conftest import run_ckpt
from tests.differential.sweep.changes.load import read, unpack
from tests.unit.laws.changes.queries import QUERY, counting, held, store, struct

RETYPED = counting(stores=(store(struct("k string"), struct("count long!", "sum double")),))
MIXED = counting(meaning=Meaning(keys=("k",), values=("count(1)", "sum(id)")))
REFUSES = "Spark 4.2.0 will refuse this query in the batch that comes next: STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE."
MIXES = (
    "Spark 4.2.0 will take this query without a word, and of each key count(1) and sum(id) goes on from what was "
    "count(1) and sum(v): a mixture of both."
)


def saved(place: Path, *queries: Query, form: str = "job", spark: str = "4.2.0") -> str:
    description = Description(DescribedFrom(form, "job.py"), spark, queries)  # type: ignore[arg-type]
    place.write_text(json.dumps({"schema": "ckpt.query/1", **fields_of(description)}))
    return str(place)


@pytest.fixture
def deployed(tmp_path: Path) -> str:
    return saved(tmp_path / "deployed.json", held(), form="checkpoint")


@pytest.mark.parametrize(
    ("new", "first", "code"),
    [
        (QUERY, "Spark 4.2.0 takes this query.", 0),
        (RETYPED, REFUSES, 1),
        (MIXED, MIXES, 1),
    ],
)
def test_the_first_line_is_the_verdict(new: Query, first: str, code: int, deployed: str, tmp_path: Path) -> None:
    was = saved(tmp_path / "was.json", QUERY)
    outcome = run_ckpt("check-change", deployed, "--query", saved(tmp_path / "new.json", new), "--was", was)
    assert outcome.out.splitlines()[0] == first
    assert outcome.code == code


def test_the_json_has_each_change(deployed: str, tmp_path: Path) -> None:
    new = saved(tmp_path / "new.json", RETYPED)
    told = json.loads(run_ckpt("check-change", deployed, "--query", new, "--format", "json").out)
    (change,) = told["changes"]
    assert told["verdict"] == "refused"
    assert change["where"] == {"operator": 0, "store": "default", "field": "value.1"}
    assert (change["before"], change["after"], change["told_by"]) == ("sum bigint", "sum double", "checkpoint")
    assert change["spark"]["condition"] == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    assert change["ways_out"][0] == "keep-old-shape"


def test_a_checkpoint_and_what_is_described_of_it_agree(sample: Callable[[str], Path], tmp_path: Path) -> None:
    place = str(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint")
    described = tmp_path / "deployed.json"
    described.write_text(run_ckpt("query", "describe", place, "--format", "json").out)
    outcome = run_ckpt("check-change", place, "--query", str(described), "--spark-version", "4.2", "--strict")
    assert outcome.code == 0
    assert outcome.out.startswith("Spark 4.2.1 takes this query, and runs batch ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--query", "{new}", "--accept", "nonsense"], 2, "is no change"),
        (["--query", "{two}"], 2, "has several queries: pick one with"),
        (["--query", "{two}::other"], 0, ""),
        (["--query", "{two}::nobody"], 4, "there is no query nobody"),
    ],
)
def test_which_query_is_meant(arguments: list[str], code: int, said: str, deployed: str, tmp_path: Path) -> None:
    elsewhere = [replace(QUERY, name=name, checkpoint=f"/elsewhere/{name}") for name in ("first", "other")]
    places = {"new": saved(tmp_path / "new.json", QUERY), "two": saved(tmp_path / "two.json", *elsewhere)}
    outcome = run_ckpt("check-change", deployed, *(one.format(**places) for one in arguments))
    assert outcome.code == code
    assert said in outcome.err


def test_a_description_with_a_schema_that_is_none_is_refused(deployed: str, tmp_path: Path) -> None:
    bad = saved(tmp_path / "bad.json", counting(stores=(store({"type": "struct", "fields": [7]}, {}),)))
    outcome = run_ckpt("check-change", deployed, "--query", bad)
    assert outcome.code == 6
    assert "no data type" in outcome.err


@pytest.mark.parametrize(("spark", "assumed"), [("3.5.7", "3.5.7"), ("3.5.0-amzn-1", "4.3.0")])
def test_the_spark_that_described_a_query_is_the_one_that_starts_it(
    spark: str, assumed: str, deployed: str, tmp_path: Path
) -> None:
    new = saved(tmp_path / "new.json", QUERY, spark=spark)
    told = json.loads(run_ckpt("check-change", deployed, "--query", new, "--format", "json").out)
    assert told["spark_version"]["assumed"] == assumed


def test_an_option_may_be_given_to_one_source(sample: Callable[[str], Path], tmp_path: Path) -> None:
    place = sample("4.2.0-two-sources-sound") / "checkpoint"
    new = tmp_path / "new.json"
    new.write_text(run_ckpt("query", "describe", str(place), "--format", "json").out)
    given = ("check-change", str(place), "--query", str(new), "--option")
    told = json.loads(run_ckpt(*given, "1.maxFilesPerTrigger=3", "--format", "json").out)
    assert [(one["source"], one["key"], one["value"], one["answer"]) for one in told["given"]] == [
        (1, "maxFilesPerTrigger", "3", "taken")
    ]
    for slip, said in (
        ("9.maxFilesPerTrigger=3", "the query has 2 sources, numbered from 0"),
        ("1.maxFilesPerTriger=3", "did you mean maxFilesPerTrigger?"),
        ("1.path=/in", "where a source reads is told by --query"),
    ):
        refused = run_ckpt(*given, slip)
        assert refused.code == 2
        assert said in refused.err
    both = run_ckpt(*given, "1.maxFilesPerTrigger=3", "--option", "maxfilespertrigger=4")
    assert both.code == 2
    assert "to all sources, and to one" in both.err


def test_the_planner_needs_a_job_and_a_checkpoint(deployed: str, sample: Callable[[str], Path], tmp_path: Path) -> None:
    new, job = saved(tmp_path / "new.json", QUERY), tmp_path / "job.py"
    job.write_text("raise SystemExit\n")
    for path, query in ((deployed, str(job)), (str(sample("4.2.0-two-sources-sound") / "checkpoint"), new)):
        refused = run_ckpt("check-change", path, "--query", query, "--by-spark")
        assert refused.code == 2
        assert "it takes no description" in refused.err


@pytest.fixture
def union(tmp_path: Path) -> tuple[str, str]:
    """A checkpoint of two sources, and the description of a query without the first of them."""
    unpack("3.5.7", tmp_path / "bases")
    place = tmp_path / "bases" / "union" / "checkpoint"
    shorter = query_of(read("3.5.7")["union/first-removed"]["described"])
    return str(place), saved(tmp_path / "new.json", shorter, spark="3.5.7")


def test_an_edit_of_the_checkpoint_is_saved_and_carried_out(union: tuple[str, str], tmp_path: Path) -> None:
    place, new = union
    plan = str(tmp_path / "plan.json")
    outcome = run_ckpt("check-change", place, "--query", new, "--take", "drop-source-line", "--out", plan)
    assert (outcome.code, "saved change-sources" in outcome.err) == (1, True), outcome.err
    true = ("source-order", "rows-lost-unknown", "sink-unnamed")
    done = run_ckpt("apply", plan, "--yes", *(word for one in true for word in ("--accept", one)))
    assert done.code == 0, done.err + done.out
    offsets = sorted((Path(place) / "offsets").glob("[0-9]*"))
    assert [len(path.read_text().split("\n")) for path in offsets[-2:]] == [3, 3]
    again = run_ckpt("check-change", place, "--query", new)
    assert again.out.startswith("Spark 3.5.7 takes this query")


def test_what_is_no_edit_of_the_checkpoint_is_not_saved(union: tuple[str, str], deployed: str, tmp_path: Path) -> None:
    place, new = union
    out = ("--out", str(tmp_path / "plan.json"))
    assert run_ckpt("check-change", place, "--query", new, "--take", "old-code-first", *out).code == 6
    assert run_ckpt("check-change", place, "--query", new, "--take", "nothing", *out).code == 6
    assert run_ckpt("check-change", place, "--query", new, "--take", "drop-source-line").code == 2
    assert run_ckpt("check-change", deployed, "--query", new, *out).code == 2
    assert not (tmp_path / "plan.json").exists()
