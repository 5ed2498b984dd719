"""What a restart takes from a description."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.query.model import DescribedSource, QuerySink, QueryTrigger
from ckpttool.query.started import given_to_source, options_of, options_of_sources, trigger_of
from tests.unit.laws.changes.queries import QUERY

KAFKA = DescribedSource(0, None, "kafka", options={"subscribe": "a", "failOnDataLoss": "false"})


def test_triggers_are_those_that_change_how_it_runs() -> None:
    assert trigger_of(QUERY) == "available-now"
    assert trigger_of(replace(QUERY, trigger=QueryTrigger("processing-time", 1000))) == "default"
    assert trigger_of(replace(QUERY, trigger=None)) is None


def test_an_option_counts_where_no_two_sources_have_another_value() -> None:
    other = replace(KAFKA, index=1, options={"subscribe": "b", "FAILONDATALOSS": "true", "kafka.ssl.key": "***"})
    sink = QuerySink("kafka", options={"asyncProgressTrackingEnabled": "true", "topic": "t"})
    assert options_of(replace(QUERY, sources=(KAFKA,))) == {"subscribe": "a", "failOnDataLoss": "false"}
    found = options_of(replace(QUERY, sources=(KAFKA, other), sink=sink))
    assert {key.lower() for key in found} == {"asyncprogresstrackingenabled"}


def test_what_one_of_two_alike_has_is_not_said_of_both() -> None:
    """Kafka that lost records stops the one that does not have it."""
    other, file = replace(KAFKA, index=1, options={"subscribe": "a"}), replace(KAFKA, kind="file", options={})
    assert options_of(replace(QUERY, sources=(KAFKA, other))) == {"subscribe": "a"}
    assert options_of(replace(QUERY, sources=(KAFKA, file))) == {"subscribe": "a", "failOnDataLoss": "false"}


def test_a_description_leads_nowhere() -> None:
    places = {"path": "s3://somebody/else", "schemaTrackingLocation": "/etc", "maxFilesPerTrigger": "1"}
    assert options_of(replace(QUERY, sources=(replace(KAFKA, options=places),))) == {"maxFilesPerTrigger": "1"}


def test_what_one_source_is_given_takes_the_place_of_its_own() -> None:
    two = replace(QUERY, sources=(KAFKA, replace(KAFKA, index=1)))
    first, second = given_to_source(two, 1, "FAILONDATALOSS", "true").sources
    assert first == KAFKA
    assert second.options == {"subscribe": "a", "FAILONDATALOSS": "true"}


def test_of_each_source_all_counts_that_it_has_itself() -> None:
    other = replace(KAFKA, index=1, name="right", options={"subscribe": "b", "kafka.ssl.key": "***", "path": "/etc"})
    found = options_of_sources(replace(QUERY, sources=(KAFKA, other)))
    assert found == {"0": KAFKA.options, "right": {"subscribe": "b"}}
