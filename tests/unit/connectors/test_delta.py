"""Delta: files within a version, versions between, and what Delta itself refuses."""

import json
from typing import Any

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.delta import DeltaOffset, deserialize
from ckpttool.errors import MalformedFile


def delta(
    version: int, index: int, *, snapshot: bool = False, source_version: int = 1, table: str = "t"
) -> DeltaOffset:
    fields = {
        "sourceVersion": source_version,
        "reservoirId": table,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": snapshot,
    }
    offset = recognise_offset(json.dumps(fields, separators=(",", ":")))
    assert isinstance(offset, DeltaOffset)
    return offset


def test_the_line_delta_writes() -> None:
    offset = recognise_offset(
        '{"sourceVersion":1,"reservoirId":"r","reservoirVersion":3,"index":-1,"isStartingVersion":false}'
    )
    assert offset == DeltaOffset("certain", 1, "r", 3, -1, False)
    assert offset.summary() == "version 3 is next"
    assert offset.problems() == []


def test_summaries() -> None:
    assert delta(3, 4).summary() == "version 3, through file 4"
    assert delta(3, 0, snapshot=True).summary() == "initial snapshot of version 3, through file 0"
    assert "change" in delta(3, -20, source_version=3).summary()


@pytest.mark.parametrize(("start", "end", "files"), [(-1, 0, 1), (-1, 4, 5), (0, 4, 4), (2, 2, 0), (-1, -1, 0)])
def test_files_within_one_version(start: int, end: int, files: int) -> None:
    step = delta(3, end).step_from(delta(3, start))
    assert (step.amount, step.unit, step.exact) == (files, "files", True)


@pytest.mark.parametrize(("mark", "files"), [(-20, 3), (-19, 3)])
def test_the_marks_of_a_schema_change_are_before_the_first_file(mark: int, files: int) -> None:
    assert delta(3, 2).step_from(delta(3, mark, source_version=3)).amount == files


@pytest.mark.parametrize(
    ("start", "end", "versions", "exact"),
    [
        ((3, -1), (5, -1), 2, True),  # 3 and 4: 5 is the next one to read
        ((3, -1), (4, -1), 1, True),
        ((3, -1), (5, 0), 3, False),  # 3, 4 and the first file of 5
        ((3, 2), (4, -1), 1, False),  # the rest of 3
    ],
)
def test_versions_between(start: tuple[int, int], end: tuple[int, int], versions: int, exact: bool) -> None:
    step = delta(*end).step_from(delta(*start))
    assert (step.amount, step.unit, step.exact) == (versions, "table versions", exact)
    assert step.note


def test_the_initial_snapshot_is_counted_in_files_and_left_for_the_next_version() -> None:
    assert delta(7, 1, snapshot=True).step_from(None).amount == 2
    assert delta(7, 5, snapshot=True).step_from(delta(7, 1, snapshot=True)).amount == 4
    leaving = delta(8, -1).step_from(delta(7, 5, snapshot=True))
    assert (leaving.amount, leaving.unit, leaving.exact) == (1, "table versions", False)
    assert not delta(8, -1).step_from(delta(7, -1, snapshot=True)).exact
    assert delta(8, -1).step_from(None).amount is None


@pytest.mark.parametrize(
    ("one", "two", "order"),
    [
        (delta(3, 5), delta(4, -1), Order.BEFORE),
        (delta(3, -1), delta(3, -20, source_version=3), Order.BEFORE),
        (delta(3, -20, source_version=3), delta(3, -19, source_version=3), Order.BEFORE),
        (delta(3, -19, source_version=3), delta(3, 0), Order.BEFORE),
        (delta(3, 2), delta(3, 1), Order.AFTER),
        (delta(3, 2), delta(3, 2), Order.EQUAL),
        (delta(3, 9, snapshot=True), delta(4, -1), Order.BEFORE),
        (delta(3, -1), delta(4, 0, snapshot=True), Order.MIXED),  # the flag may not come back
        (delta(3, 2), delta(3, 2, table="other"), Order.UNKNOWN),
    ],
)
def test_order(one: DeltaOffset, two: DeltaOffset, order: Order) -> None:
    assert one.order(two) is order


def test_moving_back_is_told() -> None:
    assert delta(3, 1).step_from(delta(3, 4)).backwards
    assert delta(3, 1).step_from(delta(3, 4)).amount == 0
    assert delta(2, 9).step_from(delta(3, 0)).backwards
    assert delta(4, 0, snapshot=True).step_from(delta(3, -1)).backwards == ("initial snapshot",)


