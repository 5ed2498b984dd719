"""The documents and the code, held against each other: neither may know something that the other does not."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner

import ckpttool
from ckpttool.api import inspect_checkpoint
from ckpttool.cli import EXIT_STATUS, cli
from ckpttool.connectors import ALL, recognise_offset
from ckpttool.errors import CkptError
from ckpttool.laws.book import every as laws
from ckpttool.laws.query import _MODES
from tests.samples.place import about, sample_names

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ckpttool"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FORMAT, FINDINGS, CLI, API = (
    ROOT / "docs" / name for name in ("checkpoint-format.md", "findings.md", "cli.md", "python-api.md")
)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=relative)


# -- commands ----------------------------------------------------------------------------------------------------------


def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group, info_name="ckpt")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = list(commands())


def spelled(command: tuple[str, ...]) -> str:
    return " ".join(("ckpt", *command))


def test_generated_blocks_are_current() -> None:
    assert generate().main(["--check"]) == 0, "run `make docs`"


def test_check_notices_a_stale_block() -> None:
    page = read(CLI)
    assert generate().refreshed(page.replace("--timeline ", "--time-line ")) == page
    assert "--time-line" not in page


def test_generator_notices_a_command_without_block() -> None:
    with pytest.raises(SystemExit, match="no block for: ckpt log"):
        generate().refreshed(read(CLI).replace("help: ckpt log -->", "help: ckpt lag -->"))


@pytest.mark.parametrize("command", COMMANDS, ids=spelled)
def test_every_command_has_a_section(command: tuple[str, ...]) -> None:
    assert f"\n## {spelled(command)}\n" in read(CLI)


@pytest.mark.parametrize("command", COMMANDS, ids=spelled)
def test_every_help_has_two_examples(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*command, "--help"])
    assert result.exit_code == 0
    _, found, examples = result.output.partition("Examples:")
    assert found
    assert len(re.findall(rf"^\s+{re.escape(spelled(command))} \S", examples, re.MULTILINE)) >= 2


@pytest.mark.parametrize("command", COMMANDS, ids=spelled)
def test_every_command_is_listed_with_its_own_words(command: tuple[str, ...]) -> None:
    """The list of commands repeats the first line of each help, so that listing them imports none."""
    from ckpttool.cli import COMMANDS as LISTED

    if len(command) == 1:
        own = CliRunner().invoke(cli, [*command, "--help"]).output
        assert LISTED[command[0]][1].rstrip(".") in " ".join(own.split())


# -- exit codes --------------------------------------------------------------------------------------------------------


def documented_exit_codes() -> set[int]:
    section = read(CLI).partition("### Exit status")[2].partition("\n### ")[0]
    return {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}


def exit_codes_of_errors() -> set[int]:
    def below(error: type[CkptError]) -> Iterator[type[CkptError]]:
        yield error
        for child in error.__subclasses__():
            yield from below(child)

    return {error.exit_code for error in below(CkptError)}


def exit_codes_in_code() -> set[int]:
    """What `sys.exit` and functions about exit codes can give, as literals."""
    found: set[int] = set()
    for path in (PACKAGE / "cli" / "__init__.py", PACKAGE / "errors.py"):
        for node in ast.walk(ast.parse(read(path))):
            is_rule = isinstance(node, ast.FunctionDef) and "exit_code" in node.name
            is_exit = isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit"
            if is_rule or is_exit:
                constants = (leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant))
                found |= {value for value in constants if type(value) is int}  # False is no code, though it equals one
    return found


def test_exit_codes_are_documented_alike_everywhere() -> None:
    in_help = {int(code) for code in re.findall(r"^\s+(\d+)\s+\S", EXIT_STATUS, re.MULTILINE)}
    assert {0, 2, 3, 70, 130} <= exit_codes_in_code()
    assert documented_exit_codes() == in_help
    assert exit_codes_of_errors() | exit_codes_in_code() | {2} <= in_help


def test_python_page_lists_the_errors() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", read(API), re.MULTILINE))
    assert rows
    for name, code in rows.items():
        assert getattr(importlib.import_module("ckpttool.errors"), name).exit_code == int(code)


# -- findings ----------------------------------------------------------------------------------------------------------

# What stands in the holes of ids that are put together, by the hole's source text. A new one belongs here.
HOLES: Mapping[str, tuple[str, ...]] = {"directory[:-1]": ("offset", "commit"), "scene.evidence.mode": tuple(_MODES)}


# What is made with the id of a finding: the argument's name and place; and how such an id is handed on.
HOLDERS = {
    "Finding": ("id", 0),
    "Obstacle": ("told_as", 0),
    "said": ("law", 3),
    "raises": ("told_as", 2),
    "doubts": ("told_as", 1),
    "tells": ("told_as", 0),
}
HELD = ("law", "told_as", "law.id", "stop.told_as")
Functions = Mapping[str, ast.FunctionDef]


class Ids:
    """The ids of findings that one module can emit, by its syntax tree alone.

    Followed are literals, both branches of a conditional, f-strings with known holes, names, through assignments to
    them and through the calls of functions that have a parameter of that name, and what a function returns
    (`elsewhere`: those of other modules). What holds the id of a finding for later is followed like one.
    Anything else is an error here, so that no id goes by unseen."""

    def __init__(self, tree: ast.Module, elsewhere: Functions | None = None) -> None:
        self.nodes = list(ast.walk(tree))
        self.functions = {**(elsewhere or {}), **functions_in(tree)}
        self.seen: set[str] = set()

    def all(self) -> set[str]:
        found = set()
        for node in self.nodes:
            called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if called not in HOLDERS:
                continue
            assert isinstance(node, ast.Call)
            key, place = HOLDERS[called]
            given = [one.value for one in node.keywords if one.arg == key] or node.args[place : place + 1]
            assert given or called == "said", f"a {called} without id: {ast.unparse(node)}"
            found |= set().union(*(self.values(one) for one in given if ast.unparse(one) not in HELD))
        return found

    def values(self, node: ast.expr) -> set[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return {node.value}
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding":
            return set()  # another variable of that name, and no id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions:
            inside = ast.walk(self.functions[node.func.id])
            return set().union(
                *(self.values(leaf.value) for leaf in inside if isinstance(leaf, ast.Return) and leaf.value)
            )
        if isinstance(node, ast.IfExp):
            return self.values(node.body) | self.values(node.orelse)
        if isinstance(node, ast.JoinedStr):
            return {"".join(parts) for parts in itertools.product(*map(self.part, node.values))}
        if isinstance(node, ast.Name):
            return self.values_of_name(node.id)
        raise AssertionError(f"an id that this test cannot follow: {ast.unparse(node)}")

    def part(self, node: ast.expr) -> tuple[str, ...]:
        if isinstance(node, ast.FormattedValue):
            hole = ast.unparse(node.value)
            assert hole in HOLES, f"an id with an unknown hole, {{{hole}}}: add it to HOLES"
            return HOLES[hole]
        assert isinstance(node, ast.Constant)
        return (str(node.value),)

    def values_of_name(self, name: str) -> set[str]:
        if name in self.seen:
            return set()
        self.seen.add(name)
        found = [*self.assigned(name), *self.passed(name)]
        assert found, f"nothing gives {name} a value"
        values = set().union(*map(self.values, found))
        self.seen.discard(name)
        return values

    def assigned(self, name: str) -> Iterator[ast.expr]:
        for node in self.nodes:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                assert isinstance(node, ast.Assign)
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for one, value in zip(target.elts, node.value.elts, strict=True):
                        if isinstance(one, ast.Name) and one.id == name:
                            yield value

    def passed(self, name: str) -> Iterator[ast.expr]:
        """What calls hand over for a parameter of that name."""
        functions = {node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef)}
        for node in self.nodes:
            called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if called not in functions:
                continue
            assert isinstance(node, ast.Call)
            parameters = [argument.arg for argument in functions[called].args.args]
            by_name = [keyword.value for keyword in node.keywords if keyword.arg == name]
            if name in parameters:
                bound = isinstance(node.func, ast.Attribute) and parameters[0] == "self"
                place = parameters.index(name) - bound
                yield from by_name or node.args[place : place + 1]
            elif name in [argument.arg for argument in functions[called].args.kwonlyargs]:
                yield from by_name


def functions_in(tree: ast.Module) -> Functions:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def ids_in(source: str) -> set[str]:
    return Ids(ast.parse(source)).all()


@cache
def emitted_ids() -> frozenset[str]:
    trees = [ast.parse(read(path)) for path in sorted(PACKAGE.rglob("*.py"))]
    every = {name: node for tree in trees for name, node in functions_in(tree).items()}
    return frozenset(law.id for law in laws() if law.next_step).union(*(Ids(tree, every).all() for tree in trees))


def entries() -> dict[str, str]:
    """Each finding's entry in the document by its id, in the document's order."""
    pieces = re.split(r"^### `([^`]+)`$", read(FINDINGS), flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def index() -> dict[str, str]:
    """Each finding's severities in the index table."""
    rows = re.findall(r"^\| \[`([^`]+)`\]\(#([^)]+)\) \| ([a-z, ]+) \| \S.* \|$", read(FINDINGS), re.MULTILINE)
    assert all(name.lower() == anchor for name, anchor, _ in rows)
    return {name: severities for name, _, severities in rows}


