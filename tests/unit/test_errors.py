"""What a command ends with, and what an error knows of the file that it is about."""

from __future__ import annotations

from itertools import combinations

import pytest

from ckpttool.errors import (
    CkptError,
    Deadly,
    InFile,
    MalformedFile,
    NotFound,
    NotPointedAt,
    Refused,
    Unavailable,
    exit_code,
    told_of,
)
from ckpttool.model import Position, SparkError

CODES = {"misused": 2, "refused": 6, "wrong": 1, "unreachable": 5, "unknown": 3}  # what outweighs comes first


def test_nothing_met_is_success() -> None:
    assert exit_code() == 0


@pytest.mark.parametrize("met", [words for count in (1, 2, 5) for words in combinations(CODES, count)], ids=" ".join)
def test_what_outweighs_decides(met: tuple[str, ...]) -> None:
    assert exit_code(**dict.fromkeys(met, True)) == CODES[met[0]]


def test_errors_end_with_the_code_of_what_they_are() -> None:
    malformed = MalformedFile("cut", expected="an end")
    errors = [NotFound(""), Unavailable(""), Refused(""), NotPointedAt(""), malformed, CkptError("")]
    assert [error.exit_code for error in errors] == [4, 5, 6, 6, 1, 70]


def test_a_place_that_only_a_file_names_comes_with_what_would_allow_it() -> None:
    allowed = NotPointedAt("s3://b is not asked", "--allow s3://b")
    assert allowed.message == "s3://b is not asked (--allow s3://b has it looked at)"
    assert allowed.next_step == "--allow s3://b"
    assert (NotPointedAt("never").message, NotPointedAt("never").next_step) == ("never", None)


def test_damage_gets_the_path_of_its_file_and_keeps_the_rest() -> None:
    place, spark = Position(2, 7), SparkError("java.io.EOFException")
    with pytest.raises(InFile) as raised, told_of("offsets/3"):
        raise MalformedFile("it is cut", expected="three lines", position=place, spark=spark)
    told = raised.value
    assert (told.path, told.message, told.expected) == ("offsets/3", "it is cut", "three lines")
    assert (told.position, told.spark, told.is_deadly) == (place, spark, False)


def test_the_innermost_file_is_the_one_that_is_told() -> None:
    with pytest.raises(InFile) as raised, told_of("state/0/0/3.zip"), told_of("state/0/0/SSTs/1.sst"):
        raise Deadly("native code died", expected="a table")
    assert (raised.value.path, raised.value.is_deadly) == ("state/0/0/SSTs/1.sst", True)


def test_what_is_no_damage_passes_as_it_is() -> None:
    with pytest.raises(Unavailable) as raised, told_of("offsets/3"):
        raise Unavailable("no answer", "ask later")
    assert (raised.value.message, raised.value.next_step) == ("no answer", "ask later")
