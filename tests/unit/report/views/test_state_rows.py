"""Rows of state as people and programs see them: how many, aligned how, and what is told of those not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.report.document import Aside, Document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.state_rows import rows_document
from tests.documents import shown
from tests.unit.state.made import Named, hdfs_file, placed, read


def rows(root: Path, named: Named, limit: int | None = None) -> Document:
    reader = read(placed(root, {"3.snapshot": hdfs_file(named)}))
    (table,) = reader.tables
    return rows_document(reader, table, reader.rows(table), limit)


def asides(document: Document, form: str = "text") -> list[str]:
    return [piece for piece in render(document, form, plain) if isinstance(piece, Aside)]


def test_columns_of_numbers_are_aligned_at_their_ends_and_others_at_their_beginnings(tmp_path: Path) -> None:
    lines = shown(rows(tmp_path, {"a": 1, "bb": -1200})).splitlines()
    assert [line.split() for line in lines] == [
        ["partition", "key.k", "value.n"],
        ["0", "a", "1"],
        ["0", "bb", "-1200"],
    ]
    assert len(set(map(len, lines))) == 1
    assert lines[1].index("a") == lines[2].index("bb") == lines[0].index("key.k")


def test_a_word_among_numbers_makes_them_words(tmp_path: Path) -> None:
    head, first, second = shown(rows(tmp_path, {"1": 1, "1.2.3": 2})).splitlines()
    assert first.index(" 1 ") == second.index(" 1.2.3") == head.index("key.k") - 1


@pytest.mark.parametrize(
    ("count", "limit", "lines", "said"),
    [
        (50, None, 50, []),
        (51, None, 50, ["… more than 50; see them with --limit or --format jsonl"]),
        (51, 51, 51, []),
        (3, 2, 2, ["… more than 2; see them with --limit or --format jsonl"]),
        (0, None, 0, []),
    ],
)
def test_only_so_many_rows_are_a_table(
    tmp_path: Path, count: int, limit: int | None, lines: int, said: list[str]
) -> None:
    document = rows(tmp_path, {f"k{number}": number for number in range(count)}, limit)
    found = list(render(document, "text", plain))
    assert sum(1 for piece in found if not isinstance(piece, Aside) for _ in piece.splitlines()) == lines + 1
    assert [piece for piece in found if isinstance(piece, Aside)] == said


def test_programs_get_all_rows_unless_they_ask_for_fewer(tmp_path: Path) -> None:
    named: Named = {f"k{number}": number for number in range(60)}
    assert shown(rows(tmp_path / "all", named), "jsonl").count("\n") == 60
    assert shown(rows(tmp_path / "few", named, 7), "csv").count("\n") == 7 + 1
    fields = json.loads(shown(rows(tmp_path / "one", named, 1), "json"))
    assert [column["type"] for column in fields["columns"]] == ["struct<k:string>", "struct<n:bigint>"]
    assert len(fields["rows"]) == 1


@pytest.mark.parametrize("form", ["text", "csv", "jsonl"])
def test_what_could_not_be_read_is_told_beside_the_rows(tmp_path: Path, form: str) -> None:
    reader = read(placed(tmp_path, {"1.delta": hdfs_file({"a": 1}), "3.delta": hdfs_file({"a": 2})}))
    (table,) = reader.tables
    document = rows_document(reader, table, reader.rows(table))
    assert asides(document, form) == ["ckpt: state/0/0: 2.delta is not there"]


def test_findings_of_rows_are_in_the_json_that_was_begun_before(tmp_path: Path) -> None:
    reader = read(placed(tmp_path, {"3.delta": hdfs_file({"a": 2})}))
    (table,) = reader.tables
    fields = json.loads(shown(rows_document(reader, table, reader.rows(table)), "json"))
    assert (fields["rows"], [one["id"] for one in fields["findings"]]) == ([], ["state-file-missing"])


def test_a_value_cannot_reach_the_terminal_raw(tmp_path: Path) -> None:
    document = rows(tmp_path, {"a\x1b[2Jb\u202e": 1})
    assert all(line.isprintable() for line in shown(document).splitlines())
