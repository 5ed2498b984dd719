"""The first inputs of the fuzzer of whole commands; `make fuzz` goes on for an hour."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fuzz.commands import COMMANDS, OF_APPLIES, OF_HISTORIES
from tests.samples.place import REPOSITORY
from tests.unit.report.test_renderers import FORMS, named

pytestmark = pytest.mark.extras

SEED, INPUTS = 4, 600  # about half a minute of a core where nothing else runs


def test_commands_answer_whatever_they_read() -> None:
    command = [sys.executable, "-m", "tests.fuzz.commands", "--seed", str(SEED), "--inputs", str(INPUTS)]
    ran = subprocess.run(command, cwd=REPOSITORY.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]


def test_every_command_that_reads_what_others_wrote_is_tried() -> None:
    tried = {named(words.split()) for words, _, _ in (*COMMANDS, *OF_HISTORIES, *OF_APPLIES)}
    assert tried == FORMS.keys() - {"crash-test run", "crash-test list"}
