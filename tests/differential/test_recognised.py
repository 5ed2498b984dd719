"""What real Spark printed when it failed, held against the texts by which laws are recognised. Without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ckpttool.laws.book import every
from ckpttool.laws.recognise import causes_of
from tests.differential.sweep.accuracy import judged, judged_iceberg, judged_kafka, judged_tables
from tests.differential.sweep.judge import Verdict
from tests.differential.sweep.load import recorded_versions

KNOWN = {law.id for law in every() if law.errors}
BESIDE = {"delta-offset-odd", "source-offset-malformed"}  # told of such a line, and nothing fails for them alone


def failed(version: str) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """What Spark printed, and the laws of which the judge says that they stopped it."""
    suites = [(judged, "cases"), (judged_tables, "tables"), (judged_iceberg, "iceberg")]
    verdicts: list[Verdict] = [
        one for judge, suite in suites if version in recorded_versions(suite) for one in judge(version)
    ]
    if version in recorded_versions("kafka"):
        verdicts += judged_kafka(version, asked=True)
    for one in verdicts:
        if one.truth["error"] and one.right_error and (laws := blamed(one)):
            yield one.truth["error"], laws


def blamed(one: Verdict) -> set[str]:
    if one.said.law:
        return {one.said.law.id}
    return {finding.id for finding in one.outlook.findings if finding.severity == "error"} & KNOWN - BESIDE


def printed(error: dict[str, Any]) -> str:
    """A condition that the cause does not have itself is that of an exception around it."""
    around, message = error["condition"], error["message"] or ""
    head = f"org.apache.spark.SparkException: [{around}]\n" if around and f"[{around}" not in message else ""
    return f"{head}{error['class']}: {message}"


def rank(error: dict[str, Any], laws: set[str]) -> int | None:
    """Of the first of them among the causes; 0 is the likeliest."""
    named = [cause.law.id for cause in causes_of(printed(error))]
    return min((named.index(law) for law in laws if law in named), default=None)


@pytest.mark.parametrize("version", recorded_versions())
def test_the_law_that_stopped_a_start_is_among_the_causes(version: str) -> None:
    missed = [(laws, error["class"], error["message"]) for error, laws in failed(version) if rank(error, laws) is None]
    assert missed == []


def test_it_is_mostly_the_first_and_nearly_always_one_of_three() -> None:
    """Without frames, which a log has and the records have not."""
    ranks = Counter(rank(*one) for version in recorded_versions() for one in failed(version))
    every_one = ranks.total()
    assert every_one > 3_000
    assert ranks[0] / every_one > 0.68
    assert sum(ranks[place] for place in (0, 1, 2)) / every_one > 0.92


@pytest.mark.parametrize("version", recorded_versions())
def test_few_causes_fit_what_was_printed(version: str) -> None:
    counts = sorted(len(causes_of(printed(error))) for error, _ in failed(version))
    assert counts[len(counts) // 2] <= 4
