"""Numbers and names as they stand in a sentence; whatever a file holds, one short printable line comes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.words import counted, enumerated, listed, quote, shown, spell_batches, spell_gaps


def test_one_is_singular_and_thousands_are_set_apart() -> None:
    assert [counted(number, "row") for number in (0, 1, 2, 1_234_567)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,234,567 rows",
    ]


def test_a_text_is_quoted_and_cut() -> None:
    assert (quote("orders"), shown("orders"), shown("")) == ("`orders`", "orders", "")
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 60 + "…"
    assert quote("abcdef", 3) == "`abc…`"


def test_what_would_move_the_cursor_or_turn_the_line_is_spelled_out() -> None:
    assert shown("a\nb\x1b[31m") == r"a\nb\x1b[31m"
    assert shown("\u202eevil") == r"\u202eevil"
    assert shown("\ud800") == r"\ud800"
    assert shown("größe") == "größe"


@given(st.text(), st.integers(1, 80))
def test_whatever_is_quoted_is_printable(text: str, limit: int) -> None:
    assert quote(text, limit).isprintable()


def test_of_many_names_the_first_are_told() -> None:
    assert listed([]) == ""
    assert listed("abc") == "a, b, c"
    assert listed("abcd") == "a, b, c and 1 more"
    assert listed(map(str, range(5_000)), limit=1) == "0 and 4,999 more"
    assert listed(["a\nb"]) == r"a\nb"


@pytest.mark.parametrize(("words", "told"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_the_last_of_an_enumeration_has_an_and(words: str, told: str) -> None:
    assert enumerated(words) == told


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        ([range(3, 4)], "3 is"),
        ([range(3, 6)], "3 to 5 are"),
        ([range(3, 4), range(7, 8)], "3, 7 are"),
        ([range(at, at + 1) for at in range(0, 14, 2)], "0, 2, 4, 6, 8 and 2 more gaps are"),
    ],
)
def test_missing_numbers_are_subject_and_verb(gaps: list[range], told: str) -> None:
    assert spell_gaps(gaps) == told


def test_batches_in_words() -> None:
    assert [spell_batches(one) for one in ((3,), (3, 4), (3, 4, 5), (3, 5, 9))] == [
        "batch 3",
        "batches 3 and 4",
        "batches 3 to 5",
        "3 batches between 3 and 9",
    ]


def test_nouns_have_the_plural_that_english_gives_them() -> None:
    assert [counted(2, noun) for noun in ("batch", "entry", "day", "class", "file")] == [
        "2 batches",
        "2 entries",
        "2 days",
        "2 classes",
        "2 files",
    ]
    assert counted(1, "batch") == "1 batch"
