"""Where a job leaves what: nothing that lies in another part is copied twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.place import JobPlace


@pytest.mark.parametrize(
    ("checkpoint", "sink", "parts"),
    [
        ("checkpoint", "out", ("checkpoint", "out")),
        ("out/_checkpoint", "out", ("out",)),
        ("state", "state/out", ("state",)),
        ("a/checkpoint", "a/out", ("a/checkpoint", "a/out")),
    ],
)
def test_what_a_crash_leaves_is_copied_once(tmp_path: Path, checkpoint: str, sink: str, parts: tuple[str, ...]) -> None:
    assert JobPlace(tmp_path, (checkpoint, sink)).parts == parts
