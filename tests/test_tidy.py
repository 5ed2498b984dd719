"""The house rules, as a test over the source: who imports whom, who prints, who writes, how long things get."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ckpttool"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each layer may import from those before it, and from itself. The first prefix that fits a module decides.
LAYERS: list[tuple[str, ...]] = [
    ("errors", "frozen", "model", ""),
    ("formats", "connectors", "releases"),
    ("urls", "storage", "remote", "remote_errors", "buckets", "objects", "hdfs"),
    ("batches", "evidence", "restart", "rules", "checks", "protocol", "state_chain", "state_errors",
     "state_verdict", "state.tables", "state.decoding", "state.replay", "state.joined", "planner", "sinks.base",
     "sinks.compaction", "sinks.failures", "sinks.findings", "sinks.judge", "sinks.lineage", "sinks.skipped",
     "inputs.base", "inputs.judge", "inputs.delta_rules", "inputs.delta_schema", "inputs.delta_errors", "kafka"),
    ("io_plan", "recognise", "sinks", "ledger", "state_files", "state_bodies", "needed_state", "checkpoint",
     "inspection", "comparison", "outlook", "inputs", "recovery", "scan", "state", "report"),
    ("harness", "spark"),
    ("cli", "pytest_plugin"),
]  # fmt: skip
PURE = tuple(
    f"ckpttool.{name}"
    for name in [
        "model",
        "errors",
        "frozen",
        "formats",
        "connectors",
        "batches",
        "evidence",
        "restart",
        "planner",
        "rules",
        "releases",
        "checks",
        "protocol",
        "comparison",
        "state_chain",
        "state_errors",
        "state_verdict",
        "state.decoding",
        "state.joined",
        "state.replay",
        "state.tables",
        "sinks.base",
        "sinks.compaction",
        "sinks.failures",
        "sinks.findings",
        "sinks.judge",
        "sinks.lineage",
        "sinks.skipped",
        "inputs.base",
        "inputs.judge",
        "inputs.delta_rules",
        "inputs.delta_schema",
        "inputs.delta_errors",
        "kafka.base",
        "kafka.diff",
        "kafka.errors",
        "kafka.positions",
        "kafka.rules",
        "kafka.settings",
        "kafka.starting",
        "kafka.when",
        "harness.fold",
        "harness.history",
        "harness.judge",
        "harness.junit",
        "harness.reading",
        "harness.report",
        "harness.shrink",
    ]
)
TOUCHES_THE_WORLD = {"os", "io", "time", "random", "socket", "subprocess", "pathlib", "tempfile", "fsspec", "click"}
LONGEST_FUNCTION = 60
LONGEST_FILE = 450


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def layer_of(module: str) -> int:
    fitting = [
        (len(prefix), layer)
        for layer, prefixes in enumerate(LAYERS)
        for prefix in (f"ckpttool.{name}".rstrip(".") for name in prefixes)
        if module == prefix or module.startswith(prefix + ".")
    ]
    return max(fitting)[1]


def imports_of(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return  # the public names, loaded on first use
    module = name_of(path)
    for imported, _ in imports_of(path):
        if imported.startswith("ckpttool"):
            assert layer_of(imported) <= layer_of(module), f"{module} imports {imported}, which lies above it"


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path).startswith(PURE)], ids=name_of)
def test_pure_modules_do_not_touch_the_world(path: Path) -> None:
    touched = {imported.partition(".")[0] for imported, _ in imports_of(path)} & TOUCHES_THE_WORLD
    assert not touched


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
    temporary directory of its own; an export is written where nothing is, outside the checkpoint."""
    if name_of(path).startswith(("ckpttool.harness", "ckpttool.spark.")):
        return
    source = path.read_text(encoding="utf-8")
    if name_of(path) == "ckpttool.state.rocksdb":
        assert source.count('"wb"') == 1
        assert "tempfile.TemporaryDirectory" in source
        source = source.replace('"wb"', "")
    if name_of(path) == "ckpttool.state.export":
        assert "is inside the checkpoint" in source
        source = source.replace("unfinished.unlink()", "")
    for writing in ("O_WRONLY |", "O_CREAT", "O_RDWR", '"wb"', '"w"', '"xb"', "os.replace", "os.remove", "unlink(",
                    "rmtree", "pipe_file", "put_file", ".mkdir("):  # fmt: skip
        assert writing not in source


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_fit_a_screen_and_files_a_few(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_pyspark_stays_in_its_rooms(path: Path) -> None:
    """What runs in the user's Spark: the program that serves requests, and the jobs that ship with the harness."""
    if not name_of(path).startswith(("ckpttool.spark.", "ckpttool.harness.scenarios.")):
        assert not any(imported.startswith("pyspark") for imported, _ in imports_of(path))


HEAVY = ("pyspark", "numpy", "pyarrow", "fsspec", "s3fs", "adlfs", "gcsfs", "aiohttp", "asyncio", "importlib.metadata",
         "deltalake", "confluent_kafka", "pandas", "botocore", "rocksdict", "tabulate", "tempfile")  # fmt: skip
OF_OTHER_COMMANDS = {
    "help": ("dataclasses", "json", "ckpttool.model", "ckpttool.report", "ckpttool.formats"),
    "inspect-json": ("ckpttool.report.text", "ckpttool.planner", "ckpttool.outlook", "ckpttool.state",
                     "ckpttool.state_bodies"),
    "inspect-text": ("ckpttool.report.json", "ckpttool.planner", "ckpttool.outlook", "ckpttool.state",
                     "ckpttool.state_bodies"),
    "count": ("ckpttool.rules", "ckpttool.checks", "ckpttool.connectors", "ckpttool.evidence", "ckpttool.state.stores",
              "ckpttool.state_bodies", "ckpttool.formats.state.layouts", "ckpttool.ledger", "decimal", "csv"),
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
