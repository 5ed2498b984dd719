"""What happened to rows between two batches, and what an export has written."""

from __future__ import annotations

import json
from pathlib import Path

from ckpttool.report.document import Document
from ckpttool.report.views.state_changes import changes_document, export_document
from ckpttool.state.difference import compare_rows
from ckpttool.state.export import Exported
from tests.documents import shown
from tests.unit.state.made import Named, hdfs_file, placed, read


def changes(root: Path, *versions: Named) -> Document:
    """Of the rows that each version has written, from the first to the last."""
    files = {f"{number}.delta": hdfs_file(rows) for number, rows in enumerate(versions, 1)}
    placed(root, files, batch=len(versions) - 1)
    earlier, later = read(root, 0), read(root, len(versions) - 1)
    sides = (earlier, earlier.tables[0]), (later, later.tables[0])
    return changes_document(*sides, compare_rows(earlier, later, earlier.tables[0], later.tables[0]))


def test_the_first_line_counts_and_a_row_says_from_what_to_what(tmp_path: Path) -> None:
    document = changes(tmp_path, {"a": 1, "b": 5}, {"a": 2, "b": None, "ü": 3})
    first, _, head, *rows = shown(document).splitlines()
    assert first == "default from batch 0 to 1: 1 added, 1 changed, 1 removed"
    before, after = head.index("Before"), head.index("After")
    assert {(row[:before].split()[0], row[before:after].strip(), row[after:].strip()) for row in rows} == {
        ("changed", '{"n": 1}', '{"n": 2}'),
        ("added", "", '{"n": 3}'),
        ("removed", "", ""),
    }
    assert '{"k": "ü"}' in "".join(rows), "as it is written, not escaped"


def test_no_changes_are_a_line_and_no_table(tmp_path: Path) -> None:
    assert shown(changes(tmp_path, {"a": 1}, {"a": 1})) == "default from batch 0 to 1: 0 added, 0 changed, 0 removed\n"


def test_changes_beyond_those_shown_are_counted(tmp_path: Path) -> None:
    many: Named = {f"k{number}": number for number in range(1060)}
    text = shown(changes(tmp_path / "many", {}, many))
    assert text.startswith("default from batch 0 to 1: 1,060 added, ")
    assert text.count("\nadded ") == 50
    assert text.endswith("\n  … 1,010 more; all with --format jsonl\n")
    assert "more;" not in shown(changes(tmp_path / "few", {}, {f"k{number}": 1 for number in range(50)}))


def test_programs_get_every_change_and_the_counts_behind_them(tmp_path: Path) -> None:
    fields = json.loads(shown(changes(tmp_path, {"a": 1, "b": 5}, {}, {"a": 2, "b": None}), "json"))
    assert fields["batches"] == [0, 2]
    assert fields["summary"] == {"added": 0, "changed": 1, "removed": 1}
    told = {one["change"]: one for one in fields["changes"]}
    assert (told["changed"]["before"]["value"], told["changed"]["after"]["value"]) == ({"n": 1}, {"n": 2})
    assert told["removed"]["after"] is None


def test_a_partition_that_could_not_be_compared_is_told(tmp_path: Path) -> None:
    root = placed(tmp_path, {"1.delta": hdfs_file({"a": 1}), "3.delta": hdfs_file({"a": 2})})
    earlier, later = read(root, 0), read(root, 2)
    (before,), (after,) = earlier.tables, later.tables
    text = shown(changes_document((earlier, before), (later, after), compare_rows(earlier, later, before, after)))
    assert "error    state-file-missing  state/0/0\n         2.delta is not there\n" in text


def test_an_export_says_how_many_rows_and_partitions_and_where(tmp_path: Path) -> None:
    root = placed(tmp_path, {"3.snapshot": hdfs_file({"a": 1})}, partitions=3)
    for partition in ("1", "2"):
        (root / "state" / "0" / partition).mkdir()
    reader = read(root)
    (table,) = reader.tables
    written = [Exported(0, "/out/part-00000.csv", 1_000), Exported(2, "/out/part-00002.csv", 234)]
    document = export_document(reader, table, "/out", written)
    assert shown(document) == "1,234 rows of default in 2 of 3 partitions: /out\n"
    fields = json.loads(shown(document, "json"))
    assert (fields["rows"], [one["partition"] for one in fields["files"]]) == (1234, [0, 2])


def test_what_spark_has_written_is_not_counted(tmp_path: Path) -> None:
    reader = read(placed(tmp_path, {"3.snapshot": hdfs_file({"a": 1})}))
    document = export_document(reader, reader.tables[0], "/out", None)
    assert shown(document) == "default at batch 2, written by Spark: /out\n"
    fields = json.loads(shown(document, "json"))
    assert (fields["rows"], fields["files"]) == (None, None)
