"""Whatever a name has in it, a command takes it for a word: read back by the languages themselves."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckpttool
from ckpttool.literals import (
    hadoop_path,
    python_literal,
    shell_comment,
    shell_path,
    shell_word,
    spark_identifier,
)

HOSTILE = ["", "-rf", "--", "$(touch canary)", "`touch canary`", "a\nb", "\n", "'", "''", '"', "\\", "\\'", "a b", "*",
           ";touch canary", "&&touch canary", "|touch canary", "${HOME}", "$HOME", "!x", "a\r", "\t", "\x1b[31m",
           "'$(touch canary)'", "'\"'\"'", "{a,b}", "[a]", "?", "x\\\n", "~", "#x", "\u202e", "ü"]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.sampled_from("'\"`$();&|<>\\\n\r\t -*?[]{}#!~=x")), st.text())
# What the argument of a process can be: no NUL, and no half of a surrogate pair.
WORDS = TEXTS.filter(lambda text: "\0" not in text and not re.search("[\ud800-\udfff]", text))


def read_by(shell: str, script: str, folder: Path) -> list[str]:
    """The arguments that a program gets."""
    program = f"sees() {{ printf '%s\\0' \"$@\"; }}; {script}"
    ran = subprocess.run([shell, "-euc", program], cwd=folder, capture_output=True, check=True)
    return ran.stdout.decode().split("\0")[:-1]


@given(st.lists(TEXTS))
def test_a_word_is_a_word(texts: list[str]) -> None:
    assert shlex.split(" ".join(map(shell_word, texts))) == texts


@pytest.mark.parametrize("shell", ["sh", "bash"])
@settings(max_examples=30)
@given(words=st.lists(WORDS, min_size=1, max_size=40))
def test_shells_read_it_back(shell: str, words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert read_by(shell, f"sees {' '.join(map(shell_word, words))}", folder) == words
    paths = read_by(shell, f"sees {' '.join(map(shell_path, words))}", folder)
    assert not [path for path in paths if path.startswith("-")]
    assert [path.removeprefix("./") for path in paths] == [word.removeprefix("./") for word in words]


@settings(max_examples=30)
@given(texts=st.lists(WORDS, min_size=1, max_size=20))
def test_a_comment_does_nothing(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = [shell_comment(text) for text in texts]
    assert all(line.isprintable() for line in lines)
    assert read_by("sh", "\n".join([*lines, "sees end"]), tmp_path_factory.getbasetemp()) == ["end"]


@given(TEXTS)
def test_python_reads_it_back(text: str) -> None:
    literal = python_literal(text)
    assert ast.literal_eval(literal) == text
    assert literal.isascii()
    assert literal.isprintable()


@given(WORDS)
def test_a_pattern_of_hadoop_stands_for_itself(text: str) -> None:
    """As its GlobPattern reads it: a backslash takes the meaning from what follows."""
    (word,) = shlex.split(hadoop_path(f"s3://{text}"))
    assert re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL) == f"s3://{text}"
    assert not re.search(r"[*?\[\]{}]", re.sub(r"\\.", "", word, flags=re.DOTALL))


@given(TEXTS)
def test_an_identifier_is_one_or_none(text: str) -> None:
    found = spark_identifier(text)
    if found is None:
        assert not text.isprintable() or re.search(r"""[;'"$\\]|--|/\*|\*/""", text)
    else:
        assert found[1:-1].replace("``", "`") == text
        assert "`" not in found[1:-1].replace("``", "")
        assert not re.search(r"""[;'"$\\\n]|--|/\*""", found)


def test_nobody_else_quotes() -> None:
    """`words.quote` is for sentences."""
    package = Path(ckpttool.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [name for name, text in texts.items() if re.search(r"shlex\.quote|from shlex import", text)] == [
        "literals.py"
    ]