def test_every_finding_is_documented_and_every_entry_is_a_finding() -> None:
    emitted, documented = emitted_ids(), set(entries())
    assert not emitted - documented, "findings without an entry in docs/findings.md"
    assert not documented - emitted, "entries for findings that nothing emits"


def test_findings_are_in_order_and_indexed() -> None:
    names = list(entries())
    assert names == sorted(set(names))
    assert list(index()) == names


@pytest.mark.parametrize("name", entries())
def test_entry_is_complete(name: str) -> None:
    entry = entries()[name]
    for part in ("Severity", "Meaning", "Detected", "Spark", "Do"):
        assert re.search(rf"^\*\*{part}\*\*: \S", entry, re.MULTILINE), part
    named = re.findall(r"\b(error|warning|info)\b", entry.partition("**Severity**:")[2].partition("\n\n")[0])
    assert set(index()[name].split(", ")) <= set(named)


@pytest.mark.parametrize("name", sample_names())
def test_findings_of_samples_are_documented_with_their_severity(name: str) -> None:
    checkpoint = ckpttool.open_checkpoint(f"sample_checkpoints/{name}/{about(name)['checkpoint']}")
    known = emitted_ids()
    for finding in inspect_checkpoint(checkpoint).findings:
        assert finding.id in known, "the scan of the source text missed this id"
        assert finding.severity in index()[finding.id].split(", ")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('Finding(id="a", severity="error")', {"a"}),
        ('Finding("a", "error")', {"a"}),
        ('model.Finding(id="a" if x else "b")', {"a", "b"}),
        ('Finding(id=f"{directory[:-1]}-hole")', {"offset-hole", "commit-hole"}),
        ('name = "a"\nname, other = "b", "c"\nFinding(id=name)', {"a", "b"}),
        ('def tell(self, path, name):\n    Finding(id=name)\nself.tell(p, "a")\nself.tell(p, name="b")', {"a", "b"}),
        ('def tell(*, name):\n    Finding(id=name)\ntell(name="a")', {"a"}),
        (
            'def one(name):\n    two(name)\ndef two(name):\n    Finding(id=name)\none("a")\ntwo("b")',
            {"a", "b"},
        ),
        ('def made():\n    if x:\n        return "a"\n    return "b"\nFinding(made())', {"a", "b"}),
        ('said(view, "unknown", why, "a")\nsaid(view, "written", why)', {"a"}),
        ('said(view, "unknown", why, law="a" if x else "b")', {"a", "b"}),
        ('print(id="a")', set()),
    ],
)
def test_scan_follows_ids(source: str, expected: set[str]) -> None:
    assert ids_in(source) == expected


