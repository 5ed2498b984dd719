"""`ckpt apply` as a user has it: a process of its own, which may be killed at one of its operations.

Operations are counted by Python's audit of itself, in that process: whatever makes, links, renames or removes a file,
or makes a directory. The kill is a real one, before the operation: nothing is flushed, and no lock let go.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ckpttool.apply import places
from ckpttool.apply.plan_file import PlanFile, save_plan
from ckpttool.errors import Refused, Unavailable
from ckpttool.harness.scratch import Scratch
from ckpttool.plan.conditions import QUERY_STOPPED

SECONDS = 120  # that one apply may take
# What the process runs. Its first argument: the number of the operation before which it is killed, 0 for none.
PROGRAM = """
import os, signal, sys
at, count = int(sys.argv.pop(1)), 0
def note(event, given):
    global count
    made = event == "open" and isinstance(given[2], int) and given[2] & os.O_CREAT
    if made or event in ("os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(note)
from ckpttool.cli import main
try:
    main()
finally:
    sys.stderr.write(f"operations: {count}\\n")
"""


class ApplyCommand:
    """One plan, for what lies in the scratch directory and nowhere else."""

    def __init__(self, plan: PlanFile, scratch: Scratch) -> None:
        for path in (plan.checkpoint, *(one for step in plan.steps for one in (step.path, step.table) if one)):
            scratch.inside(Path(plan.checkpoint, path))
        self._plan, self._scratch = plan, scratch
        self._file = scratch.folder("plans") / f"{plan.id}.json"
        save_plan(plan, str(self._file))

    def carry_out(self, killed_at: int | None = None) -> int:
        """Tells how many operations it took, the last time. `killed_at`: first it is killed before that operation, and
        then gone on with."""
        words = [str(self._file)]
        checkpoint = Path(self._plan.checkpoint)
        if killed_at is not None:
            code, said = self._run(words, killed_at)
            _expect(code == -signal.SIGKILL, said)
            if (checkpoint / places.plan_of(self._plan.id)).exists():
                words = ["--resume", str(checkpoint)]
        code, said = self._run(words)
        _expect(code == 0, said)
        return int(re.findall(r"^operations: (\d+)$", said, re.MULTILINE)[-1])

    def _run(self, words: Sequence[str], at: int = 0) -> tuple[int, str]:
        # Nobody runs a query on an image, and nobody else writes to its sink.
        conditions = (QUERY_STOPPED, *(one.id for one in self._plan.conditions))
        accepted = [word for one in conditions for word in ("--accept", one)]
        command = [sys.executable, "-c", PROGRAM, str(at), "apply", *words, "--yes", "--settle", "0s", *accepted]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # which would count as well
            start_new_session=True,
        )
        self._scratch.watch(process.pid)
        try:
            said = process.communicate(timeout=SECONDS)[0]
            return process.returncode, said
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Unavailable(f"ckpt apply did not end within {SECONDS} s") from None
        finally:
            self._scratch.forget(process.pid)


def _expect(holds: bool, said: str) -> None:
    if not holds:
        lines = [line for line in said.splitlines() if not line.startswith("operations: ")]
        raise Refused(f"ckpt apply: {' '.join(lines[-3:])}")
