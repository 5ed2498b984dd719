"""The house rules, as a test over the source: who imports whom, who prints, who writes, how long things get."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ckpttool.laws.base import Law
from ckpttool.laws.book import every
from ckpttool.releases import NEWEST_PATCHES, WRITERS
from tests.layers import is_pure, layer_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ckpttool"
MODULES = sorted(PACKAGE.rglob("*.py"))

TOUCHES_THE_WORLD = {"os", "io", "time", "random", "socket", "subprocess", "pathlib", "tempfile", "fsspec", "click"}
TOOK = re.compile(r"(time|monotonic|perf_counter)\(\) - ")
LONGEST_FUNCTION = 60
LONGEST_FILE = 450


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: Path) -> set[str]:
    """The modules of ours that it imports when it runs: not those that only its annotations name."""
    return {imported for imported, _ in imports_of(path) if imported.startswith("ckpttool.")}


@cache
def closure_of(path: Path) -> frozenset[Path]:
    found, waiting = set[Path](), [path]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(PATHS[one] for name in imported_by(module) for one in with_packages(name))
    return frozenset(found)


def with_packages(module: str) -> Iterator[str]:
    """Whoever imports `a.b.c` runs `a.b` as well. The root runs nothing."""
    parts = module.split(".")
    yield from (name for count in range(2, len(parts) + 1) if (name := ".".join(parts[:count])) in PATHS)


@cache
def worlds_of(path: Path) -> set[str]:
    every = {imported.partition(".")[0] for imported, _ in imports_of(path)}
    return {f"{name_of(path)}: {one}" for one in every & TOUCHES_THE_WORLD}


@cache
def imports_of(path: Path) -> tuple[tuple[str, ast.stmt], ...]:
    return tuple(_imports_of(path))


def _imports_of(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    for node in _run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((name, node) for name in _imported_from(module_of(path, node), node))


def module_of(path: Path, node: ast.ImportFrom) -> str:
    """That names are taken from, whole where it was given beside or above."""
    above = name_of(path).split(".")[: -node.level] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def _imported_from(module: str, node: ast.ImportFrom) -> Iterator[str]:
    """`from ckpttool.laws import batch` imports a module of that package."""
    yield module
    yield from (name for alias in node.names if (name := f"{module}.{alias.name}") in PATHS)


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """All of it but what stands under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield from _run(child)


PATHS = {name_of(path): path for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return  # the public names, loaded on first use
    module = name_of(path)
    for imported in imported_by(path):
        assert layer_of(imported) <= layer_of(module), f"{module} imports {imported}, which lies above it"


@pytest.mark.parametrize("path", [path for path in MODULES if is_pure(name_of(path))], ids=name_of)
def test_what_is_pure_imports_only_what_is_pure(path: Path) -> None:
    """With all that its imports import in turn, and the packages around them."""
    touched = {found for module in closure_of(path) for found in worlds_of(module)}
    assert not touched, f"{name_of(path)} reaches the world: {sorted(touched)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_line_prints(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in called
    assert "breakpoint" not in called


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_reading_never_opens_for_writing(path: Path) -> None:
    """Whoever adds a writing method changes this rule to name its only caller. A database is put together in a
    temporary directory of its own; an export is written where nothing is, outside the checkpoint; what this user has
    begun is written down in the user's own directory; a clone is one in a scratch directory."""
    if name_of(path).startswith(
        ("ckpttool.harness", "ckpttool.rehearsal", "ckpttool.spark.", "ckpttool.apply.stores.")
    ):
        return
    source = path.read_text(encoding="utf-8")
    if name_of(path) == "ckpttool.state.rocksdb":
        assert source.count('"wb"') == 1
        assert "with temporary_directory(" in source
        source = source.replace('"wb"', "").replace("os.unlink(target)", "")
    if name_of(path) == "ckpttool.state.export":
        assert "is inside the checkpoint" in source
        source = source.replace("unfinished.unlink()", "").replace("os.O_WRONLY | os.O_CREAT | os.O_EXCL", "", 1)
    if name_of(path) == "ckpttool.apply.consent":
        assert "XDG_STATE_HOME" in source
        source = source.replace("base.mkdir(PRIVATE", "", 1).replace("folder.mkdir(PRIVATE", "", 1)
    if name_of(path) == "ckpttool.apply.plan_file":
        assert source.count('"xb"') == 1
        assert "is inside the checkpoint" in source
        source = source.replace('"xb"', "")
    for writing in ("O_WRONLY |", "O_CREAT", "O_RDWR", '"wb"', '"w"', '"xb"', "os.replace", "os.remove", "unlink(",
                    "rmtree", "pipe_file", "put_file", ".mkdir("):  # fmt: skip
        assert writing not in source


# Those to whom a user types a URL. Whoever has one from a file goes through `storage.doors`, with another type.
TYPED_TO = ("api", "apply", "checkup.look", "cli", "harness.witness", "reading.checkpoint", "reading.sinks",
            "rehearsal", "spark", "storage.doors", "")  # fmt: skip


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_stores_are_opened_where_users_type_and_at_one_door_for_what_files_name(path: Path) -> None:
    source, module = path.read_text(encoding="utf-8"), name_of(path).removeprefix("ckpttool").lstrip(".")
    if not any(module == one or (one and module.startswith(f"{one}.")) for one in (*TYPED_TO, "storage.store")):
        assert "open_store" not in source
    if module not in ("storage.store", "storage.remote"):
        assert "open_remote" not in source
    if not module.startswith("storage."):
        assert "LocalStore(" not in source
        assert "import fsspec" not in source


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_who_carries_plans_out_can_write_to_a_store(path: Path) -> None:
    if not name_of(path).startswith("ckpttool.apply."):
        assert not any(imported.startswith("ckpttool.apply.stores") for imported in imported_by(path))
        assert "WritableStore" not in path.read_text(encoding="utf-8")


def test_no_public_class_name_means_two_things() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name_of(path))
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