@pytest.mark.parametrize(
    "source", ["Finding(id=make())", "Finding(severity='error')", 'Finding(id=f"{new}-x")', "Finding(id=nowhere)"]
)
def test_scan_refuses_what_it_cannot_follow(source: str) -> None:
    with pytest.raises(AssertionError):
        ids_in(source)


# -- connectors --------------------------------------------------------------------------------------------------------


def source_rows() -> dict[str, list[str]]:
    """Each kind's row in the table of offsets: example, meaning, end, step."""
    section = read(FORMAT).partition("\n## Offsets of each source\n")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in rows}


def test_every_kind_of_source_has_a_row() -> None:
    assert set(source_rows()) == {connector.KIND for connector in ALL}


@pytest.mark.parametrize("connector", ALL, ids=lambda connector: connector.KIND)
def test_source_row_is_true(connector: Any) -> None:
    example, _, _, steps = source_rows()[connector.KIND]
    assert example.strip("`") in connector.EXAMPLES
    offset = recognise_offset(example.strip("`"), connector.KIND)
    assert offset.kind == connector.KIND
    step = offset.step_from(offset)
    assert step.unit in steps
    marks = {"=": step.exact, "≤": not step.exact, "?": step.amount is None or step.exact}
    assert any(marks[mark] for mark in re.findall("[=≤?]", steps))


