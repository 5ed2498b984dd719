"""Who holds the other end of a connection: a process of that session, or somebody else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ckpttool.harness import peer
from ckpttool.harness.peer import is_held_by

CONNECTS = """
import socket, sys
family, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with socket.socket(family) as connection:
    connection.connect((host, port))
    connection.recv(1)
"""
# By a child of the session's first process: Spark's JVM is one, too.
IN_A_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


@contextmanager
def connected(
    to: str = "127.0.0.1", *, family: int = socket.AF_INET, deeper: bool = False
) -> Iterator[tuple[int, socket.socket]]:
    """The session of a process that has connected, and our end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", *([IN_A_CHILD] if deeper else []), CONNECTS]
        command += [str(int(family)), to, str(server.getsockname()[1])]
        process = subprocess.Popen(command, start_new_session=True)
        try:
            connection, _ = server.accept()
            with connection:
                yield process.pid, connection
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("deeper", [False, True])
def test_a_process_of_the_session_holds_it_and_no_other_session_does(deeper: bool) -> None:
    with connected(deeper=deeper) as (session, connection):
        assert is_held_by(session, connection)
        assert not is_held_by(os.getsid(0), connection)


def test_a_socket_for_ipv6_may_speak_ipv4() -> None:
    with connected("::ffff:127.0.0.1", family=socket.AF_INET6) as (session, connection):
        assert is_held_by(session, connection)


def test_what_cannot_be_seen_is_not_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peer, "TABLES", (tmp_path / "tcp",))
    with connected() as (session, connection):
        assert not is_held_by(session, connection)
