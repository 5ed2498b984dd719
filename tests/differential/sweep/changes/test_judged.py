"""What we say of changed queries is what real Spark did, as far as it was recorded."""

from __future__ import annotations

import pytest

from tests.differential.sweep.accuracy import judged as judged_restarts
from tests.differential.sweep.changes.load import recorded
from tests.differential.sweep.judge_changes import disagrees_with_itself, judged, score
from tests.differential.sweep.load import recorded_versions

# Where the answer is "unknown" with the query before at hand, and why nothing that is at hand tells.
UNKNOWN = {
    "join/filtered": "whether a column of a join may be null is not in a description of 3.x",
    "join/delay-longer": "the same",
    "join/column-after": "the same",
    "join-outer/inner": "the same",
    "count/unchecked-key-added": "where nothing is compared, what Spark makes of wider rows depends on what is in them",
    "count/column-type": "whether there is a number that does not fit no file of the checkpoint tells",
    "variables-avro/field-added": "Spark takes the field, and whether the code writes it no description tells",
    "variables-avro/field-added-old-code": "the same, of code that does not",
}
# Right by what they do, and raised by another check of the same start.
OTHER_CLASS = {
    "stateless/parquet": "what a reader says to files of another format depends on the format",
    "variables-avro/to-count": "start() refuses it before the operators are compared",
}
CASES = [(spark, with_was) for spark in recorded() for with_was in (True, False)]


@pytest.mark.parametrize(("spark", "with_was"), CASES)
def test_nothing_is_wrongly_fine_and_nobody_is_alarmed_for_nothing(spark: str, with_was: bool) -> None:
    found = score(judged(spark, with_was))
    assert (found.wrongly_fine, found.false_alarms) == (0, 0)
    assert found.same > 10


@pytest.mark.parametrize("spark", recorded())
def test_with_the_query_before_the_verdict_is_what_became_of_it(spark: str) -> None:
    wrong = {one.case["id"]: one.said for one in judged(spark, with_was=True) if not one.right}
    assert wrong == {id_: "unknown" for id_ in wrong if id_ in UNKNOWN}


@pytest.mark.parametrize("spark", recorded())
def test_what_is_refused_is_raised_as_spark_raises_it(spark: str) -> None:
    refused = [one for one in judged(spark, with_was=True) if one.became == "refused" and one.said == "refused"]
    assert {one.case["id"] for one in refused if not one.right_class} <= OTHER_CLASS.keys()


@pytest.mark.parametrize("spark", recorded())
def test_without_it_what_is_otherwise_stands_on_an_assumption(spark: str) -> None:
    for one in judged(spark, with_was=False):
        assert one.right or one.changes.assumes or one.said == "unknown", one.case["id"]


@pytest.mark.parametrize("spark", recorded_versions())
def test_no_checkpoint_disagrees_with_what_is_described_of_it(spark: str) -> None:
    assert [one.case["id"] for one in judged_restarts(spark) if disagrees_with_itself(one)] == []
