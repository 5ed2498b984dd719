"""A command in a process of its own, forked from one that has imported all: what it answered, and what it cost."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import pkgutil
import resource
import select
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import Any, NoReturn

import ckpttool
from ckpttool.jail import walls

LONGEST_S = 60  # by the clock: whoever waits for ever takes no time of the processor
CPU_S = 30
ADDRESS_BYTES = 2**33  # of this and all that it forks: what nothing but a mistake comes to
CONNECTS = 99  # the status of a command that turned to the network


@dataclass(frozen=True)
class Ran:
    """`code` None: it did not end by itself; `signal` then says what ended it."""

    code: int | None
    signal: str | None
    out: bytes
    err: bytes
    cpu_s: float
    peak_bytes: int


def import_all() -> None:
    """What a forked command would otherwise import anew each time. Not Spark's rooms, which need one."""
    for module in pkgutil.walk_packages(ckpttool.__path__, "ckpttool."):
        if not module.name.startswith(("ckpttool.spark", "ckpttool.harness.scenarios", "ckpttool.harness.driver")):
            with suppress(ImportError):
                importlib.import_module(module.name)
    for name in ("numpy", "pyarrow.parquet", "tabulate", "click.shell_completion"):
        importlib.import_module(name)


def run(arguments: list[str], place: Path, *, confined: bool = False) -> Ran:
    """`place`: for what it prints; the directory that it is started in, and the one for temporary files, lie there.
    `confined`: it can change nothing else, were it to try."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be(arguments, place, confined=confined)
    handle = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    is_late = not waiting.poll(1000 * LONGEST_S)
    if is_late:
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    os.close(handle)
    with suppress(ProcessLookupError):  # what it has started and left
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(status)
    return Ran(
        code if code >= 0 else None,
        "too late" if is_late else signal.Signals(-code).name if code < 0 else None,
        (place / "out").read_bytes(),
        (place / "err").read_bytes(),
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


def _be(arguments: list[str], place: Path, *, confined: bool) -> NoReturn:
    code: Any = 70
    try:
        atexit._clear()  # what the others have still to do
        os.setsid()
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(place / "here")
        os.environ["TMPDIR"] = str(place / "tmp")
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.addaudithook(_refuse_network)
        if confined:
            _confine(place)
        from ckpttool.cli import main

        main(arguments)
    except SystemExit as ended:
        code = ended.code
    finally:
        with suppress(Exception):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 70)


def _confine(place: Path) -> None:
    """By Landlock: a hostile plan that is carried out after all shall not be carried out here."""
    call = ctypes.CDLL(None).syscall
    changes = walls._WRITE | walls._CHANGES | walls._REFER | walls._TRUNCATE
    ruleset = call(walls._CREATE_RULESET, pack("=Q", changes), 8, 0)
    assert ruleset >= 0, "this kernel has no Landlock"
    for path in (str(place), "/dev"):
        call(walls._ADD_RULE, ruleset, walls._BENEATH, pack("=Qi", changes, os.open(path, os.O_PATH)), 0)
    ctypes.CDLL(None).prctl(walls._SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    assert call(walls._RESTRICT_SELF, ruleset, 0) == 0


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Nothing that is typed here is away from this machine. librdkafka, which is written in C, is not seen by this."""
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        os.write(2, f"{event}{arguments[-1:]}\n".encode(errors="replace"))
        os._exit(CONNECTS)
