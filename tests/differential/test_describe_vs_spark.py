"""A job that real Spark plans and does not start, held against the checkpoint that the same job left when it ran: what
both tell, they tell alike. The job itself sees to it that nothing was started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import Description, Query, QueryOperator, QueryTrigger, fields_of
from ckpttool.reading.checkpoint import open_checkpoint
from ckpttool.releases import parse_release, since
from ckpttool.scene.evidence import gather_evidence
from tests.conftest import run_ckpt
from tests.parts.spark import ensure_spark
from tests.samples.place import about, sample_names

pytestmark = pytest.mark.spark

# The Spark that plans, and the one whose samples are planned: little that is compared has changed between them.
PAIRS = [
    ("3.5.7", "3.5.7"),
    ("4.2.0", "4.2.0"),
    *(
        pytest.param((release, samples), marks=pytest.mark.at_length)
        for release, samples in (
            ("3.3.4", "3.5.7"),
            ("3.4.4", "3.5.7"),
            ("4.0.4", "4.2.0"),
            ("4.1.3", "4.2.0"),
            ("4.3.0", "4.2.0"),
        )
    ),
]
# 3.3 takes the bounds of a window for never null, and 4.3 whatever a stateful operator gives out for possibly null.
OTHERWISE_NULLABLE = ("3.3.4", "4.3.0")
SINCE_4_2 = ("named_sources", "named_sink")
JOB = Path(__file__).with_name("describing.py")
NOT_HERE = "not here"


def described_samples(release: str, made_by: str) -> list[str]:
    """Those that need no other system to be planned, and nothing that this release lacks."""
    every = [name for name in sample_names() if name.startswith(made_by) and name.endswith("-sound")]
    if parse_release(release) < since.OFFSETS_2:
        every = [name for name in every if (about(name).get("restart") or {}).get("job") not in SINCE_4_2]
    every = [name for name in every if "continuous" not in name]  # that is set as it is started, not by the writer
    return [name for name in every if about(name).get("restart") and not about(name)["restart"]["needs"]]


def describe(release: str, job: Path, *given: str) -> Any:
    outcome = run_ckpt(
        "query", "describe", str(job), "--python", str(ensure_spark(release)), "--format", "json", *given
    )
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: pair[0])
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Query]]:
    """By sample, what Spark says of its query."""
    (release, made_by), folder = request.param, tmp_path_factory.mktemp("describe")
    samples = described_samples(release, made_by)
    wanted = [
        {"name": name, "checkpoint": about(name)["checkpoint"]}
        | {"workload": restart["job"], "conf": restart["conf"], "args": restart["args"]}
        for name in samples
        if (restart := about(name)["restart"])
    ]
    (folder / "wanted.json").write_text(json.dumps(wanted))
    of_samples = ("--spark-conf", "spark.sql.shuffle.partitions=2", "--table", "lake.clicks=id bigint")
    told = describe(release, JOB, "--job-arg", str(folder / "wanted.json"), "--timeout", "600", *of_samples)
    description = msgspec.convert(told, Description)
    assert [query.name for query in description.queries] == [*samples, NOT_HERE]
    return release, {str(query.name): query for query in description.queries}


def test_it_is_the_query_that_its_checkpoint_shows(
    jobs: tuple[str, dict[str, Query]], sample: Callable[[str], Path]
) -> None:
    release, queries = jobs
    here, there = {}, {}
    for name, query in queries.items():
        if name == NOT_HERE:
            continue
        shown = query_of(gather_evidence(open_checkpoint(str(sample(name) / about(name)["checkpoint"]))))
        pinned = [key for key in shown.conf if since.PINNED[key] <= parse_release(release)]
        here[name], there[name] = (told(one, name, shown, pinned) for one in (query, shown))
        if release in OTHERWISE_NULLABLE:
            here[name], there[name] = (nullable(fields_of(one)) for one in (here[name], there[name]))
    assert here == there


def test_what_is_not_here_is_stood_in_for(jobs: tuple[str, dict[str, Query]]) -> None:
    query = jobs[1][NOT_HERE]
    assert [(one.kind, one.place, one.stands_for) for one in query.sources] == [
        ("kafka", "orders", "kafka"),
        ("file", "s3a://nowhere/landing", "s3a://nowhere/landing"),
        ("table", "lake.clicks", "lake.clicks"),
    ]
    assert query.sources[0].options == {"kafka.ssl.key.password": "***", "subscribe": "orders"}
    assert query.sources[1].options["maxFilesPerTrigger"] == "3"
    assert query.trigger == QueryTrigger("processing-time", 60_000)
    assert query.sink
    assert query.sink.function
    assert query.sink.function.name == "<lambda>"
    (operator,) = query.operators
    assert operator.inputs == (0, 1, 2)
    assert operator.meaning
    assert operator.meaning.values == ("count(1)",)


def told(query: Query, name: str, shown: Query, pinned: list[str]) -> tuple[object, ...]:
    """As far as a checkpoint tells."""
    conf = {key: query.conf.get(key) for key in pinned}
    return sources_of(query, name, shown), list(map(kept, query.operators)), conf


def sources_of(query: Query, name: str, shown: Query) -> list[object]:
    """With their places below the root; what a checkpoint does not tell is left out."""
    return [
        (
            one.index,
            one.name if seen.name else None,
            one.kind,
            one.place and one.kind == "file" and below(one.place, name),
        )
        if seen.kind != "unknown"  # it never had an offset
        else one.index
        for one, seen in zip(query.sources, shown.sources, strict=True)
    ]


def below(place: str, name: str) -> str:
    return place.rpartition(f"/{name}/")[2]


def kept(operator: QueryOperator) -> tuple[object, ...]:
    """What lies on the disk of it. Names that only a schema gave away are those of the metadata. Which columns of a
    join's rows may be null depends on the batch: where a side has nothing to read, no filter says that they are not."""
    stores = operator.stores
    if operator.name == "symmetricHashJoin":
        stores = tuple(replace(store, value_schema=nullable(store.value_schema)) for store in stores)
    return operator.id, operator.name, operator.partitions, operator.state_format, stores


def nullable(schema: Any) -> Any:
    """Without what a column is marked as: 3.3 marks no windows."""
    if isinstance(schema, list | tuple):
        return [nullable(one) for one in schema]
    if isinstance(schema, dict):
        loose = {"nullable": True, "metadata": {}}
        return {key: loose.get(key, nullable(value)) for key, value in schema.items()}
    return schema
