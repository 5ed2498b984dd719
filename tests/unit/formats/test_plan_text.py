"""What windows are told as, by the arithmetic that Spark makes of them; how columns are spelt, and lines of plans."""

from __future__ import annotations

import pytest

from ckpttool.formats.plan_text import plan_lines, spell, window_of

MICROS = "precisetimestampconversion(ts, TimestampType, LongType)"
REST = f"(({MICROS} - 0) % 5000000)"
SINCE_3_4 = f"(({MICROS} - CASE WHEN ({REST} < cast(0 as bigint)) THEN ({REST} + 5000000) ELSE {REST} END) - 0)"
OF_3_3 = f"(({MICROS} - ((({MICROS} - 0) + 5000000) % 5000000)) - 0)"


def window(start: str, wrap: str) -> str:
    def column(micros: str) -> str:
        return wrap.format(f"precisetimestampconversion({micros}, LongType, TimestampType)")

    return f"named_struct(start, {column(start)}, end, {column(f'({start} + 10000000)')})"


@pytest.mark.parametrize(
    "text", [window(SINCE_3_4, "knownnullable({})"), window(OF_3_3, "{}")], ids=["since 3.4", "of 3.3"]
)
def test_a_window_has_its_column_its_length_and_its_slide(text: str) -> None:
    assert window_of(text) == {"key": "window(ts, 10000 ms, 5000 ms)", "window_ms": 10_000, "slide_ms": 5000}


def test_a_session_has_its_gap() -> None:
    ends = ("ts", "cast(ts + cast(7 seconds as interval) as timestamp)")
    micros = (f"precisetimestampconversion({one}, TimestampType, LongType)" for one in ends)
    start, end = (f"precisetimestampconversion({one}, LongType, TimestampType)" for one in micros)
    text = f"named_struct(start, {start}, end, knownnullable({end}))"
    assert window_of(text) == {"key": "session_window(ts, 7 seconds)", "gap": "7 seconds"}


def test_any_other_key_is_told_as_it_is() -> None:
    assert window_of("upper(k)") == {"key": "upper(k)"}


def test_a_window_that_begins_beside_its_hour_has_its_start() -> None:
    text = window(SINCE_3_4.replace("- 0)", "- 900000000)"), "knownnullable({})")
    assert window_of(text)["key"] == "window(ts, 10000 ms, 5000 ms, 900000 ms)"


def test_columns_are_spelt_as_what_they_were_computed_from() -> None:
    names, made_of = {"3": "name", "4": "twice"}, {"3": "upper(k#1)", "4": "concat(name#3, name#3-T10ms)"}
    assert spell("sum(v#2L) + twice#4", names, made_of) == "sum(v) + concat(upper(k), upper(k))"
    assert spell("other#3", names, made_of) == "other"


def test_columns_made_of_themselves_come_to_an_end() -> None:
    names = {str(number): "a" for number in range(40)}
    doubled = {str(number): f"a#{number + 1} + a#{number + 1}" for number in range(40)}
    assert len(spell("a#0", names, doubled)) < 2_000_000
    assert spell("a#0", {"0": "a"}, {"0": "a#0"}) == "a"


def test_of_a_source_a_plan_has_only_that_it_is_there() -> None:
    tree = """Union
:- ~StreamingRelationV2 x.Provider@1f, kafka, [kafka.sasl.jaas.config=Login
   password="tiger"], [k#1]
+- EventTimeWatermark 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d, ts#3: timestamp, 1 hours
   +- StreamingRelation DataSource(x), FileSource[/in], [ts#3]
"""
    assert plan_lines(tree) == [
        "Union",
        ":- ~source",
        "+- EventTimeWatermark ts: timestamp, 1 hours",
        "   +- source",
    ]
