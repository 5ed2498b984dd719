"""Sources that came, went, or read something else."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.query.model import DescribedSource, Query
from ckpttool.releases import Release
from tests.unit.laws.changes.queries import FILES, NEW, but, judged, only, struct

SECOND = replace(FILES, index=1, place="file:/in2")
KAFKA = DescribedSource(0, None, "kafka", place="orders", options={"subscribe": "orders"})


def reading(*sources: DescribedSource) -> Query:
    return but(sources=sources, operators=())


def named(source: DescribedSource, name: str) -> DescribedSource:
    return replace(source, name=name)


@pytest.mark.parametrize(
    ("before", "after", "ids", "answer"),
    [
        ((FILES,), (FILES, SECOND), ["source-added"], "refused"),
        ((FILES,), (FILES, replace(FILES, index=1, shared_with=0)), ["source-shared"], "refused"),
        ((FILES, SECOND), (replace(SECOND, index=0),), ["source-removed"], "refused"),
        ((FILES,), (KAFKA,), ["source-kind-changed"], "refused"),
        ((FILES,), (replace(KAFKA, kind="mine"),), ["source-kind-changed"], "unknown"),
        ((FILES, SECOND), (KAFKA, replace(KAFKA, index=1)), ["foreign-query"], "refused"),
        ((FILES,), (named(FILES, "left"),), ["source-named"], "refused"),
        ((named(FILES, "left"),), (FILES,), ["source-named"], "refused"),
        ((named(FILES, "left"),), (named(FILES, "other"),), ["source-renamed"], "rows_differ"),
        ((named(FILES, "l"),), (named(FILES, "l"), named(SECOND, "r")), ["source-added"], "harmless"),
        ((named(FILES, "l"), named(SECOND, "r")), (named(FILES, "l"),), ["source-removed"], "rows_differ"),
    ],
)
def test_sources_are_known_by_their_lines_or_names(before: Any, after: Any, ids: list[str], answer: str) -> None:
    for with_was in (True, False):
        changes = only(judged(reading(*after), reading(*before), NEW, with_was=with_was), *ids)
        assert {change.answer for change in changes} == {answer}


@pytest.mark.parametrize(
    ("release", "condition"),
    [(NEW, None), ((4, 3, 0), "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT")],
)
def test_names_that_come_are_refused_by_themselves_since_4_3(release: Release, condition: str | None) -> None:
    (change,) = only(judged(reading(named(FILES, "left")), reading(FILES), release), "source-named")
    assert change.spark
    assert change.spark.condition == condition


def test_lines_do_not_tell_which_names_sources_had() -> None:
    """Version 1 of the offset log knows sources with names by their lines too."""
    conf = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    before = replace(reading(FILES), conf=conf)
    new = reading(named(FILES, "left"))
    changes = judged(new, before, with_was=False)
    assert only(changes) == []
    assert "the sources had the same names before: left" in changes.assumes
    assert "the sources had the same names before: left" not in judged(new, replace(new, conf=conf)).assumes
    (change,) = only(judged(reading(FILES), before, with_was=False), "source-named")
    assert change.answer == "unknown"


def test_a_text_that_tells_no_plan_tells_no_names() -> None:
    new = replace(reading(FILES), not_told=("plan",))
    (change,) = only(judged(new, reading(named(FILES, "left"))), "source-named")
    assert change.answer == "unknown"


def test_it_is_told_which_source_is_gone() -> None:
    (change,) = only(judged(reading(replace(SECOND, index=0)), reading(FILES, SECOND)), "source-removed")
    assert (change.where.source, change.before) == (0, "file json file:/in") or change.before == "file file:/in"
    assert change.spark
    assert change.spark.message.startswith("There are [2] sources in the checkpoint offsets and now there are [1]")


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"subscribe": "orders,returns"}, "harmless"),
        ({"subscribe": "returns"}, "refused"),
        ({"subscribe": "returns", "failOnDataLoss": "false"}, "rows_differ"),
        ({"subscribePattern": "ret.*"}, "refused"),
    ],
)
def test_topics(options: dict[str, str], answer: str) -> None:
    new = replace(KAFKA, options=options, place=next(iter(options.values())))
    (change,) = only(judged(reading(new), reading(KAFKA)), "source-place-changed")
    assert change.answer == answer


def test_a_provider_s_class_is_of_its_kind() -> None:
    new = replace(KAFKA, kind="kafkasourceprovider", provider="org.apache.spark.sql.kafka010.KafkaSourceProvider")
    assert only(judged(reading(new), reading(KAFKA))) == []


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({"schema": struct("k string", "v double")}, "harmless"),
        ({"schema": struct("k integer", "v long")}, "rows_differ"),
        ({"schema": struct("k string", "v integer")}, "unknown"),
        ({"schema": struct("k string", "v string")}, "harmless"),
        ({"format": "csv"}, "rows_differ"),
        ({"format": "parquet"}, "refused_later"),
    ],
)
def test_what_files_are_read_as(changed: dict[str, Any], answer: str) -> None:
    changes = judged(reading(replace(FILES, **changed)), reading(FILES))
    (change,) = only(changes, "source-schema-changed")
    assert change.answer == answer
    assert changes.verdict == ("accepted" if answer == "harmless" else "refused" if "refused" in answer else answer)


def test_sources_that_are_not_told_are_not_known() -> None:
    new = replace(reading(), not_told=("sources",))
    (change,) = only(judged(new, reading(FILES)), "source-kind-changed")
    assert change.answer == "unknown"
