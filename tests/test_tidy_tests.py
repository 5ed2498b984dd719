"""The house rules of the tests themselves, as a test over their source."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import is_marked_whole
from tests.test_dependencies import required
from tests.test_tidy import module_of

ROOT = Path(__file__).resolve().parents[1]

(FAST,) = re.findall(r"(?m)^FAST := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"))
RUN_FAST = sorted(
    path
    for place in re.findall(r"tests/[\w/*.]+", FAST)
    for found in ROOT.glob(place)
    for path in ([found] if found.is_file() else found.rglob("test_*.py"))
)
# Modules and rooms without unit tests of their own, and who tests them. Some do nothing without a Spark, and are run in
# one; what carries plans out is killed at every step; two have values only; the laws of each kind of input are asked
# through the last two.
TESTED_ELSEWHERE = {
    "apply": "tests/apply/test_killed.py",
    "cli/apply": "tests/apply/test_commands.py",
    "cli/carry_out": "tests/apply/test_commands.py",
    "cli/evidence": "tests/apply/test_commands.py",
    "cli/saved": "tests/apply/test_commands.py",
    "cli/undo": "tests/apply/test_commands.py",
    "cli/unlock": "tests/apply/test_commands.py",
    "report/views/apply": "tests/apply/test_commands.py",
    "harness/lost_executors": "tests/crash/test_kills.py",
    "cli/rehearse": "tests/differential/test_rehearse_vs_spark.py",
    "rehearsal/child": "tests/differential/test_rehearse_vs_spark.py",
    "rehearsal/planner": "tests/differential/test_planner_vs_spark.py",
    "rehearsal/stage": "tests/differential/test_rehearse_vs_spark.py",
    "spark/describe": "tests/differential/test_describe_vs_spark.py",
    "spark/stand_ins": "tests/differential/test_describe_vs_spark.py",
    "spark/by_batch": "tests/differential/test_jobs_vs_spark.py",
    "spark/over_connect": "tests/differential/test_jobs_vs_spark.py",
    "spark/export": "tests/differential/test_state_source_vs_spark.py",
    "spark/scan": "tests/differential/test_scan_vs_spark.py",
    "spark/serve": "tests/crash/test_smoke.py",
    "spark/state_source": "tests/differential/test_state_source_vs_spark.py",
    "reading/inputs/hudi": "tests/unit/laws/inputs/test_hudi.py",
    "reading/seen_files": "tests/unit/cli/test_files.py",
    "scene/hudi": "tests/unit/laws/inputs/test_hudi.py",
    "scene/windows": "tests/unit/state/test_windows.py",
    "scene/horizon": "tests/unit/laws/sinks/test_horizon.py",
    "laws/changes/ways": "tests/unit/laws/changes/test_judge.py",
    "laws/inputs/base": "tests/unit/laws/inputs/test_delta.py",
    "laws/inputs/judge": "tests/unit/laws/inputs/test_delta.py",
}
JOBS = "harness/scenarios/"  # read as a user's job is, and run by all trials
OURS = ("ckpttool", "tests", "benchmarks")
# pytest brings packaging.
LIGHT = {
    *sys.stdlib_module_names,
    *(one.name.replace("-", "_") for extra in ("", "test-light") for one in required(extra)),
    "packaging",
}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", RUN_FAST, ids=named)
def test_what_needs_an_extra_to_be_imported_is_marked_whole(path: Path) -> None:
    """Where little is installed, what is not marked is imported, with all that it imports."""
    beyond = {f"{named(module)} imports {one}" for module in closure_of(path) for one in packages_of(module) - LIGHT}
    assert not beyond or is_marked_whole(path.read_text(encoding="utf-8")), (
        f"mark it (pytestmark = pytest.mark.extras), or import where it is used: {sorted(beyond)}"
    )


def closure_of(path: Path) -> frozenset[Path]:
    found, waiting = set[Path](), [path]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(neighbours_of(module))
    return frozenset(found)


@cache
def neighbours_of(path: Path) -> frozenset[Path]:
    return frozenset(home for name in imported_at_once(path) for home in homes_of(name))


@cache
def packages_of(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_at_once(path)} - {*OURS}


@cache
def imported_at_once(path: Path) -> frozenset[str]:
    """What runs when it is imported: not functions, and not what only its annotations name."""
    found = set[str]()
    for node in _run_at_once(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = module_of(path, node)
            found.update((module, *(f"{module}.{alias.name}" for alias in node.names)))
    return frozenset(found)


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield from _run_at_once(child)


def homes_of(name: str) -> Iterator[Path]:
    """The files that are run by importing it: its own, and those of the packages around it."""
    parts = name.split(".")
    if parts[0] in OURS:
        for count in range(1, len(parts) + 1):
            place = ROOT.joinpath(*parts[:count])
            yield from (home for home in (place / "__init__.py", place.with_suffix(".py")) if home.is_file())


def test_every_module_has_tests_where_one_looks_for_them() -> None:
    """What a package itself has is tested with its modules."""
    package, unit = ROOT / "ckpttool", ROOT / "tests" / "unit"
    modules = [path.relative_to(package) for path in package.rglob("*.py") if path.name != "__init__.py"]
    lacking = {
        str(path.with_suffix(""))
        for path in modules
        if not (unit / path.parent / f"test_{path.name}").is_file() and not str(path).startswith(JOBS)
    }
    excused = {one: known for one in lacking for known in TESTED_ELSEWHERE if f"{one}/".startswith(f"{known}/")}
    assert lacking - excused.keys() == set()
    assert TESTED_ELSEWHERE.keys() - excused.values() == set(), "these have tests now"
    assert all((ROOT / tests).is_file() for tests in TESTED_ELSEWHERE.values())


def test_every_unit_test_has_its_module() -> None:
    unit, package = ROOT / "tests" / "unit", ROOT / "ckpttool"
    tests = [path.relative_to(unit) for path in unit.rglob("test_*.py")]
    orphans = []
    for test in tests:
        name = test.name.removeprefix("test_")
        if not any((package / test.parent / one).exists() for one in (name, name.removesuffix(".py"), "__init__.py")):
            orphans.append(str(test))
    assert orphans == []
