"""What this user has run here, and nobody else can have put there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpttool.apply.consent import give_consent, has_consent, require_own, trials
from ckpttool.errors import Refused
from ckpttool.harness.scratch import Scratch


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    yield tmp_path / "state" / "ckpt"
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_consent_is_for_what_was_run_to_the_letter(state: Path) -> None:
    assert not has_consent(b"one")
    give_consent(b"one")
    assert has_consent(b"one")
    assert not has_consent(b"One")
    assert {mode(path) for path in [state, *state.rglob("*")]} == {0o700, 0o600}


def test_trials_are_kept_where_only_their_owner_comes(tmp_path: Path, state: Path) -> None:
    assert (trials(), mode(trials())) == (state / "trials", 0o700)
    with Scratch() as scratch:
        assert scratch.root.parent == trials()
        assert mode(scratch.root) == 0o700
    (tmp_path / "given").mkdir(0o777)
    with Scratch(tmp_path / "given") as scratch:
        assert mode(scratch.root) == 0o700


def test_without_a_place_that_is_said_it_is_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", said)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert trials() == tmp_path / ".local/state/ckpt/trials"
        monkeypatch.setenv("HOME", "")
        with pytest.raises(Refused, match="no directory to keep that in"):
            trials()


def test_a_place_that_others_prepared_is_refused(tmp_path: Path, state: Path) -> None:
    state.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    state.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="not a directory of yours"):
        has_consent(b"")
    state.unlink()
    state.write_text("")
    with pytest.raises(Refused, match="cannot be had"):
        has_consent(b"")
    state.unlink()
    state.mkdir(0o777)
    with pytest.raises(Refused, match="others have access"):
        has_consent(b"")


@pytest.mark.parametrize("bits", [0o020, 0o002, 0o040, 0o001])
def test_a_directory_that_others_have_access_to_is_not_ones_own(tmp_path: Path, bits: int) -> None:
    tmp_path.chmod(0o700)
    require_own(tmp_path)
    tmp_path.chmod(0o700 | bits)
    with pytest.raises(Refused, match="others have access"):
        require_own(tmp_path)