def test_changelog_counts_the_sources() -> None:
    words = {20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three", 24: "twenty-four"}
    assert f"offsets of {words[len(ALL)]} kinds of source" in " ".join(read(ROOT / "CHANGELOG.md").split())


def test_pinned_configuration_is_complete() -> None:
    from ckpttool.releases import since

    section = read(FORMAT).partition("### Pinned configuration")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([\d., ]+) \|", section, re.MULTILINE)
    keys = [key.replace("…", "spark.sql.streaming.") for key, _ in rows]
    assert keys == list(since.PINNED)
    for (_, told), (key, release) in zip(rows, since.PINNED.items(), strict=True):
        if "pruneFilters" not in key:  # 3.5.4 wrote it under a wrong name
            assert told.startswith(f"{release[0]}.{release[1]}"), key


# -- JSON --------------------------------------------------------------------------------------------------------------

SAMPLE = "sample_checkpoints/4.2.0-windowed-agg-rocksdb-sound/checkpoint"
# Objects whose keys are data: of configuration, operators, paths, and of Spark's and the sources' own JSON.
FREE = {
    "conf",
    "unusual_confs",
    "state_unique_ids",
    "raw",
    "offset",
    "initial_offset",
    "start",
    "end",
    "key",
    "value",
    "starting_offsets",
}
JSON_RUNS = (
    ("inspect", SAMPLE, "--batch", "4"),
    ("inspect", "sample_checkpoints/4.2.0-file-compacted-sound/checkpoint"),
    ("inspect", "sample_checkpoints/3.5.7-file-to-parquet-previous-offset-missing/checkpoint"),
    ("inspect", "sample_checkpoints/2.4.8-dstreams-sound/checkpoint"),
    ("inspect", "sample_checkpoints"),
    ("plan-recovery", "sample_checkpoints/3.5.7-file-to-parquet-previous-offset-missing/checkpoint"),
    ("plan-recovery", "sample_checkpoints"),
    ("doctor", "sample_checkpoints/3.5.7-file-to-parquet-previous-offset-missing/checkpoint"),
    ("doctor", SAMPLE),
    ("doctor", "--list-checks"),
    ("doctor", "--explain", "offset-aged-out"),
    ("doctor", "sample_checkpoints"),
    ("plan", "rewind", "sample_checkpoints/4.2.0-file-to-parquet-sound/checkpoint", "--to-batch", "1"),
    ("kafka", "diff", "sample_checkpoints/3.5.7-kafka-to-kafka-sound/checkpoint", "--bootstrap-server", "127.0.0.1:1"),
    ("kafka", "starting-offsets", "sample_checkpoints/3.5.7-kafka-to-kafka-sound/checkpoint"),
    ("log", SAMPLE),
    ("scan", "sample_checkpoints"),
    ("diff", f"{SAMPLE}:1", SAMPLE),
    ("state", "list", SAMPLE),
    ("state", "list", "sample_checkpoints"),
    ("state", "count", SAMPLE),
    ("state", "rows", SAMPLE),
    ("state", "diff", SAMPLE, "--batch", "0", "--batch", "4"),
    ("state", "verify", SAMPLE),
    ("state", "verify", "sample_checkpoints/4.2.0-windowed-agg-hdfs-state-directory-missing/checkpoint"),
    ("state", "size", SAMPLE),
)


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE:
                yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


@pytest.mark.parametrize("arguments", JSON_RUNS, ids=" ".join)
def test_every_json_field_is_documented(arguments: tuple[str, ...]) -> None:
    fields = json.loads(CliRunner().invoke(cli, [*arguments, "--format", "json"]).stdout)
    page = read(CLI)
    if "error" not in fields:
        assert f"\n## {fields['schema']}\n" in page
    undocumented = {key for key in keys_of(fields) if f"`{key}`" not in page}
    assert not undocumented


# -- examples, links, names --------------------------------------------------------------------------------------------


def run_examples(text: str, name: str) -> doctest.TestResults:
    without_fences = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(without_fences, {}, name, name, 0)
    return doctest.DocTestRunner().run(test)


@pytest.mark.parametrize("page", [page for page in PAGES if ">>>" in read(page)], ids=relative)
def test_examples_run(page: Path) -> None:
    results = run_examples(read(page), page.name)
    assert results.attempted > 0
    assert results.failed == 0


def test_examples_of_the_package_run() -> None:
    results = run_examples(ckpttool.__doc__ or "", "ckpttool")
    assert results.attempted > 0
    assert results.failed == 0


def test_python_page_has_examples() -> None:
    assert read(API).count(">>>") > 20
    for name in set(ckpttool.__all__) - {"__version__"}:
        assert name in read(API)


def outside_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", outside_code(page), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@every_page
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_code(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@every_page
def test_paths_exist(page: Path) -> None:
    """Every path of the repository that a page names."""
    named = re.findall(r"\b((?:ckpttool|sample_checkpoints|tests|docs|benchmarks)/[\w./-]*)", read(page))
    for path in named:
        assert (ROOT / path.rstrip(".")).exists(), path


def test_make_targets_exist() -> None:
    named = set(re.findall(r"`make ([a-z-]+)", "".join(map(read, PAGES))))
    defined = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    assert named
    assert named <= defined
