"""The verdict on a change and what it ends with, also where changes are meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import gather_evidence, open_checkpoint
from ckpttool.api import Restarted
from ckpttool.deploy import ChangeRefused, check_change
from ckpttool.laws.changes.planner import PlannerSays
from ckpttool.query.from_checkpoint import query_of
from tests.unit.laws.changes.queries import QUERY, but, counting, held, store, struct

RETYPED = counting(stores=(store(struct("k string"), struct("count long!", "sum double")),))


@pytest.mark.parametrize(
    ("accept", "left", "code"),
    [
        ((), "rows_differ", 1),
        (("sink-kind-changed",), "rows_differ", 1),
        (("sink-place-changed",), "accepted", 0),
        (("sink-place-changed:query",), "accepted", 0),
        (("sink-place-changed:source 0",), "rows_differ", 1),
    ],
)
def test_a_change_that_is_meant_does_not_count(accept: tuple[str, ...], left: str, code: int) -> None:
    assert QUERY.sink
    before = but(sink=replace(QUERY.sink, place="/a"))
    after = but(sink=replace(QUERY.sink, place="/b"))
    checked = check_change(held(), after, before, accept=accept)
    assert (checked.verdict, checked.left, checked.exit_code) == ("rows_differ", left, code)


def test_nobody_can_mean_what_spark_refuses() -> None:
    assert check_change(held(), RETYPED, QUERY, accept=("state-value-changed",)).exit_code == 1


def test_what_is_assumed_counts_where_one_is_strict() -> None:
    assert check_change(held(), QUERY).exit_code == 0
    strict = check_change(held(), QUERY, strict=True)
    assert (strict.verdict, strict.left, strict.exit_code) == ("accepted", "unknown", 3)
    with pytest.raises(ChangeRefused):
        strict.assert_accepted()
    assert check_change(held(), QUERY, QUERY, strict=True).exit_code == 0


@pytest.mark.parametrize("name", ["4.2.0-windowed-agg-hdfs-sound", "3.5.7-windowed-agg-hdfs-sound"])
def test_a_checkpoint_does_not_disagree_with_itself(name: str, sample: Callable[[str], Path]) -> None:
    place = str(sample(name) / "checkpoint")
    query = query_of(gather_evidence(open_checkpoint(place)))
    checked = check_change(place, query)
    assert (checked.verdict, checked.changes, checked.exit_code) == ("accepted", (), 0)
    assert checked.diagnosis
    assert checked.diagnosis.prediction.outcome == "new_batch"


def test_the_restart_is_that_of_the_changed_query(sample: Callable[[str], Path]) -> None:
    place = str(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint")
    query = query_of(gather_evidence(open_checkpoint(place)))
    checked = check_change(place, replace(query, operators=()), restarted=Restarted(release=(4, 2, 0)))
    assert checked.verdict == "refused"
    assert checked.diagnosis
    error = checked.diagnosis.prediction.error
    assert error
    assert error.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"


def test_what_sparks_planner_refuses_is_refused() -> None:
    checked = check_change(held(), QUERY)
    assert (checked.verdict, checked.exit_code, checked.findings) == ("accepted", 0, ())
    said = PlannerSays("refused", "java.lang.Exception", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "it does not fit")
    checked = replace(checked, planner=said, accept=("state-key-changed",))
    assert (checked.verdict, checked.exit_code) == ("refused", 1)
    assert [one.id for one in checked.findings] == ["planner-disagrees"]
    assert checked.text.startswith(
        "Spark 4.3.0 will refuse this query while it plans the batch: STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE.\n"
    )