# The root of our errors knows the rule; the command line, what ends it without an answer.
KNOW_EXIT_CODES = {"ckpttool.errors", "ckpttool.cli"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_exit_codes_follow_one_rule(path: Path) -> None:
    """Whoever answers says what was met (`errors.exit_code`), not which number that is."""
    if name_of(path) in KNOW_EXIT_CODES:
        return
    rules = (one for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.FunctionDef))
    ends = [end for one in rules if "exit_code" in one.name for end in ast.walk(one) if isinstance(end, ast.Return)]
    assert not [ast.unparse(end) for end in ends if isinstance(end.value, ast.Constant) and end.value.value is not None]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_fit_a_screen_and_files_a_few(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_changed_in_a_release_has_a_name(path: Path) -> None:
    """`since.SIDECARS`, not three numbers: a release stands in one place, with what it brought."""
    if name_of(path).startswith("ckpttool.releases"):
        return
    lines = {*NEWEST_PATCHES, *(last[:2] for _, last in WRITERS)}
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    triples = [node.elts for node in nodes if isinstance(node, ast.Tuple) and len(node.elts) == 3]
    numbers = [[one.value for one in triple if isinstance(one, ast.Constant)] for triple in triples]
    assert not [found for found in numbers if len(found) == 3 and tuple(found[:2]) in lines]


PARTS_OF_PATHS = ("offsets/", "commits/", "sources/", "state/", "_metadata/", "_stateSchema")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_where_things_are_is_asked_of_one_module(path: Path) -> None:
    """`layout.offsets(batch)` names a file. Messages, which have blanks, may speak of it in their own way."""
    spelled = [one for one in _texts(path) if one.startswith(PARTS_OF_PATHS) or "/_metadata" in one]
    assert name_of(path) == "ckpttool.formats.layout" or not [one for one in spelled if " " not in one]


def _texts(path: Path) -> Iterator[str]:
    """All literals, with `{}` for what is put into them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    put_together = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in put_together for part in node.values}
    for one in put_together:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in one.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=str)
def test_nothing_asserts_how_long_it_took(path: Path) -> None:
    """A machine that does something else beside it makes such a test fail. A deadline for what is awaited is none."""
    asserted = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]
    assert not [ast.unparse(node.test) for node in asserted if TOOK.search(ast.unparse(node.test))]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_pyspark_stays_in_its_rooms(path: Path) -> None:
    """What runs in the user's Spark: the program that serves requests, and the jobs that ship with the harness."""
    if not name_of(path).startswith(("ckpttool.spark.", "ckpttool.harness.scenarios.")):
        assert not any(imported.startswith("pyspark") for imported, _ in imports_of(path))


HEAVY = ("pyspark", "numpy", "pyarrow", "fsspec", "s3fs", "adlfs", "gcsfs", "aiohttp", "asyncio", "importlib.metadata",
         "deltalake", "confluent_kafka", "pandas", "botocore", "rocksdict", "tabulate", "tempfile")  # fmt: skip
OF_OTHER_COMMANDS = {
    "help": ("dataclasses", "msgspec", "json", "ckpttool.model", "ckpttool.report", "ckpttool.formats"),
    "inspect-json": ("ckpttool.report.text", "ckpttool.state",
                     "ckpttool.reading.state_bodies"),
    "inspect-text": ("ckpttool.report.json", "ckpttool.state",
                     "ckpttool.reading.state_bodies"),
    "count": ("ckpttool.laws", "ckpttool.connectors", "ckpttool.scene.evidence", "ckpttool.state.stores",
              "ckpttool.reading.state_bodies", "ckpttool.formats.state.layouts", "ckpttool.reading.ledger", "csv"),
}  # fmt: skip
TO_DRAW_TABLES = {"inspect-text": {"tabulate", "importlib.metadata", "tempfile"}}  # it asks for its own version

STATEFUL = "sample_checkpoints/4.2.0-windowed-agg-rocksdb-sound/checkpoint"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("help", ["--help"]),
        ("inspect-json", ["inspect", STATEFUL, "--format", "json"]),
        ("inspect-text", ["inspect", STATEFUL]),
        ("count", ["state", "count", "sample_checkpoints/4.2.0-dedup-rocksdb-sound/checkpoint"]),
    ],
    ids=["help", "inspect-json", "inspect-text", "count"],
)
def test_ordinary_commands_import_little(command: str, arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from ckpttool.cli import main\n"
        f"try: main({arguments!r})\n"
        "finally: print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.split())
    assert not (loaded & {*HEAVY, *OF_OTHER_COMMANDS[command]}) - TO_DRAW_TABLES.get(command, set())


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
LAW_MODULES = [path for path in MODULES if name_of(path).startswith("ckpttool.laws.")]


@pytest.mark.parametrize("path", LAW_MODULES, ids=name_of)
def test_no_text_of_a_law_is_a_chain(path: Path) -> None:
    """One thing after the other, in sentences: who reads it has been woken up."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, DOCUMENTED)}
    chains = [text for text in _texts(path) if "; " in text and text not in documents]
    assert not chains


@pytest.mark.parametrize("law", every(), ids=lambda law: law.id)
def test_what_a_law_says_is_one_line(law: Law) -> None:
    """It stands in a verdict's headline, and in a list: a clause without an end."""
    assert len(law.says) <= 110
    assert not law.says.endswith(".")
    assert "; " not in law.title
