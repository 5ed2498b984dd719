"""Chains of exceptions, as Java and Python print them."""

from __future__ import annotations

import pytest

from ckpttool.logs.thrown import ThrownChain, ThrownReader

JAVA = """\
org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0 (TID 3) (host executor 1): \
java.lang.IllegalStateException: Error reading delta file
of two lines
\tat org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider.get(HDFS.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:829)
\t... 23 more
Caused by: java.io.FileNotFoundException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] gone SQLSTATE: 58030
\tat org.apache.hadoop.fs.RawLocalFileSystem.open(RawLocalFileSystem.java:1)
"""


def chain_of(text: str) -> ThrownChain:
    reader = ThrownReader()
    for line in text.split("\n"):
        reader.feed(line)
    assert reader.chain
    return reader.chain


def test_a_chain_goes_from_the_outside_to_the_cause() -> None:
    chain = chain_of(JAVA)
    assert [one.short_name for one in chain.thrown] == [
        "SparkException",
        "IllegalStateException",
        "FileNotFoundException",
    ]
    assert chain.thrown[1].message == "Error reading delta file\nof two lines"
    assert chain.thrown[1].frames == [
        "at org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider.get",
        "at java.lang.Thread.run",
    ]
    assert chain.cause.class_name == "java.io.FileNotFoundException"
    assert (chain.conditions, chain.sql_state) == (["CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"], "58030")


def test_what_wraps_is_not_the_answer_unless_there_is_nothing_else() -> None:
    wrapper = "pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query terminated: gone"
    assert chain_of(f"java.lang.IllegalStateException: gone\n{wrapper}").cause.short_name == "IllegalStateException"
    alone = chain_of(wrapper)
    assert (alone.cause.short_name, alone.conditions) == ("StreamingQueryException", [])


@pytest.mark.parametrize(
    "line",
    [
        "24/11/18 14:00:06 INFO SecurityManager: authentication disabled",
        "see org.apache.spark.sql.streaming.StreamingQuery for more",
        "python/lib/py4j.protocol.py",
        "",
    ],
)
def test_what_is_no_exception_is_passed_over(line: str) -> None:
    reader = ThrownReader()
    reader.feed(line)
    assert reader.chain is None


def test_classes_of_spark_that_are_not_called_exceptions_are_known_by_their_condition() -> None:
    chain = chain_of("org.apache.spark.sql.Odd: [STATE_ODD.SO] x")
    assert (chain.cause.short_name, chain.conditions) == ("Odd", ["STATE_ODD.SO"])


def test_the_same_error_again_is_alike_whatever_its_numbers() -> None:
    first, second = (chain_of(f"java.lang.IllegalStateException: batch {n} doesn't exist") for n in (4, 117))
    assert first.likeness == second.likeness
    assert chain_of("java.lang.IllegalStateException: other").likeness != first.likeness


def test_a_trace_without_end_does_not_fill_the_memory() -> None:
    reader = ThrownReader()
    for _ in range(20_000):
        reader.feed("Caused by: java.lang.Error: x")
        reader.feed("\tat a.b.C.d(E.java:1)")
    assert reader.chain
    assert len(reader.chain.text) < 10_000


def test_a_long_line_takes_no_longer_than_it_is() -> None:
    reader = ThrownReader()
    for text in ("a" * 10**6, "a." * 10**6, "A.b" * 10**6, "[A" * 10**6, "java.lang.Error: " * 10**5):
        reader.feed(text)
    assert reader.chain
    assert len(reader.chain.thrown) <= 50
