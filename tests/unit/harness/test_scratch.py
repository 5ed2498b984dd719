"""Nothing outlives the harness, however it ends, and nothing outside its directory is touched."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ckpttool.errors import Refused, Unavailable
from ckpttool.harness.scratch import Scratch, freeze_session, kill_session, members
from ckpttool.harness.session import Died, Late, Session
from tests.unit.harness.waiting import is_alive, wait_until, wait_until_gone

# A worker that leaves its parent's group, as Spark's Python workers do, and an echo of requests.
ECHO = """
import json, os, subprocess, sys
program = "import os, time; os.setpgid(0, 0); print(flush=True); time.sleep(600)"
worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
worker.stdout.readline()
print(json.dumps({"pids": [os.getpid(), worker.pid]}), flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
"""
HARNESS = f"""
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts the tests in the background ignores it
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Session
with Scratch(Path(sys.argv[1])) as scratch:
    session = Session(scratch, [sys.executable, "-c", {ECHO!r}], os.environ)
    print(*session.answer(30)["pids"], flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_processes_end_with_the_harness(tmp_path: Path, ending: signal.Signals) -> None:
    folder = tmp_path / "scratch"
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert harness.stdout
    pids = [int(word) for word in harness.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    harness.send_signal(ending)
    harness.wait(timeout=20)
    harness.stdout.close()
    wait_until_gone(*pids)
    wait_until(lambda: not folder.exists())


def test_frozen_processes_end_too(scratch: Scratch) -> None:
    with scratch:
        session = Session(scratch, [sys.executable, "-c", ECHO], os.environ)
        pids = session.answer(30)["pids"]
        session.freeze()
    wait_until_gone(*pids)
    assert session.process.wait() == -signal.SIGKILL
    for pipe in (session.process.stdin, session.process.stdout):
        assert pipe
        pipe.close()


def test_freezing_stops_everybody_in_the_session(scratch: Scratch) -> None:
    with scratch, Session(scratch, [sys.executable, "-c", ECHO], os.environ) as session:
        pids = session.answer(30)["pids"]
        assert sorted(members(session.process.pid)) == sorted(pids)
        freeze_session(session.process.pid)
        states = [Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] for pid in pids]
        assert set(states) == {b"T"}
        session.send({"number": 1})
        with pytest.raises(Late):
            session.answer(0.2)
        session.thaw()
        assert session.answer(30) == {"number": 1}
        kill_session(session.process.pid)
        assert not members(session.process.pid)
        with pytest.raises(Died):
            session.ask({}, 5)


def test_what_a_process_has_left_behind_ends_too(scratch: Scratch) -> None:
    program = "import subprocess; child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)"
    program += """; print('{"pid": %s}' % child.pid, flush=True)"""
    with scratch, Session(scratch, [sys.executable, "-c", program], os.environ) as session:
        left = session.answer(30)["pid"]
        assert session.process.wait() == 0
        assert is_alive(left)
        assert session.kill() == session.kill() == 0
        assert not is_alive(left)


def test_other_places_are_refused(tmp_path: Path, scratch: Scratch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "rows").touch()
    (scratch.folder("work") / "link").symlink_to(data)
    with scratch:
        for outside in (data, scratch.root / "..", scratch.root / "work" / "link" / "rows"):
            with pytest.raises(Refused, match="outside"):
                scratch.inside(outside)
    with pytest.raises(Refused, match="not empty"):
        Scratch(data)
    assert (data / "rows").exists()


def test_a_disk_that_becomes_full_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is full"), Scratch(tmp_path / "scratch"):
        Path("/dev/full").write_text("one byte too many")
    image, copy = tmp_path / "image", tmp_path / "copy"
    for folder in (image, copy):
        folder.mkdir()
    (image / "part").write_text("rows")
    (copy / "part").symlink_to("/dev/full")
    with pytest.raises(Unavailable, match="is full"), Scratch(tmp_path / "scratch"):
        shutil.copytree(image, copy, dirs_exist_ok=True)


def test_kept_directory_can_be_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    with Scratch(folder, keep=True) as scratch:
        (scratch.folder("images") / "one").touch()
    with Scratch(folder):
        assert (folder / "images" / "one").exists()
    assert not folder.exists()
