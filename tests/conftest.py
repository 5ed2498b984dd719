"""What most tests share: the samples as they were made, and the command run in this process."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from ckpttool.cli import main
from tests.parts.generations import GenerationsServer
from tests.parts.hdfs import HdfsServer
from tests.parts.stores import SERVERS, ObjectServer
from tests.parts.versity import VersityServer
from tests.samples.place import place_sample

# How hard the laws are tried: quick by default, HYPOTHESIS_PROFILE=thorough for a long look. Here, since whoever is
# imported before the profile is loaded has a deadline, which a busy machine does not keep.
settings.register_profile("quick", max_examples=25, deadline=None, database=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
# What needs more than Python packages is left to `make test-storage`.
HEAVY = {"hdfs": HdfsServer, "versity": VersityServer}
# Where something is changed: Google's storage with the conditions that its emulator does not look at.
CHANGEABLE = {"s3": SERVERS["s3"], "azure": SERVERS["azure"], "generations": GenerationsServer}
AT_LENGTH = (pytest.mark.storage, pytest.mark.spark)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A mark deselects tests once their module is imported; what is marked whole may not even be importable."""
    if collection_path.suffix != ".py" or "not extras" not in config.getoption("markexpr"):
        return None
    return is_marked_whole(collection_path.read_text(encoding="utf-8")) or None


def is_marked_whole(source: str) -> bool:
    return bool(re.search(r"(?m)^pytestmark = .*\bpytest\.mark\.extras\b", source))


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run_ckpt(*arguments: str, cwd: Path | None = None) -> Outcome:
    """`ckpt ARGUMENTS`, through the same door as the installed command."""
    out, err = io.StringIO(), io.StringIO()
    with _working_directory(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
    return Outcome(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _working_directory(path: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path or before)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Trials of the tests are kept with what else they leave, and not among the user's."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The root of a sample, put back once per run with its times and empty directories; tests only read it."""
    placed: dict[str, Path] = {}
    before: dict[str, set[tuple[str, int]]] = {}

    def place(name: str) -> Path:
        if name not in placed:
            root = tmp_path_factory.mktemp("samples") / name
            place_sample(name, root)
            placed[name], before[name] = root, sizes_below(root)
        return placed[name]

    yield place
    assert {name: sizes_below(root) for name, root in placed.items()} == before, "a test has written to a sample"


def sizes_below(root: Path) -> set[tuple[str, int]]:
    return {(str(path.relative_to(root)), path.stat().st_size) for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def object_servers() -> Iterator[Callable[[str], ObjectServer]]:
    """The server of this kind of store, started when it is first asked for."""
    started: dict[str, ObjectServer] = {}
    with contextlib.ExitStack() as running:

        def server(kind: str) -> ObjectServer:
            if kind not in started:
                started[kind] = running.enter_context({**SERVERS, **CHANGEABLE, **HEAVY}[kind]())
            return started[kind]

        yield server


@pytest.fixture
def object_server(object_servers: Callable[[str], ObjectServer]) -> Iterator[Callable[[str], ObjectServer]]:
    """The same, and what a test has put there is gone after it."""
    used: dict[str, ObjectServer] = {}
    yield lambda kind: used.setdefault(kind, object_servers(kind))
    for server in used.values():
        server.forget()
