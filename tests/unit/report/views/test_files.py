"""What is said of a file: read, and where that stands; not read; or why nobody knows."""

from __future__ import annotations

import json

import pytest

from ckpttool.reading.seen_files import SeenFile
from ckpttool.report.views.files import files_document
from tests.documents import shown


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            SeenFile("a.json", "0", "file", True, "s3://l/a.json", 7, 3),
            "read       a.json: source 0 (file), entry 7, batch 3",
        ),
        (
            SeenFile("a.json", "0", "file", True, "s3://l/a.json", 7),
            "read       a.json: source 0 (file), entry 7, a batch whose offsets are gone",
        ),
        (
            SeenFile("a.json", "1", "auto-loader", True, "a.json", record="k v"),
            "read       a.json: source 1 (auto-loader), its record: k v",
        ),
        (SeenFile("a.json", "0", "file", False), "not read   a.json: source 0 (file)"),
        (
            SeenFile("a.json", "0", "file", None, why="5 older entries of its log were not read"),
            "not known  a.json: source 0 (file): 5 older entries of its log were not read",
        ),
    ],
)
def test_a_file_has_a_line_and_an_object(seen: SeenFile, said: str) -> None:
    document = files_document("/ck", [seen])
    assert shown(document).splitlines() == [said]
    (told,) = json.loads(shown(document, "json"))["files"]
    assert (told["file"], told["source"], told["seen"], told["why"]) == (seen.file, seen.source, seen.seen, seen.why)
    assert (told["entry"], told["batch"], told["record"]) == (seen.entry, seen.batch, seen.record)


def test_a_query_whose_sources_keep_no_files_is_said_to_be_one() -> None:
    assert shown(files_document("/ck", [])) == "No source of this query keeps the files that it has read.\n"
