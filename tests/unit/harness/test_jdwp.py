"""The parts of the JDWP controller that need no JVM."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ckpttool.harness.jdwp import Controller, Point


def test_pattern_has_its_star_at_one_end() -> None:
    with pytest.raises(ValueError, match="beginning or at the end"):
        Controller([Point("p", "org.*.OffsetSeqLog", "add", "entry")])


def test_points_are_unarmed_until_a_class_is_loaded() -> None:
    with Controller([Point("p", "*.OffsetSeqLog", "add", "entry")]) as controller:
        assert controller.armed == {"p": 0}
        assert "server=n,suspend=y,address=127.0.0.1:" in controller.java_option


JVM = """
import os, socket, sys
family, host, port, dual = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "mapped"
connection = socket.create_connection((host, port)) if not dual else socket.socket(socket.AF_INET6)
if dual: connection.connect((f"::ffff:{host}", port))
connection.sendall(connection.recv(14))
request = connection.recv(100)
connection.sendall((31).to_bytes(4, "big") + request[4:8] + b"\\x80\\0\\0" + (8).to_bytes(4, "big") * 5)
while data := connection.recv(100):
    connection.sendall((15).to_bytes(4, "big") + data[4:8] + b"\\x80\\0\\0" + bytes(4))
"""


@contextmanager
def jvm(controller: Controller, how: str = "plain") -> Iterator[int]:
    """A process of its own session that connects as a JVM does, and knows the first answers of one."""
    host, port = address_of(controller)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    command = [sys.executable, "-c", JVM, str(int(family)), host, str(port), how]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def address_of(controller: Controller) -> tuple[str, int]:
    host, _, port = controller.java_option.partition("address=")[2].partition(",")[0].rpartition(":")
    return host.strip("[]"), int(port)


@pytest.mark.parametrize("how", ["plain", "mapped"])
def test_the_jvm_that_was_started_is_let_in(how: str) -> None:
    with Controller([Point("p", "*.OffsetSeqLog", "add", "entry")]) as controller, jvm(controller, how) as session:
        assert controller.accept(session)
        controller.resume()


def test_nobody_else_is_let_in() -> None:
    """Neither before it, which does not keep it out, nor after it."""
    with Controller([Point("p", "*.OffsetSeqLog", "add", "entry")], accept_timeout=20) as controller:
        address = address_of(controller)
        with socket.create_connection(address) as stranger, jvm(controller) as session:
            assert not controller.accept(session)
            assert stranger.recv(1) == b"", "sent away without a word"
            assert controller.accept(session)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address)
            for again in (0, 1):
                with socket.socket() as other:
                    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, again)
                    with pytest.raises(OSError, match="in use"):
                        other.bind(address)


def test_a_stranger_alone_is_sent_away() -> None:
    idle = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with Controller([], accept_timeout=20) as controller, socket.create_connection(address_of(controller)) as stranger:
        assert not controller.accept(idle.pid)
        assert stranger.recv(1) == b""
    idle.kill()
    idle.wait()


def test_where_there_is_no_other_address_it_is_that_of_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def without_ipv4(family: int = socket.AF_INET, *more: int) -> socket.socket:
        if family == socket.AF_INET:
            made = real(socket.AF_INET6, *more)
            made.close()
            return made
        return real(family, *more)

    monkeypatch.setattr(socket, "socket", without_ipv4)
    controller = Controller([Point("p", "*.OffsetSeqLog", "add", "entry")])
    monkeypatch.undo()
    with controller, jvm(controller) as session:
        assert address_of(controller)[0] == "::1"
        assert controller.accept(session)
