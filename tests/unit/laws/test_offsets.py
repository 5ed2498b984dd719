"""The two newest files of the offset log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import next_batch


@pytest.mark.parametrize("file", ["offsets/2", "offsets/1", "commits/2"])
@pytest.mark.parametrize("content", [b"", b"v9\n{}", b'\xef\xbb\xbfv1\n{}\n{"t":{"0":1}}', b"v1\n{"])
def test_spark_never_falls_back_to_an_older_file(tmp_path: Path, file: str, content: bytes) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(content)
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize("file", ["offsets/0", "commits/1", "commits/0"])
def test_files_that_spark_does_not_open_change_nothing(tmp_path: Path, file: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(b"")
    assert next_batch(tmp_path) == next_batch(build(tmp_path / "sound", "k0-10 c | k10-20 c | k20-30 c"))
