"""Times, durations, tables, and what may reach a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.report.layout import printable, spell_duration, spell_time, table
from ckpttool.report.style import plain


@given(st.text())
def test_nothing_unprintable_is_left(text: str) -> None:
    assert printable(text).isprintable()


@pytest.mark.parametrize(("text", "shown"), [("a\x1b[31mb", "a\\x1b[31mb"), ("café", "café"), ("a\nb", "a\\nb"),
                                             ("\ud800", "\\ud800"), ("a\u202eb\u2066", "a\\u202eb\\u2066"),
                                             ("\u2028\u2029\u200b\ufeff", "\\u2028\\u2029\\u200b\\ufeff"),
                                             ("\x7f\x9b", "\\x7f\\x9b"),
                                             ("a\u3164\ufe0f", "a\\u3164\\ufe0f")])  # fmt: skip
def test_what_would_move_the_cursor_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("span_ms", "spelled"),
    [(0, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (71_000, "71 s"), (150_000, "2 min"), (7_200_000, "2 h"),
     (5 * 86_400_000, "5 d")],
)  # fmt: skip
def test_durations_have_one_unit(span_ms: int, spelled: str) -> None:
    assert spell_duration(span_ms) == spelled


def test_times_are_utc_and_say_how_long_ago() -> None:
    assert spell_time(1_700_000_000_000) == "2023-11-14 22:13:20Z"
    assert spell_time(1_700_000_000_000, 1_700_000_240_000) == "2023-11-14 22:13:20Z (4 min ago)"


@pytest.mark.parametrize("time_ms", [2**63 - 1, -(2**63)])
def test_times_beyond_the_calendar_are_numbers(time_ms: int) -> None:
    assert spell_time(time_ms) == f"{time_ms} ms"


def test_columns_are_aligned_and_nothing_trails() -> None:
    drawn = table(["Name", "Rows"], [["a", "1"], ["longer", "12,345"]], plain, right={1})
    assert drawn == ["Name      Rows", "a            1", "longer  12,345"]
