"""How a trial was run is read back from beside its images, and what is no trial is not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.errors import NotFound
from ckpttool.harness.driver import Driver
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.settings import FILE, SMALLEST, TrialSettings, load_settings, save_settings

SETTINGS = TrialSettings(Driver(Path("python3"), [Path("a.jar")], {"a": "b"}), "4.2.0", 7, 30.0, broker="h:1")


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    save_settings(tmp_path, SETTINGS, [], tmp_path / "orders.json")
    kept = load_settings(tmp_path)
    assert (kept.root, kept.settings, kept.spec) == (tmp_path, SETTINGS, tmp_path / "orders.json")


def test_a_smaller_one_is_the_same_job_under_its_own_name(tmp_path: Path) -> None:
    save_settings(tmp_path, SETTINGS, list(SCENARIOS.values()))
    kept = load_settings(tmp_path)
    assert (kept.jobs, kept.spec) == ({}, None), "those that ship are known by their names"
    name = next(iter(SCENARIOS))
    smaller = kept.scenario(name + SMALLEST)
    assert (smaller.name, smaller.job) == (name + SMALLEST, SCENARIOS[name].job)
    with pytest.raises(NotFound):
        kept.scenario("nobody's")


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"python": 1}'])
def test_what_is_no_trial_is_not_found(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(NotFound):
        load_settings(tmp_path)
