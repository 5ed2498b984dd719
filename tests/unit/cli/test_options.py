"""Options that several commands have."""

from __future__ import annotations

import os
from pathlib import Path

from ckpttool.cli.options import open_given
from tests.conftest import run_ckpt


def test_a_file_of_storage_options_must_be_private(tmp_path: Path, sound: str) -> None:
    file = tmp_path / "options.json"
    file.write_text('{"anon": true}')
    file.chmod(0o644)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 2
    file.chmod(0o600)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 0


def test_a_pipe_is_waited_for_while_somebody_writes_to_it(tmp_path: Path) -> None:
    """As a shell's <(…) is one. One that nobody writes to would be waited for without end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open_given(str(pipe)) as file:
        assert file.read() == ""
    reading, writing = os.pipe()
    os.write(writing, b"{}")
    os.close(writing)
    with open_given(f"/dev/fd/{reading}") as file:
        assert file.read() == "{}"
    os.close(reading)
