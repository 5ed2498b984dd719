"""Each file that could not be read or understood is told, and how bad that is goes by what Spark opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import SOUND, diagnosed, findings


@pytest.mark.parametrize(
    ("path", "told", "severity"),
    [
        ("offsets/3", "offset-file-torn", "error"),
        ("offsets/0", "offset-file-torn", "warning"),
        ("commits/3", "commit-file-torn", "error"),
        ("commits/0", "commit-file-torn", "warning"),
    ],
)
def test_a_torn_file_is_told_where_it_lies(tmp_path: Path, path: str, told: str, severity: str) -> None:
    (build(tmp_path, SOUND) / path).write_bytes(b"v1\n{")
    found = findings(tmp_path)[told]
    assert (found.path, found.severity) == (path, severity)
    assert diagnosed(tmp_path, (4, 2, 0)).prediction.outcome == ("error" if severity == "error" else "new_batch")


def test_a_torn_log_of_a_file_source(tmp_path: Path) -> None:
    (build(tmp_path, "f0 c | f1 c") / "sources" / "0" / "1").write_bytes(b"v1\n{")
    assert findings(tmp_path)["source-log-torn"].path == "sources/0/1"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("state/0/_metadata/metadata", "operator-metadata-corrupt"),
        ("state/0/0/_metadata/schema", "state-schema-corrupt"),
    ],
)
def test_a_corrupt_description_of_state(tmp_path: Path, path: str, told: str) -> None:
    file = build(tmp_path, SOUND) / path
    file.parent.mkdir(parents=True)
    (tmp_path / "state" / "0" / "0").mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"v1\n{")
    assert findings(tmp_path)[told].path == path


def test_a_version_that_nobody_knows_and_a_file_for_a_directory(tmp_path: Path) -> None:
    (build(tmp_path / "a", SOUND) / "offsets" / "3").write_bytes(b"v9\n{}")
    assert findings(tmp_path / "a")["log-version-too-new"].path == "offsets/3"
    (build(tmp_path / "b", SOUND) / "state").write_text("x")
    assert findings(tmp_path / "b")["not-a-directory"].path == "state"


def test_a_sound_checkpoint_has_no_files_to_tell_of(tmp_path: Path) -> None:
    assert findings(build(tmp_path, SOUND)) == {}
