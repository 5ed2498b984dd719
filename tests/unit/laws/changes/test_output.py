"""What is written, where, and how the query is run."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, gather_evidence
from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.judge import judge_changes
from ckpttool.model import Checkpoint, LogNames, Operator, OperatorMetadata
from ckpttool.query.model import BatchFunction, Query, QueryOperator, QuerySink, QueryTrigger, SparkSays
from ckpttool.releases import Release
from tests.unit.laws.changes.queries import FILES, NEW, QUERY, WATERMARK, but, held, judged, only, struct

DELTA = QuerySink("delta", "file:/out")
TIMED = but(watermarks=(WATERMARK,))
OTHER = QuerySink("foreachBatch", function=BatchFunction("upsert", "job.py", 9, "bb"))


@pytest.mark.parametrize(
    ("before", "after", "id_", "answer"),
    [
        (but(output_mode="append"), QUERY, "output-mode-changed", "rows_differ"),
        (QUERY, but(output_mode="append"), "output-mode-changed", "rows_differ"),
        (QUERY, but(output_mode="complete"), "output-mode-changed", "harmless"),
        (TIMED, replace(TIMED, output_mode="complete"), "output-mode-changed", "rows_differ"),
        (but(output_mode="complete"), QUERY, "output-mode-changed", "harmless"),
        (but(operators=()), but(operators=(), output_mode="append"), "output-mode-changed", "harmless"),
        (QUERY, but(output_schema=struct("k string", "n double")), "output-schema-changed", "harmless"),
        (
            but(sink=DELTA),
            but(sink=DELTA, output_schema=struct("k long", "n long")),
            "output-schema-changed",
            "unknown",
        ),
        (QUERY, but(sink=DELTA), "sink-kind-changed", "rows_differ"),
        (but(sink=DELTA), but(sink=replace(DELTA, place="file:/b")), "sink-place-changed", "rows_differ"),
        (
            but(sink=replace(DELTA, options={"txnAppId": "a"})),
            but(sink=replace(DELTA, options={"txnAppId": "b"})),
            "sink-identity-changed",
            "rows_differ",
        ),
        (QUERY, but(sink=OTHER), "batch-function-changed", "harmless"),
        (QUERY, but(trigger=QueryTrigger("once")), "trigger-changed", "harmless"),
        (QUERY, but(trigger=QueryTrigger("continuous")), "mode-changed", "refused"),
        (QUERY, but(name="other"), "query-renamed", "harmless"),
    ],
)
def test_what_no_checkpoint_holds(before: Query, after: Query, id_: str, answer: str) -> None:
    (change,) = only(judged(after, before), id_)
    assert change.answer == answer


def test_the_rest_of_the_plan_is_always_told() -> None:
    (change,) = judged(but(plan_sha256="bbbb")).found
    assert (change.id, change.answer) == ("plan-changed", "harmless")


def test_what_start_refuses_is_refused_whatever_the_checkpoint() -> None:
    said = SparkSays("org.apache.spark.sql.AnalysisException", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "no")
    refused = but(output_mode="append", spark_says=said, not_told=("operators",), operators=())
    changes = judged(refused)
    (change,) = only(changes, "output-mode-changed")
    assert change.spark == changes.refusal
    assert changes.verdict == judged(refused, with_was=False).verdict == "refused"


def test_a_function_is_the_same_on_another_line() -> None:
    moved = QuerySink("foreachBatch", function=BatchFunction("upsert", "other.py", 99, "aa"))
    assert only(judged(but(sink=moved))) == []


def test_kafka_may_be_read_continuously() -> None:
    sources: Any = (replace(FILES, kind="kafka"),)
    before = but(sources=sources, operators=(), sink=QuerySink("kafka"))
    after = replace(before, trigger=QueryTrigger("continuous"))
    (change,) = only(judged(after, before), "mode-changed")
    assert change.answer == "harmless"
    assert held().trigger is None


@pytest.mark.parametrize(("release", "condition"), [((3, 3, 4), None), ((3, 5, 7), "_LEGACY_ERROR_TEMP_1195")])
def test_a_function_of_batches_is_never_given_epochs(release: Release, condition: str | None) -> None:
    """`start()` says so before it looks at the sources."""
    (change,) = only(judged(but(trigger=QueryTrigger("continuous")), release=release), "mode-changed")
    assert change.spark
    assert (change.spark.phase, change.spark.condition) == ("start", condition)
    assert change.spark.class_name == "org.apache.spark.sql.AnalysisException"


def test_transform_with_state_keeps_its_output_mode() -> None:
    name, names = "transformWithStateExec", LogNames(ids=(0, 1))
    kept = Operator(0, name, (), OperatorMetadata(2, 0, name, (), {"outputMode": "Update"}))
    checkpoint = Checkpoint("/ck", None, offset_names=names, commit_names=names, operators=(kept,))
    scene = Scene(gather_evidence(checkpoint), Start(NEW))
    before = but(operators=(QueryOperator(0, name),))
    assert judge_changes(Deploy(before, held(before), NEW, before, scene)).found == ()
    after = replace(before, output_mode="append")
    (change,) = judge_changes(Deploy(after, held(before), NEW, before, scene)).found
    assert change.spark
    assert change.spark.condition == "STATE_STORE_INVALID_CONFIG_AFTER_RESTART"
