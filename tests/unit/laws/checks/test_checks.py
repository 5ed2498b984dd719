"""Each check finds its damage, and is silent on a sound checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint
from ckpttool.model import Finding
from tests.builders import EPOCH_MS, MINUTE_MS, build

SOUND = "k0-10 c | k10-20 c | k20-30 c | k30-40 c"


def findings(root: Path, now_ms: int | None = None) -> dict[str, Finding]:
    return {finding.id: finding for finding in inspect_checkpoint(open_checkpoint(str(root)), now_ms).findings}


def test_a_sound_checkpoint_has_no_findings(tmp_path: Path) -> None:
    assert findings(build(tmp_path, SOUND)) == {}


def test_a_crash_is_not_a_finding(tmp_path: Path) -> None:
    assert findings(build(tmp_path, "k0-10 c | k10-20")) == {}


@pytest.mark.parametrize(
    ("story", "expected", "severity", "path"),
    [
        ("k0-10 c | k10-20 c | lost c", "commit-ahead-of-offset", "error", "commits/2"),
        ("lost c | lost c", "offset-log-lost", "error", "offsets"),
        ("k0-10 c | k10-20 | k20-30 | k30-40", "offset-ahead-by-two-or-more", "error", "offsets/3"),
        ("k0-10 c | lost c | k20-30 c", "previous-offset-missing", "error", "offsets/1"),
        ("k0-10 c | lost c | k20-30 c | k30-40 c", "offset-log-hole", "warning", "offsets"),
        ("k0-10 c | k10-20 | k20-30 c | k30-40 c", "commit-log-hole", "warning", "commits"),
        ("k0-10 c | b50 k10-20", "stray-batch-file", "error", "offsets/50"),
        ("k0-10 c | k10-20 - c", "source-count-changed", "error", "offsets/1"),
        ("k0-10 c | k20-30 c | k30-25 c", "offset-regression", "warning", "offsets/2"),
        ("k0-10 c | r5 c", "source-kind-changed", "warning", "offsets/1"),
        ("k0-10 w9000 c | k10-20 w5000 c", "watermark-regression", "warning", "offsets/1"),
        ("b0 k0-10 c | b5 k10-60 c | b9 k60-90 c", "mode-async", "info", "offsets"),
    ],
)
def test_what_the_logs_show(tmp_path: Path, story: str, expected: str, severity: str, path: str) -> None:
    found = findings(build(tmp_path, story))
    assert expected in found
    assert (found[expected].severity, found[expected].path) == (severity, path)


def test_a_hole_in_the_offsets_names_the_missing_batches(tmp_path: Path) -> None:
    story = "k0-1 c | lost c | lost c | k3-4 c | lost c | k5-6 c | k6-7 c"
    assert "1 to 2, 4 are missing" in findings(build(tmp_path, story))["offset-log-hole"].message


def test_lost_metadata(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "metadata").unlink()
    found = findings(tmp_path)["metadata-missing"]
    assert found.spark is not None
    assert found.spark.condition == "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"


@pytest.mark.parametrize(
    ("name", "expected", "severity"),
    [
        ("offsets/009", "non-canonical-batch-name", "error"),
        ("offsets/002", "non-canonical-batch-name", "warning"),
        ("commits/+9", "non-canonical-batch-name", "error"),
        ("offsets/notes.txt", "foreign-file", "info"),
        ("offsets/.4.1b2c.tmp", "leftover-temporary-file", "info"),
        ("offsets/.4.crc", "orphan-crc", "error"),
        ("offsets/.0.bak.crc", "orphan-crc", "info"),
    ],
)
def test_what_stray_names_mean(tmp_path: Path, name: str, expected: str, severity: str) -> None:
    build(tmp_path, SOUND)
    (tmp_path / name).write_text("x")
    found = findings(tmp_path)[expected]
    assert (found.severity, found.path) == (severity, name)


def test_a_directory_among_the_batches(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "offsets" / "9").mkdir()
    assert findings(tmp_path)["directory-in-log"].path == "offsets/9"


def test_mixed_versions_of_commits(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "commits" / "3").write_text('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')
    assert "v1, v2" in findings(tmp_path)["mixed-commit-versions"].message


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


def test_an_offset_beyond_the_log_of_its_source(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c")
    (tmp_path / "sources" / "0" / "1").unlink()
    assert findings(tmp_path)["source-log-missing"].expected == "sources/0/1"


@pytest.mark.parametrize(("story", "severity"), [("f0 c | f1 c", "error"), ("f0 c | f1", "warning")])
def test_an_entry_of_a_file_sources_log_that_forgot_its_files(tmp_path: Path, story: str, severity: str) -> None:
    """They are read again; that harms where the batch which read them is done."""
    build(tmp_path, story)
    (tmp_path / "sources" / "0" / "1").write_text("v1")
    found = findings(tmp_path)["source-log-entry-empty"]
    assert (found.severity, found.path) == (severity, "sources/0/1")


def test_commits_that_name_state_which_is_not_there(tmp_path: Path) -> None:
    build(tmp_path, SOUND, commits_version=2)
    assert findings(tmp_path)["state-directory-missing"].severity == "error"


def test_state_without_any_batch(tmp_path: Path) -> None:
    build(tmp_path, "")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "state-without-batches" in findings(tmp_path)


def test_a_missing_operator(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "state" / "1" / "0").mkdir(parents=True)
    assert findings(tmp_path)["operator-directory-missing"].path == "state/0"


def test_more_partitions_than_the_offsets_pin(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    for partition in range(201):
        (tmp_path / "state" / "0" / str(partition)).mkdir(parents=True)
    assert findings(tmp_path)["partition-count-mismatch"].severity == "error"


def test_a_watermark_from_the_future(tmp_path: Path) -> None:
    build(tmp_path, f"k0-1 c | k1-2 w{EPOCH_MS + 10 * 86_400_000} c")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "watermark-in-the-future" in findings(tmp_path)


def test_a_path_that_was_escaped_more_than_once(tmp_path: Path) -> None:
    assert "legacy-escaped-checkpoint-path" in findings(build(tmp_path / "chk%252520x", SOUND))


@pytest.mark.parametrize(("later_ms", "alive"), [(MINUTE_MS, True), (20 * MINUTE_MS, False), (-5 * MINUTE_MS, False)])
def test_a_young_batch_looks_alive(tmp_path: Path, later_ms: int, alive: bool) -> None:
    """Batches a minute apart: alive while the newest is younger than three of them."""
    build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    assert ("looks-alive" in findings(tmp_path, EPOCH_MS + 2 * MINUTE_MS + later_ms)) is alive


def test_the_worst_comes_first(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | lost c | k20-30 c | k30-40 c | lost c")
    (tmp_path / "offsets" / "notes").write_text("x")
    ranks = [finding.severity for finding in inspect_checkpoint(open_checkpoint(str(tmp_path))).findings]
    assert ranks == sorted(ranks, key=["error", "warning", "info"].index)
    assert ranks[0] == "error"


def test_what_is_left_of_the_first_offsets(tmp_path: Path) -> None:
    build(tmp_path, "")
    for name in (".0.b6e1.tmp", "..0.b6e1.tmp.crc"):
        (tmp_path / "offsets" / name).touch()
    assert findings(tmp_path)["location-not-empty"].path == "offsets/.0.b6e1.tmp"


def test_only_a_checksum_that_hadoop_hides_is_left_of_the_first_offsets(tmp_path: Path) -> None:
    build(tmp_path, "")
    (tmp_path / "offsets" / ".0.crc").touch()
    assert "location-not-empty" not in findings(tmp_path)


def test_after_the_first_batch_temporary_files_are_in_nobodys_way(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "offsets" / ".3.b6e1.tmp").touch()
    assert "location-not-empty" not in findings(tmp_path)
