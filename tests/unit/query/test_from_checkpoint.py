"""What a checkpoint shows of its query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.model import Operator as OnDisk
from ckpttool.model import OperatorMetadata, OperatorStore
from ckpttool.query.from_checkpoint import describe_checkpoint, operator_of, query_of
from ckpttool.query.model import Query, QueryTrigger, StateVariable
from ckpttool.reading.checkpoint import open_checkpoint
from ckpttool.scene.evidence import gather_evidence
from tests.samples.place import about


@pytest.fixture
def shown(sample: Callable[[str], Path]) -> Callable[[str], Query]:
    def of(name: str) -> Query:
        return query_of(gather_evidence(open_checkpoint(str(sample(name) / about(name)["checkpoint"]))))

    return of


def test_sources_have_kind_and_place(shown: Callable[[str], Query]) -> None:
    sources = shown("4.2.0-two-sources-sound").sources
    assert [(source.index, source.name, source.kind) for source in sources] == [
        (0, None, "file"),
        (1, None, "rate-micro-batch"),
    ]
    assert (sources[0].place or "").endswith("4.2.0-two-sources-sound/input")
    assert [source.place for source in shown("4.2.0-kafka-to-kafka-sound").sources] == ["payments"]


def test_sources_with_names_keep_them(shown: Callable[[str], Query]) -> None:
    assert [source.name for source in shown("4.2.0-named-sources-sound").sources] == ["trees", "numbers"]


@pytest.mark.parametrize("release", ["3.5.7", "4.2.0"])
@pytest.mark.parametrize(
    ("workload", "operator", "stores"),
    [
        ("windowed-agg-hdfs", "stateStoreSave", 1),
        ("dedup-hdfs", "dedupe", 1),
        ("join-hdfs", "symmetricHashJoin", 4),
        ("session-window-hdfs", "sessionWindowStateStoreSaveExec", 1),
    ],
)
def test_operators_are_named_even_where_no_metadata_does(
    shown: Callable[[str], Query], release: str, workload: str, operator: str, stores: int
) -> None:
    (found,) = shown(f"{release}-{workload}-sound").operators
    assert (found.id, found.name, found.partitions, len(found.stores)) == (0, operator, 2, stores)
    assert all(store.key_schema["type"] == "struct" for store in found.stores)


def test_what_it_does_not_tell_is_named(shown: Callable[[str], Query]) -> None:
    query = shown("4.2.0-file-to-parquet-sound")
    assert (query.output_mode, query.sink, query.watermarks, query.trigger) == (None, None, None, None)
    assert {"output_mode", "sink", "watermarks", "trigger", "operators.meaning"} <= set(query.not_told)
    assert query.conf["spark.sql.shuffle.partitions"] == "2"


def test_continuous_processing_shows_its_trigger(shown: Callable[[str], Query]) -> None:
    query = shown("4.2.0-continuous-to-noop-sound")
    assert query.trigger == QueryTrigger("continuous")
    assert "trigger" not in query.not_told


def test_a_checkpoint_without_offsets_tells_of_no_source(shown: Callable[[str], Query]) -> None:
    query = shown("4.2.0-file-to-parquet-crashed-after-query-id")
    assert query.sources == ()
    assert "sources" in query.not_told


def test_the_release_is_told_only_where_there_is_no_other(sample: Callable[[str], Path]) -> None:
    checkpoint = sample("4.2.0-commit-log-v3-sound") / about("4.2.0-commit-log-v3-sound")["checkpoint"]
    description = describe_checkpoint(gather_evidence(open_checkpoint(str(checkpoint))))
    assert description.spark_version is None
    assert description.origin.form == "checkpoint"


def test_variables_of_transform_with_state_come_from_its_metadata() -> None:
    properties = {
        "stateVariables": [
            {"stateName": "count", "stateVariableType": "ValueState", "ttlEnabled": True},
            {"stateName": 3},
            "count",
        ]
    }
    name = "transformWithStateExec"
    metadata = OperatorMetadata(2, 0, name, (), properties)
    found = operator_of(OnDisk(0, name, (OperatorStore("default", 5, "rocksdb"),), metadata), {})
    assert found.meaning
    assert found.meaning.variables == (StateVariable("count", "ValueState", has_ttl=True),)
    assert found.partitions == 5
