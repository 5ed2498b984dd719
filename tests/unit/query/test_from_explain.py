"""What is read of plans that real Spark printed: `printed/` has them as they came, but for the directory. All queries
of tests/differential/explaining.py are held against Spark in tests/differential/test_explain_vs_spark.py."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.query.from_explain import describe_explain
from ckpttool.query.model import DescribedFrom, Meaning, Query, QueryWatermark, fields_of

PRINTED = Path(__file__).with_name("printed")
ORIGIN = DescribedFrom("explain", "explained.txt")
WINDOW = "window(ts, 10000 ms, 10000 ms)"


def printed(name: str) -> str:
    return (PRINTED / f"{name}.txt").read_text(encoding="utf-8")


def described(text: str) -> Query:
    (query,) = describe_explain(text, ORIGIN).queries
    return query


def test_the_analysed_plan_tells_sources_watermarks_operators_and_what_they_compute() -> None:
    query = described(printed("windows-extended-3.5.7"))
    (source,) = query.sources
    assert (source.kind, source.format, source.place, source.columns) == ("file", "json", "/data/in",
                                                                          ("id", "k", "v", "ts"))  # fmt: skip
    assert query.watermarks == (QueryWatermark("ts", 10_000, (0,)),)
    (operator,) = query.operators
    assert (operator.id, operator.name, operator.partitions, operator.state_format) == (0, "stateStoreSave", 3, 2)
    assert operator.inputs == (0,)
    assert operator.meaning == Meaning((WINDOW, "k"), ("sum(v)",), 10_000, 10_000)
    assert query.plan[0] == "Aggregate [window, k], [window AS window, k, sum(v) AS sum(v)]"
    assert query.plan[-1].strip() == "+- source"
    assert {"output_mode", "trigger", "sources.options", "operators.stores"} <= set(query.not_told)
    assert "operators.meaning" not in query.not_told


def test_the_physical_plan_alone_tells_keys_and_windows_and_no_meaning() -> None:
    query = described(printed("windows-formatted-3.5.7"))
    assert query.operators[0].meaning == Meaning((WINDOW, "k"), window_ms=10_000, slide_ms=10_000)
    assert {"operators.meaning", "operators.inputs", "plan", "sources.format"} <= set(query.not_told)
    assert query.sources[0].place == "/data/in"
    (sliding,) = described(printed("sliding-simple-3.5.7")).operators
    assert sliding.meaning == Meaning(("window(ts, 60000 ms, 20000 ms)",), window_ms=60_000, slide_ms=20_000)


def test_operators_have_the_numbers_of_spark_and_the_sources_below_them() -> None:
    query = described(printed("two_operators-extended-4.2.0"))
    assert [(one.id, one.name) for one in query.operators] == [(0, "stateStoreSave"), (1, "dedupe")]
    assert [one.meaning and one.meaning.keys for one in query.operators] == [(WINDOW,), ("id", "ts")]
    (join,) = described(printed("joined-extended-3.5.7")).operators
    assert join.inputs == (0, 1)
    assert join.meaning
    assert join.meaning.join_type == "INNER"
    assert join.meaning.condition is not None
    assert join.meaning.condition.startswith("((id = id) AND ((ts >= ts) AND ")


def test_a_dataframe_that_is_read_twice_is_two_sources_of_one_log() -> None:
    query = described(printed("twice-extended-4.2.0"))
    assert [one.shared_with for one in query.sources] == [None, 0]
    assert query.operators[0].inputs == (0, 1)


def test_groups_with_state_have_keys_and_a_timeout() -> None:
    (operator,) = described(printed("with_state-extended-4.2.0")).operators
    assert operator.meaning == Meaning(("k",), timeout="EventTimeTimeout")


@pytest.mark.parametrize("name", ["kafka-extended-4.2.0", "stateless-extended-3.5.7"])
def test_of_options_only_topics_are_told(name: str) -> None:
    text = printed(name).replace("*********(redacted)", "tiger")
    assert "tiger" in text
    query = described(text)
    assert "tiger" not in json.dumps(fields_of(query))
    assert query.sources[0].place == ("orders,returns" if name.startswith("kafka") else "/data/in")


def test_an_option_of_several_lines_is_not_told_either() -> None:
    text = printed("kafka-extended-4.2.0").replace(
        "kafka.ssl.key.password=", 'kafka.sasl.jaas.config=Login\n  p="tiger"'
    )
    query = described(text)
    assert "tiger" not in json.dumps(fields_of(query))
    assert query.sources[0].place == "orders,returns"


def test_a_running_query_tells_its_mode_its_checkpoint_and_no_source() -> None:
    names = ("running-4.2.0", "running-extended-4.2.0", "running-extended-3.5.7")
    queries = [described(printed(f"counts-{name}")) for name in names]
    for query in queries:
        assert query.output_mode == "update"
        assert query.checkpoint == "file:/data/ck-counts"
        assert query.sources == ()
        assert "sources" in query.not_told
    assert [query.operators[0].meaning for query in queries[1:]] == [Meaning(("k",), ("count(1)",))] * 2
    assert [query.name for query in queries] == [None, None, "counts"]  # 4.2 prints no options there


def test_names_that_read_like_plans_leave_the_meaning_open() -> None:
    query = described(printed("odd_names-extended-4.2.0"))
    assert query.sources[0].columns == ("a, b", "c#1", "d]", "größe", "as x#2", " (f", "g: 1 AS h#3L")
    assert query.operators[0].meaning is None
    assert "operators.meaning" in query.not_told


def test_a_plan_of_which_columns_were_left_out_has_no_meaning() -> None:
    text = printed("windows-extended-3.5.7").replace("k#261, sum(v#262L) AS sum(v)#275L]", "... 2 more fields]")
    query = described(text)
    assert query.operators[0].meaning == Meaning((WINDOW, "k"), window_ms=10_000, slide_ms=10_000)
    assert {"operators.meaning", "plan"} <= set(query.not_told)


def test_every_query_of_a_text_is_told() -> None:
    text = printed("windows-extended-3.5.7") + "\n1\n" + printed("twice-extended-4.2.0")
    assert [len(query.sources) for query in describe_explain(text, ORIGIN).queries] == [1, 2]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no plan"),
        ("== Analyzed Logical Plan ==\nid: bigint\nProject [id#1]\n", "no physical plan"),
        ("== Physical Plan ==\n", "reads from no source"),
        ("== Physical Plan ==\n*(1) Project [id#0L]\n", "cut short below Project"),
        ("== Physical Plan ==\nLocalTableScan [id#0L]\n", "reads from no source"),
        ("== Physical Plan ==\nStreamingRelation kafka\n", "not printed as Spark does"),
        ("== Physical Plan ==\nProject [id#0]\n         +- StreamingRelation kafka, [id#0]\n", "below no other"),
        (
            "== Physical Plan ==\nStateStoreSave [k#1]\n+- StreamingRelation kafka, [k#1]\n",
            "not printed with its state",
        ),
    ],
)
def test_what_is_no_plan_of_a_streaming_query_is_refused(text: str, why: str) -> None:
    with pytest.raises(MalformedFile, match=why) as error:
        describe_explain(text, ORIGIN)
    assert error.value.expected


def test_operators_that_are_not_numbered_as_spark_numbers_them_are_refused() -> None:
    text = printed("two_operators-extended-4.2.0").replace("opId = 1,", "opId = 3,")
    with pytest.raises(MalformedFile, match="not numbered from 0 on"):
        describe_explain(text, ORIGIN)


@pytest.mark.parametrize(
    "text",
    [
        "StreamingRelation kafka, [" + "a" * 2_000_000 + "]",
        "StreamingRelation kafka, [k#1]\n" + "junk\n" * 200_000,
        "Project [" + "(" * 1_000_000 + " AS a#1]\n+- StreamingRelation kafka, [k#1]",
        "Project [" + ", ".join(f"(c#{n} + c#{n}) AS c#{n + 1}" for n in range(60)) + "]\n"
        "+- StreamingRelation kafka, [c#0]",
        "EventTimeWatermark " + "a#1: b" * 100_000 + "\n+- StreamingRelation kafka, [k#1]",
        "StateStoreSave [c#60], state info [ checkpoint = " + "x" * 1_000_000 + "\n+- StreamingRelation kafka, [c#1]",
        "Project [named_struct(start, " + "precisetimestampconversion(" * 700 + " AS w#1]\n"
        "+- StreamingRelation kafka, [k#1]",
    ],
    ids=["column", "lines", "brackets", "doubling", "watermark", "state", "window"],
)
@pytest.mark.parametrize("heading", ["== Physical Plan ==\n", "== Analyzed Logical Plan ==\nk: int\n"])
def test_a_hostile_text_comes_to_an_end(text: str, heading: str) -> None:
    physical = "== Physical Plan ==\nStreamingRelation kafka, [k#1]\n"
    whole = f"{heading}{text}\n\n{physical}" if "Analyzed" in heading else f"{heading}{text}\n"
    with suppress(MalformedFile):
        describe_explain(whole, ORIGIN)
