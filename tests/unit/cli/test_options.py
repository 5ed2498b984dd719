"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import run_ckpt


def test_a_file_of_storage_options_must_be_private(tmp_path: Path, sound: str) -> None:
    file = tmp_path / "options.json"
    file.write_text('{"anon": true}')
    file.chmod(0o644)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 2
    file.chmod(0o600)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 0
