"""What windows are told as: by the arithmetic that Spark makes of them. All else is asked of a plan of real Spark, in
tests/differential/test_describe_vs_spark.py."""

from __future__ import annotations

import pytest

from ckpttool.spark.planned import window_of

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
