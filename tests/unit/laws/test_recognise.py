"""By which words of Spark a law is recognised."""

from __future__ import annotations

import pytest

from ckpttool.laws.book import every
from ckpttool.laws.recognise import VARIES, causes_of


def ids(told: str) -> list[str]:
    return [cause.law.id for cause in causes_of(told)]


@pytest.mark.parametrize(
    ("told", "law"),
    [
        ("java.lang.IllegalStateException: batch 4 doesn't exist", "previous-offset-missing"),
        ("o.StreamingQueryException: [STREAM_FAILED]\n[KAFKA_DATA_LOSS.PARTITIONS_DELETED] x", "partitions-deleted"),
        ("java.io.FileNotFoundException: file:/c/sources/0/4 doesn't exist (latestId: 9, c", "file-source-log"),
        ("[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] y", "operator-never-committed"),
    ],
)
def test_the_likeliest_law_comes_first(told: str, law: str) -> None:
    assert ids(told)[0] == law


def test_what_varies_stands_between_the_parts_in_their_order() -> None:
    assert "partition-not-hosted" in ids("Timeout of 60000ms expired before the position for partition t-0")
    assert ids("sources in the checkpoint offsets and now there are There are [") == []


def test_frames_tell_more_than_the_message() -> None:
    message = "java.lang.IllegalStateException: batch 4 doesn't exist"
    read_again = f"{message}\nat o.FileStreamSource.getBatch\nat o.MicroBatchExecution.populateStartOffsets"
    assert ids(f"{message}\nat o.MicroBatchExecution.populateStartOffsets")[0] == "previous-offset-missing"
    assert ids(read_again)[0] == "last-range-again"


def test_a_bare_class_is_vague_and_gives_way_to_words() -> None:
    assert {cause.is_vague for cause in causes_of("com.fasterxml.jackson.core.io.JsonEOFException: x")} == {True}
    assert not any(cause.is_vague for cause in causes_of('o.JsonEOFException: y "{"nextBatchWatermarkMs'))


def test_the_fault_of_a_program_of_ones_own_is_no_law() -> None:
    assert ids("org.apache.spark.api.python.PythonException: ValueError: no such customer") == []
    assert ids("java.lang.NullPointerException") == []


@pytest.mark.parametrize("law", [law for law in every() if law.errors], ids=lambda law: law.id)
def test_each_text_of_a_law_is_recognised_as_that_law(law: object) -> None:
    for text in law.errors:  # type: ignore[attr-defined]
        assert law.id in ids(text.replace(VARIES, " 7 ")), text  # type: ignore[attr-defined]


def test_no_law_is_recognised_by_a_word_or_a_text_twice() -> None:
    for law in every():
        assert len(set(law.errors)) == len(law.errors), law.id
        assert all(len(text.replace(VARIES, "")) > 8 for text in law.errors), law.id
