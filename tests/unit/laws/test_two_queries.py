"""Two queries that take turns on one checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings

T, U, BOTH = '{"t":{"0":10}}', '{"u":{"0":5}}', '{"t":{"0":10},"u":{"0":5}}'


def put(root: Path, *lines: str) -> Path:
    build(root, SOUND)
    for batch, line in enumerate(lines):
        path = root / "offsets" / f"{batch}"
        path.write_text(f"{path.read_text().rpartition(chr(10))[0]}\n{line}")
    return root


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((T, U, T, U), "batches 0 and 2 read t, batches 1 and 3 read u"),
        ((T, U, U, T), "batches 0 and 3 read t, batches 1 and 2 read u"),
        ((T, '{"logOffset":1}', T, T), "3 batches between 0 and 3 read t, batch 1 reads a file source"),
    ],
)
def test_what_is_read_changes_for_and_back(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    finding = findings(put(tmp_path, *lines))["foreign-query"]
    assert finding.message == f"two queries have used this checkpoint in turn: {told}"


@pytest.mark.parametrize("lines", [(T, T, U, U), (T, BOTH, U, U), (T, BOTH, T, BOTH), (T, "-", T, T), (T, "7", T, T)])
def test_a_subscription_may_change(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert "foreign-query" not in findings(put(tmp_path, *lines))
