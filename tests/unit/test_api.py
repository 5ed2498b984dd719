"""`plan_restart`: reading only what a restart opens, where that is enough, changes no word of the answer.

But how far back one could go, and what was not looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import api
from tests.conftest import run_ckpt
from tests.samples.place import about, sample_names


def answer(checkpoint: str) -> dict[str, object]:
    outcome = run_ckpt("plan-recovery", checkpoint, "--state", "quick", "--format", "json")
    told = json.loads(outcome.out)
    told["restart"]["assumes"] = [one for one in told["restart"]["assumes"] if "of sources/" not in one]
    return {**told, "reach": None, "code": outcome.code}


@pytest.mark.parametrize("name", sample_names())
def test_what_is_sound_is_told_from_little_as_from_all(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    checkpoint = f"{sample(name)}/{about(name)['checkpoint']}"
    from_little = answer(checkpoint)
    monkeypatch.setattr(api, "_is_sound", lambda _outlook, _plan: False)
    assert answer(checkpoint) == from_little
