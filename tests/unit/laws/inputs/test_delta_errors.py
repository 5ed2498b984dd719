"""What the Delta source raises was worded anew with the releases of Spark that Delta 4.4 is built for."""

from __future__ import annotations

import pytest

from ckpttool.laws.inputs.delta_errors import data_gone, expired, has_delta_4_4, schema_mapped, snapshot_gone
from ckpttool.releases import Release


@pytest.mark.parametrize(
    ("release", "has"), [((4, 0, 0), False), ((4, 0, 1), None), ((4, 1, 3), None), ((4, 2, 0), True)]
)
def test_beside_older_ones_it_is_not_known_which_delta_runs(release: Release, has: bool | None) -> None:
    assert has_delta_4_4(release) is has


def test_words_change_with_the_release() -> None:
    old, new = (3, 5, 7), (4, 2, 0)
    assert [snapshot_gone(one)[1] for one in (old, new)] == ["DELTA_EMPTY_DIRECTORY", "DELTA_LOG_FILE_NOT_FOUND"]
    assert [data_gone(one)[1] for one in (old, new)] == ["_LEGACY_ERROR_TEMP_2055", "FAILED_READ_FILE.FILE_NOT_EXIST"]
    assert ["NonAdditive" in schema_mapped(one)[0] for one in (old, new)] == [False, True]
    assert expired(old)[:2] == expired(new)[:2]
    assert expired(old)[2] != expired(new)[2]
