"""What a process can no longer do behind the walls. Each deed is done by a Python of its own, first without them."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ckpttool.jail.walls import MEMORY_BYTES

DEEDS = {
    "write": "open('{place}/made', 'w')",
    "overwrite": "open('{place}/there', 'w')",
    "remove": "os.unlink('{place}/there')",
    "rename": "os.rename('{place}/there', '{place}/other')",
    "make a directory": "os.mkdir('{place}/made')",
    "link": "os.symlink('/', '{place}/made')",
    "execute": "os.execv('/bin/true', ['true'])",
    "connect": "socket.create_connection(('127.0.0.1', {port}))",
    "listen": "socket.socket().bind(('127.0.0.1', 0))",
    "signal": "os.kill({other}, 0)",
    "look into the memory of a process": "open('/proc/{other}/mem', 'rb')",
}
DOES = "import os, resource, socket\n{wall}\n{deed}\n"
WALL = "from ckpttool.jail.walls import wall_in\nwall_in(os.getppid())"

linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux offers")


def landlock_version() -> int:
    import ctypes

    return int(ctypes.CDLL(None).syscall(444, None, 0, 1)) if sys.platform == "linux" else 0


def does(deed: str, wall: str) -> bool:
    ran = subprocess.run([sys.executable, "-c", DOES.format(wall=wall, deed=deed)], capture_output=True, check=False)
    return ran.returncode == 0


@linux
@pytest.mark.skipif(landlock_version() < 6, reason="a kernel without all of Landlock")
@pytest.mark.parametrize("deed", DEEDS)
def test_what_cannot_be_done(tmp_path: Path, deed: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["/bin/sleep", "600"]) as other:
        try:
            (tmp_path / "there").touch()
            code = DEEDS[deed].format(place=tmp_path, port=server.getsockname()[1], other=other.pid)
            assert not does(code, WALL)
            assert list(tmp_path.iterdir()) == [tmp_path / "there"]
            assert does(code, "")
        finally:
            other.kill()


CHANGES = ("write", "overwrite", "remove", "rename", "make a directory", "link")
TRACES = "look into the memory of a process"


@linux
@pytest.mark.skipif(landlock_version() < 3, reason="a kernel without Landlock for all changes")
@pytest.mark.parametrize("deed", DEEDS)
def test_who_may_write_in_some_places_changes_no_others(tmp_path: Path, deed: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["/bin/sleep", "600"]) as other:
        try:
            for number, allowed in enumerate((False, True)):
                place, elsewhere = tmp_path / f"place{number}", tmp_path / f"elsewhere{number}"
                place.mkdir()
                elsewhere.mkdir()
                (place / "there").touch()
                code = DEEDS[deed].format(place=place, port=server.getsockname()[1], other=other.pid)
                given = f"[{str(place if allowed else elsewhere)!r}]"
                wall = f"from ckpttool.jail.walls import confine_writing\nconfine_writing({given})"
                assert does(code, wall) is (deed != TRACES and (allowed or deed not in CHANGES))
        finally:
            other.kill()


@linux
def test_limits_and_privileges() -> None:
    show = "[os.write(1, open(f'/proc/self/{name}', 'rb').read()) for name in ('limits', 'status')]"
    ran = subprocess.run([sys.executable, "-c", DOES.format(wall=WALL, deed=show)], capture_output=True, check=True)
    told = ran.stdout.decode()
    assert re.search(r"NoNewPrivs:\s+1\n", told)
    assert re.search(r"Max core file size +0 +0 ", told)
    assert re.search(rf"Max data size +{MEMORY_BYTES} +{MEMORY_BYTES} ", told)


@linux
def test_nothing_is_inherited(tmp_path: Path) -> None:
    with open(tmp_path / "inherited", "w", encoding="utf-8") as file:
        seen = f"assert not os.path.exists('/proc/self/fd/{file.fileno()}')"
        for wall, holds in ((WALL, True), ("", False)):
            code = DOES.format(wall=wall, deed=seen)
            ran = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, check=False, pass_fds=[file.fileno()]
            )
            assert (ran.returncode == 0) is holds


def test_who_is_not_the_child_of_the_one_that_asked_ends_at_once() -> None:
    """That one has ended before the child could be bound to it."""
    wall = f"from ckpttool.jail.walls import wall_in\nwall_in({os.getpid() + 1})"
    ran = subprocess.run([sys.executable, "-c", DOES.format(wall=wall, deed="os._exit(5)")], check=False)
    assert ran.returncode == 0
