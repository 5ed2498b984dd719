"""Standard output that cannot be written, and what others print beside us."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

import ckpttool
from ckpttool.cli.streams import Printable, say, show_progress

PACKAGE = Path(ckpttool.__file__).parent
HOSTILE = "\x1b[31mred\u202e\u200b\x07\x9b"


def ckpt(redirected: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With a shell's redirections, such as `>&-`, which closes standard output."""
    command = f'exec "$0" -c "from ckpttool.cli import main; main()" "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *arguments], capture_output=True, text=True, check=False
    )


TEXTS = [("--help",), ("--version",), ("inspect", "--help"), ("inspect", "PATH"), ("crash-test", "list"),
         ("inspect", "PATH", "--format", "json"), ("log", "PATH", "--format", "jsonl")]  # fmt: skip


@pytest.mark.parametrize("arguments", TEXTS, ids=" ".join)
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-", ">&- <&-", "1</dev/null"])
def test_output_that_cannot_be_written_is_told(sound: str, arguments: tuple[str, ...], redirected: str) -> None:
    ran = ckpt(redirected, *(sound if one == "PATH" else one for one in arguments))
    assert ran.returncode == 5
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("ckpt: the output cannot be written: ")


@pytest.mark.parametrize("arguments", TEXTS, ids=" ".join)
def test_a_reader_that_went_away_is_nothing_to_tell(sound: str, arguments: tuple[str, ...]) -> None:
    given = [sound if one == "PATH" else one for one in arguments]
    program = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); from ckpttool.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(("arguments", "code"), [(("inspect", "/nowhere"), 4), (("--nonsense",), 2), (("--help",), 5)])
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
def test_the_exit_status_tells_where_nobody_can_be_told(arguments: tuple[str, ...], code: int, redirected: str) -> None:
    ran = ckpt(f">/dev/full {redirected}", *arguments)
    assert (ran.returncode, ran.stderr) == (code, "")


def test_nothing_that_others_tell_reaches_the_terminal_raw() -> None:
    out = io.StringIO()
    with contextlib.redirect_stderr(Printable(out)):
        print(f"a library says {HOSTILE}\nin two lines", file=sys.stderr)
        say(HOSTILE)
    assert "\\x1b[31mred\\u202e" in out.getvalue()
    assert all(line.isprintable() for line in out.getvalue().split("\n"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_and_escapes_names_too() -> None:
    for out, shown in ((Terminal(), "\r\x1b[K1 of \\x1b2"), (io.StringIO(), "")):
        with contextlib.redirect_stderr(Printable(out)):
            show_progress("1 of \x1b2", last=False)
        assert out.getvalue() == shown


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_one_place_writes_to_the_streams(path: Path) -> None:
    if path == PACKAGE / "cli" / "streams.py" or path.parent == PACKAGE / "spark":  # a program of its own
        return
    used = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)}  # fmt: skip
    ours = {"sys.stderr"} if path == PACKAGE / "cli" / "__init__.py" else set()  # which wraps it
    assert not used & {"click.echo", "click.secho", "sys.stdout", "sys.stderr"} - ours