def test_another_table() -> None:
    step = delta(3, 1).step_from(delta(3, 0, table="other"))
    assert step.amount is None
    assert "table" in (step.note or "")


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (delta(3, 0, source_version=2), "DELTA_INVALID_SOURCE_VERSION"),
        (delta(3, 0, source_version=0), "DELTA_INVALID_SOURCE_VERSION"),
        (delta(3, 0, source_version=4), "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"),
        (delta(3, -20), "sourceVersion 3"),
        (delta(3, -1, source_version=3), "sourceVersion 1"),
        (delta(3, -7), "-7"),
        (delta(-1, 0), "reservoirVersion"),
        (delta(3, 2**63 - 1 - 100), "end of a version"),
    ],
)
def test_problems(offset: DeltaOffset, words: str) -> None:
    (problem,) = offset.problems()
    assert words in problem


@pytest.mark.parametrize("source_version", [1, 3])
def test_known_versions_are_no_problem(source_version: int) -> None:
    assert delta(3, -20 if source_version == 3 else 0, source_version=source_version).problems() == []


@pytest.mark.parametrize(
    "change",
    [
        {"index": 1.0},
        {"index": True},
        {"index": None},
        {"reservoirVersion": 2**63},
        {"reservoirId": 7},
        {"isStartingVersion": "false"},
        {"sourceVersion": "1"},
    ],
)
def test_wrong_types_are_not_delta(change: dict[str, Any]) -> None:
    fields = {"sourceVersion": 1, "reservoirId": "r", "reservoirVersion": 3, "index": 0, "isStartingVersion": False}
    assert recognise_offset(json.dumps(fields)).kind == "delta"
    assert recognise_offset(json.dumps(fields | change)).kind != "delta"


# -- as Delta's own parser has it --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"sourceVersion":1}', (1, "null", 0, 0, False)),
        ('{"sourceVersion":1,"reservoirId":null,"index":-1,"isStartingVersion":null}', (1, "null", 0, -1, False)),
        ('{"sourceVersion":1,"reservoirId":"t","reservoirVersion":5,"index":-100}', (1, "t", 5, -1, False)),
        ('{"sourceVersion":3,"reservoirId":7,"reservoirVersion":1.9,"index":-20}', (3, "7", 1, -20, False)),
        (
            '{"sourceVersion":"1","reservoirVersion":"","index":" 4 ","isStartingVersion":"true"}',
            (1, "null", 0, 4, True),
        ),
        ('{"sourceVersion":1,"another":"field","isStartingVersion":1,"index":0} rest', (1, "null", 0, 0, True)),
    ],
)
def test_a_line_that_delta_takes(text: str, offset: tuple[object, ...]) -> None:
    told = deserialize(text)
    assert (told.source_version, told.table_id, told.version, told.index, told.is_initial_snapshot) == offset


FORMAT, VERSION = "DELTA_INVALID_SOURCE_OFFSET_FORMAT", "DELTA_INVALID_SOURCE_VERSION"


@pytest.mark.parametrize(
    ("text", "class_name", "condition"),
    [
        ("", "MismatchedInputException", None),
        ("null", "NullPointerException", None),
        ("7", "MismatchedInputException", None),
        ("[]", "MismatchedInputException", None),
        ("x", "JsonParseException", None),
        ("{", "DeltaIllegalStateException", FORMAT),
        ('{"sourceVersion":"one"}', "DeltaIllegalStateException", FORMAT),
        ('{"sourceVersion":1,"isStartingVersion":"yes"}', "DeltaIllegalStateException", FORMAT),
        ('{"sourceVersion":1,"index":true}', "MismatchedInputException", None),
        ('{"sourceVersion":1,"index":[]}', "MismatchedInputException", None),
        ('{"sourceVersion":1,"reservoirId":{}}', "MismatchedInputException", None),
        ('{"sourceVersion":1,"isStartingVersion":[]}', "MismatchedInputException", None),
        ('{"sourceVersion":1,"index":9223372036854775808}', "InputCoercionException", None),
        ("{}", "DeltaIllegalStateException", VERSION),
        ('{"sourceVersion":2}', "DeltaIllegalStateException", VERSION),
        ('{"sourceVersion":4}', "DeltaIllegalStateException", "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"),
        ('{"sourceVersion":3,"index":-1}', "AssertionError", None),
        ('{"sourceVersion":1,"index":9223372036854775707}', "AssertionError", None),
    ],
)
def test_a_line_that_delta_refuses(text: str, class_name: str, condition: str | None) -> None:
    with pytest.raises(MalformedFile) as refused:
        deserialize(text)
    assert refused.value.spark
    assert refused.value.spark.class_name.rpartition(".")[2] == class_name
    assert refused.value.spark.condition == condition
