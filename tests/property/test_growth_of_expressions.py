"""No regular expression over what others wrote takes more than twice as long for twice as much."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

import ckpttool

pytestmark = pytest.mark.property

PACKAGE = Path(ckpttool.__file__).parent
# What others wrote is read here; elsewhere it is what the user typed, or what we wrote.
PLACES = ("connectors", "formats", "laws", "plan", "reading", "scene", "state", "storage")
ALL_AT = ("findall", "finditer", "search", "split", "sub")
PUMPED = (
    " ", "\n", "a", "0", "<a ", "href=", "href ", "'", '"', '\\"', "`", "``", "`a", "(", ",", "[", "{", ".", "-", "_",
    "\\", "decimal(", "interval ", "merge_operator=", "wal_dir=", "0.", ".json",
)  # fmt: skip
PREFIXES = ("", '"', "`", "<a ", "href=", "decimal(", "interval a to ")
MANY = 1000
SURE_S = 0.01  # what takes less is not told from noise; what is quadratic takes a multiple


def expressions() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Where each stands, how it is applied, and what it is."""
    for place in PLACES:
        for path in sorted((PACKAGE / place).rglob("*.py")):
            name = ".".join(("ckpttool", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
            tree = ast.parse(path.read_text("utf-8"))
            for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
                if ast.unparse(call.func).startswith("re.") and call.args:
                    pattern = _text(name, call.args[0])
                    dotall = re.DOTALL if any(word.arg == "flags" for word in call.keywords) else 0
                    if pattern is not None and "escape" not in ast.unparse(call.func):
                        yield f"{name}:{call.lineno}", _method(tree, call), re.compile(pattern, dotall)


def _method(tree: ast.Module, call: ast.Call) -> str:
    """Of `re`, or of the expression that is compiled and has a name: what looks everywhere, if anything does."""
    named = [ast.unparse(one.targets[0]) for one in ast.walk(tree) if isinstance(one, ast.Assign) and one.value is call]
    if not named:
        return ast.unparse(call.func).removeprefix("re.")
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    used = {node.attr for node in attributes if ast.unparse(node.value) in named}
    return next((method for method in ALL_AT if method in used), "match")


def _text(module: str, node: ast.expr) -> str | None:
    value = None
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.Name):
        value = getattr(importlib.import_module(module), node.id, None)
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else None


def seconds(apply: Callable[[str], object], text: str) -> float:
    def once() -> float:
        began = time.process_time()
        apply(text)
        return time.process_time() - began

    return min(once() for _ in range(2))


def slow_texts(pattern: re.Pattern[str], method: str) -> Iterator[str]:
    apply: Callable[[str], object] = (lambda text: pattern.sub("", text)) if method in ALL_AT else pattern.match
    for prefix, pumped in product(PREFIXES, PUMPED):
        for end in ("", "!"):
            if seconds(apply, prefix + pumped * 2 * MANY + end) < SURE_S:
                continue
            small, large = (seconds(apply, prefix + pumped * count * MANY + end) for count in (2, 4))
            if large > 3 * small:
                yield f"{prefix}({pumped})*{end}"


FOUND = list(expressions())


@pytest.mark.parametrize(("where", "method", "pattern"), FOUND, ids=[where for where, _, _ in FOUND])
def test_twice_as_much_takes_twice_as_long(where: str, method: str, pattern: re.Pattern[str]) -> None:
    assert list(slow_texts(pattern, method)) == [], where


def test_this_finds_what_grows_faster() -> None:
    assert list(slow_texts(re.compile(r"""<a\s[^>]*?href\s*=\s*["']([^"'<>]+)["']"""), "findall"))
    assert len(FOUND) > 20
