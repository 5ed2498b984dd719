"""What is said of state files: the verdict in the first line, where one can go back to, and what takes up room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.model import Finding
from ckpttool.report.views.state_files import sizes_document, verification_document
from ckpttool.scene.scene import Failure
from ckpttool.scene.state_chain import Chain
from ckpttool.state.reader import StateReader
from ckpttool.state.sizes import StoreSize
from ckpttool.state.verify import StoreCheck, Verification
from tests.documents import shown
from tests.unit.state.made import hdfs_file, placed, read

CHECK = StoreCheck(0, 0, "default", Chain(2, "2.snapshot", ("3.delta",)), frozenset((1, 2, 3, 5, 6, 7)), 1_200)
LOADABLE = Verification(4, "loadable", ("all files were read",), (), (CHECK,), (), 4)
SIZE = StoreSize(0, "default", 0, 1_234_567, 1_000, 2, 1, 3, 200)


@pytest.fixture
def reader(tmp_path: Path) -> StateReader:
    return read(placed(tmp_path, {"3.snapshot": hdfs_file({"a": 1})}))


def failed(**changed: Any) -> Verification:
    at = "state/0/1/5.delta"
    failure = Failure(
        "batch", "java.io.EOFException", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", "", "it is cut", path=at
    )
    told = {
        "outcome": "failure",
        "why": (),
        "failures": (failure,),
        "stores": (CHECK, replace(CHECK, partition=1, keys=None)),
        "newest_restorable": 3,
    }
    return replace(LOADABLE, **told | changed)


@pytest.mark.parametrize(
    ("verification", "expected"),
    [
        (LOADABLE, "State after batch 4, version 3: can be loaded · 1 of 1 store"),
        (failed(), "State after batch 4, version 3: cannot be loaded · 1 of 2 stores"),
        (failed(outcome="unknown", failures=()), "State after batch 4, version 3: may be loadable · 2 of 2 stores"),
    ],
)
def test_the_first_line_is_the_verdict(reader: StateReader, verification: Verification, expected: str) -> None:
    assert shown(verification_document(reader, verification)).splitlines()[0] == expected


def test_two_bad_files_of_a_store_are_one_bad_store(reader: StateReader) -> None:
    (one,) = failed().failures
    twice = failed(failures=(one, replace(one, path="state/0/1/6.delta")))
    assert "cannot be loaded · 1 of 2 stores" in shown(verification_document(reader, twice))


@pytest.mark.parametrize(
    ("newest", "said"),
    [
        (3, "  The newest batch that every store can be restored to: 3\n"),
        (0, "  The newest batch that every store can be restored to: 0\n"),
        (None, "  No earlier batch whose logs are there can be restored.\n"),
    ],
)
def test_where_one_can_go_back_to(reader: StateReader, newest: int | None, said: str) -> None:
    assert said in shown(verification_document(reader, failed(newest_restorable=newest)))
    assert "restored" not in shown(verification_document(reader, replace(LOADABLE, newest_restorable=newest)))


def test_a_store_has_its_chain_its_keys_and_runs_of_versions(reader: StateReader) -> None:
    chain = Chain(0, None, ("1.delta",), missing="2.delta")
    short = replace(CHECK, chain=chain, versions=None, keys=None)
    _, (head, whole, cut) = tables(verification_document(reader, replace(LOADABLE, stores=(CHECK, short))))
    assert whole.split() == ["0", "0", "default", "2.snapshot", "1", "1,200", "1–3,", "5–7"]
    assert cut.split() == ["0", "0", "default", "empty", "1,", "then", "2.delta", "is", "missing", "?", "?"]
    end = head.index("Keys") + len("Keys")
    assert (whole[:end].split()[-1], cut[:end].split()[-1]) == ("1,200", "?")


def tables(document: Any) -> list[list[str]]:
    return [section.splitlines() for section in shown(document).split("\n\n")]


@pytest.mark.parametrize(
    ("count", "rows", "more"), [(20, 20, None), (21, 20, "1 more store"), (50, 20, "30 more stores")]
)
def test_of_many_stores_some_are_shown(reader: StateReader, count: int, rows: int, more: str | None) -> None:
    document = verification_document(reader, replace(LOADABLE, stores=(CHECK,) * count))
    lines = tables(document)[1]
    assert sum(line.startswith("0 ") for line in lines) == rows
    assert lines[rows + 1 :] == ([f"  … {more}; all with --format json"] if more else [])
    assert len(json.loads(shown(document, "json"))["stores"]) == count


def test_a_sample_is_said_to_be_one(reader: StateReader) -> None:
    sampled = verification_document(reader, replace(LOADABLE, sample=(1, 10)))
    assert "\n  A sample: 1 of every 10 partitions was looked at.\n" in shown(sampled)
    assert "A sample" not in shown(verification_document(reader, LOADABLE))
    assert json.loads(shown(sampled, "json"))["sample"] == [1, 10]


def test_programs_are_told_what_spark_raises_and_null_where_names_have_ids(reader: StateReader) -> None:
    told = failed(stores=(replace(CHECK, versions=None),), findings=(Finding("state-file-corrupt", "error", "x", "y"),))
    fields = json.loads(shown(verification_document(reader, told), "json"))
    assert fields["failures"] == [
        {
            "path": "state/0/1/5.delta",
            "why": "it is cut",
            "class": "java.io.EOFException",
            "condition": "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
        }
    ]
    assert fields["stores"][0]["versions"] is None
    assert [one["id"] for one in fields["findings"]] == ["state-file-corrupt"]


def test_the_sizes_of_a_store_are_put_together_over_its_partitions(reader: StateReader) -> None:
    sizes = [SIZE, replace(SIZE, partition=1, size_bytes=33, changes=9), replace(SIZE, store="other", size_bytes=5)]
    document = sizes_document(reader, sizes)
    _, (head, one, other), *_ = tables(document)
    assert one.split() == ["0", "default", "2", "1,234,600", "2,000", "1,234,567", "9", "400"]
    assert other.split()[1:4] == ["other", "1", "5"]
    assert len(head) == len(one) == len(other), "numbers end below each other"
    fields = json.loads(shown(document, "json"))
    assert (fields["bytes"], fields["garbage_bytes"], len(fields["stores"])) == (1_234_605, 600, 3)


def test_a_partition_that_cannot_be_loaded_says_why_and_has_no_needed_bytes(reader: StateReader) -> None:
    lost = replace(SIZE, partition=7, needed_bytes=None, base_version=None, changes=None, why="2.delta is not there")
    document = sizes_document(reader, [SIZE, lost])
    assert shown(document).endswith("\n  Partition 7 of default: 2.delta is not there\n")
    assert tables(document)[1][1].split()[4:7] == ["?", "1,234,567", "?"], "nor have they together"
    told = json.loads(shown(document, "json"))["stores"][1]
    assert (told["needed_bytes"], told["changes_since_base"]) == (None, None)
    assert told["unknown_why"] == "2.delta is not there"


def test_reasons_beyond_twenty_are_left_to_the_json(reader: StateReader) -> None:
    lost = [replace(SIZE, partition=number, why="gone") for number in range(25)]
    assert shown(sizes_document(reader, lost)).count("gone") == 20
