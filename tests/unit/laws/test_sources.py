"""The sources' lines, and where they began."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import SOUND, diagnosed, findings, next_batch

Sample = Callable[[str], Path]


def test_a_sentinel_of_kafka_is_no_position(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    newest = tmp_path / "offsets" / "3"
    newest.write_text(newest.read_text().replace('{"0":40}', '{"0":-1}'))
    assert findings(tmp_path)["sentinels-in-checkpoint"].severity == "error"


def test_a_partition_that_is_no_longer_read(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    before = tmp_path / "offsets" / "2"
    before.write_text(before.read_text().replace('{"0":30}', '{"0":30,"1":5}'))
    assert "t-1" in findings(tmp_path)["partitions-gone"].message


def test_where_kafka_began_matters_until_the_first_commit(tmp_path: Path) -> None:
    (build(tmp_path / "a", "k0-5 c | k5-9 c") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    assert next_batch(tmp_path / "a").outcome == "new_batch"
    (build(tmp_path / "b", "k0-5") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    refused = next_batch(tmp_path / "b")
    assert (refused.outcome, refused.law and refused.law.id) == ("error", "kafka-beginning-refused")


@pytest.mark.parametrize("text", ["{}", '{"t":{}}', '{"t":null}', "null"])
def test_committed_offsets_without_a_partition_have_everything_read_once_more(tmp_path: Path, text: str) -> None:
    build(tmp_path, SOUND)
    newest = tmp_path / "offsets" / "3"
    newest.write_text(newest.read_text().replace('{"t":{"0":40}}', text))
    told = findings(tmp_path)["offset-regression"]
    assert (told.severity, told.path) == ("error", "offsets/3")
    assert "a second time" in told.message
    assert "source-kind-changed" not in findings(tmp_path)


def test_a_committed_line_without_an_offset_has_its_batch_read_again(tmp_path: Path) -> None:
    told = findings(build(tmp_path, "k0-10 c | k10-20 c | - c"))["offset-regression"]
    assert "reads the rows of batch 2 again" in told.message


def test_a_partition_that_is_not_named_any_more_begins_with_its_earliest_row(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    before = tmp_path / "offsets" / "2"
    before.write_text(before.read_text().replace('{"0":30}', '{"0":30,"1":5}'))
    assert "comes a second time" in findings(tmp_path)["partitions-gone"].message


def with_lines(root: Path, *lines: str, story: str = "k0-10 c | k10-20 c") -> Path:
    """The source's line of each batch."""
    build(root, story)
    for batch, line in enumerate(lines):
        offsets = root / "offsets" / str(batch)
        offsets.write_text("\n".join([*offsets.read_text().split("\n")[:2], line]))
    shutil.rmtree(root / "sources")
    return root


@pytest.mark.parametrize(
    ("line", "class_name"),
    [("null", "java.lang.IllegalStateException"), ('{"a":1}', "org.json4s.MappingException")],
)
def test_what_the_counting_source_does_not_take_for_its_own(tmp_path: Path, line: str, class_name: str) -> None:
    error = next_batch(with_lines(tmp_path, '{"offset":3,"timestamp":1000}', line)).error
    assert error is not None
    assert (error.phase, error.class_name) == ("batch", class_name)


def test_nobody_asks_a_python_source_for_a_range_that_is_committed(tmp_path: Path) -> None:
    lines = ("{}", '{"number": 8}')
    assert next_batch(with_lines(tmp_path / "new", *lines)).outcome == "new_batch"
    assert next_batch(with_lines(tmp_path / "again", *lines, story="k0-10 c | k10-20")).outcome == "unknown"


@pytest.mark.parametrize(
    ("line", "class_name"),
    [
        ("{", "com.fasterxml.jackson.core.io.JsonEOFException"),
        ("7", "org.json4s.MappingException"),
        ("{}", "java.lang.IllegalArgumentException"),
    ],
)
def test_continuous_processing_needs_a_value_of_each_partition(
    tmp_path: Path, sample: Sample, line: str, class_name: str
) -> None:
    root = Path(shutil.copytree(sample("3.5.7-continuous-to-noop-sound") / "checkpoint", tmp_path / "checkpoint"))
    newest = root / "offsets" / str(max(int(one.name) for one in (root / "commits").glob("[0-9]*")))
    newest.write_text("\n".join([*newest.read_text().split("\n")[:2], line]))
    error = next_batch(root).error
    assert error is not None
    assert (error.phase, error.class_name, error.path) == ("init", class_name, f"offsets/{newest.name}")


def under_version_2(root: Path, recipe: str, batch: int) -> Path:
    """A file of version 1 whose first line says 2: each of its lines is cut at the first colon."""
    build(root, recipe)
    path = root / "offsets" / str(batch)
    path.write_text(path.read_text().replace("v1", "v2", 1))
    path.with_name(f".{batch}.crc").unlink(missing_ok=True)
    return root


@pytest.mark.parametrize(
    ("recipe", "batch", "start", "where"),
    [("k0-10 c | k10-20 c", 1, {"t": {"0": 10}}, "where offsets/0 ends"), ("k0-10 c", 0, None, "anew")],
)
def test_lines_of_version_1_under_2_are_passed_over_and_the_source_goes_back(
    tmp_path: Path, recipe: str, batch: int, start: object, where: str
) -> None:
    root = under_version_2(tmp_path, recipe, batch)
    goes_on = diagnosed(root, (4, 2, 0)).prediction
    assert (goes_on.outcome, goes_on.batch_id) == ("new_batch", batch + 1)
    assert [source.start for source in goes_on.sources] == [start]
    assert findings(root)["source-name-impossible"].message.endswith(f"a source begins {where}")


def test_a_batch_that_runs_again_under_such_a_header_is_not_known(tmp_path: Path) -> None:
    said = diagnosed(under_version_2(tmp_path, "k0-10 c | k10-20", 1), (4, 2, 0)).prediction
    assert (said.outcome, "offsets/1" in said.why[0]) == ("unknown", True)


def test_a_line_of_version_1_without_a_colon_is_refused_under_2(tmp_path: Path) -> None:
    root = build(tmp_path, "r5 c | r9 c")
    path = root / "offsets" / "1"
    path.write_text(path.read_text().replace("v1", "v2", 1))
    said = diagnosed(root, (4, 2, 0)).prediction
    assert said.error
    assert (said.error.class_name, said.error.phase) == ("java.lang.IllegalStateException", "init")
