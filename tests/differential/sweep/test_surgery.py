"""The sweep's own machinery, without Spark."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from tests.differential.sweep.load import (
    checkpoint_of,
    damage,
    lay_again,
    load_cases,
    materialise,
    put_back,
    recorded_versions,
    unpacked,
)
from tests.differential.sweep.surgery import choose, single_surgeries

BASES = ("file-json", "window-hdfs-each", "window-rocksdb-json")


def contents(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


@pytest.mark.parametrize("version", recorded_versions())
def test_recorded_cases_can_be_laid_out_again(version: str, tmp_path: Path) -> None:
    cases = list(load_cases(version))
    assert len({case["id"] for case, _ in cases}) == len(cases)
    for number, (case, lay_out) in enumerate(random.Random(1).sample(cases, 25)):
        lay_out(tmp_path / str(number))
        assert case["truth"]["outcome"] in ("replay", "new_batch", "fresh_start", "error")


@pytest.mark.parametrize("base", BASES)
def test_what_an_edit_changed_is_put_back(base: str, tmp_path: Path) -> None:
    version = recorded_versions()[0]
    other = partial(checkpoint_of, version)
    for surgery in random.Random(base).sample(single_surgeries(other(base), ["counter-each"], other), 60):
        put_back(unpacked(version, base), tmp_path)
        assert contents(tmp_path) == contents(unpacked(version, base))
        damage(version, base, list(surgery.edits), tmp_path)


@pytest.mark.parametrize("base", BASES)
def test_the_same_edits_make_the_same_files_and_every_edit_changes_something(base: str, tmp_path: Path) -> None:
    version = recorded_versions()[0]
    other = partial(checkpoint_of, version)
    offered = single_surgeries(other(base), ["counter-each"], other)
    sound = contents(materialise(version, base, [], tmp_path / "sound").parent)
    for surgery in random.Random(base).sample(offered, 60):
        once, twice = (contents(lay_again(version, base, list(surgery.edits), tmp_path / copy).parent) for copy in "ab")
        assert once == twice
        assert once != sound or not surgery.edits or surgery.what in SOMETIMES_NOTHING


# A replacement may happen to be what is there; a directory may be empty already.
SOMETIMES_NOTHING = {"foreign", "clear directory", "as the one before", "swapped", "copied one behind", "zeros"}


def test_a_larger_choice_begins_with_the_smaller_one() -> None:
    version = recorded_versions()[0]
    other = partial(checkpoint_of, version)
    offered = {base: single_surgeries(other(base), [], other) for base in BASES}
    assert choose(offered, 60, seed=3)[:20] == choose(offered, 20, seed=3)
    assert choose(offered, 20, seed=4) != choose(offered, 20, seed=3)
