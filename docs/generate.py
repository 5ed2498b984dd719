"""Writes the generated blocks of the documents: every command's `--help` in docs/cli.md, screens in README.md, the
layers in docs/architecture.md, the index of docs/findings.md, the entries of docs/causes.md.

`python docs/generate.py` writes, `python docs/generate.py --check` fails if a block is stale. A block stands between
`<!-- help: ckpt inspect -->` and `<!-- /help -->`, or `<!-- screen: ckpt inspect … -->` and `<!-- /screen -->`;
everything outside belongs to whoever writes the prose. A command without a block, and a block without a command, are
errors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # run as a script, this file sees docs/ only

from ckpttool.causes.base import KnownCause  # noqa: E402
from ckpttool.causes.book import CAUSES  # noqa: E402
from ckpttool.cli import cli  # noqa: E402
from ckpttool.formats.limits import TABLE  # noqa: E402
from ckpttool.laws.book import OF_THE_PREDICTION, every  # noqa: E402
from ckpttool.laws.changes.base import ChangeLaw  # noqa: E402
from ckpttool.laws.changes.judge import LAWS as CHANGES  # noqa: E402
from ckpttool.laws.changes.ways import WAYS_OUT  # noqa: E402
from ckpttool.releases import FOREVER, OLDEST, spell_release  # noqa: E402
from ckpttool.releases.bugs import BUGS, CONNECTOR_BUGS, Bug  # noqa: E402
from tests.layers import LAYERS  # noqa: E402
from tests.samples.place import place_sample  # noqa: E402

CLI_PAGE = ROOT / "docs" / "cli.md"
SAMPLES = "sample_checkpoints"
LOGS = ROOT / "tests" / "driver_logs"
WIDTH = 100
SCREEN = re.compile(r"(<!-- screen: (?P<command>[^>]+?) -->\n).*?(<!-- /screen -->)", re.DOTALL)
BLOCK = re.compile(r"(<!-- help: (?P<command>[^>]+?) -->\n).*?(<!-- /help -->)", re.DOTALL)


def command_helps() -> dict[str, str]:
    """Every command's help by its full name, `ckpt` itself first."""
    return dict(_helps(cli, None, "ckpt", "ckpt"))


def _helps(command: click.Command, parent: click.Context | None, name: str, path: str) -> Iterator[tuple[str, str]]:
    context = command.make_context(name, [], parent, resilient_parsing=True, terminal_width=WIDTH, color=False)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            child = command.get_command(context, child_name)
            if child is not None and not child.hidden:
                yield from _helps(child, context, child_name, f"{path} {child_name}")


def refreshed(page: str) -> str:
    """The page with every block as the commands have it now."""
    helps = command_helps()
    present = [match["command"] for match in BLOCK.finditer(page)]
    if missing := [command for command in helps if command not in present]:
        raise SystemExit(f"{CLI_PAGE.name} has no block for: {', '.join(missing)}")
    if strange := [command for command in present if command not in helps]:
        raise SystemExit(f"{CLI_PAGE.name} has a block for what is no command: {', '.join(strange)}")
    if len(present) != len(set(present)):
        raise SystemExit(f"{CLI_PAGE.name} has two blocks for one command")
    return BLOCK.sub(lambda match: f"{match[1]}```text\n{_trimmed(helps[match['command']])}\n```\n{match[3]}", page)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def with_screens(page: str) -> str:
    """The page with every screen as the command shows it, on the sample as it was made."""
    return SCREEN.sub(lambda match: f"{match[1]}```text\n{_screen(match['command'])}\n```\n{match[3]}", page)


def with_growing_screens(page: str) -> str:
    """The same, where each law, or an hour that passes, would change a number."""
    counted = "checks|passed|found|do not apply|not looked at|could not|hours ago"
    return re.sub(rf"\b[0-9]+(?= ({counted})\b)", "N", with_screens(page))


def _screen(command: str) -> str:
    """Run where the sample's path is the repository's and its times are those of its making."""
    arguments = command.split()[1:]
    samples = {Path(argument).parts[1] for argument in arguments if argument.startswith(SAMPLES)}
    with tempfile.TemporaryDirectory() as place:
        for sample in samples:
            place_sample(sample, Path(place) / SAMPLES / sample)
        shutil.copytree(LOGS, Path(place) / LOGS.name)
        program = [sys.executable, "-c", "from ckpttool.cli import main; main()", *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        ran = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False, env=environment)
    return _trimmed(f"$ {command}\n{ran.stdout}")


def with_laws(page: str) -> str:
    """The page of findings with its index, of the laws that tell something."""
    told = [
        law
        for law in every()
        if law.look or law.judge or law.next_step or law.needs != "logs" or law in OF_THE_PREDICTION
    ]
    laws = [law for law in told if law.severities]
    rows = [
        f"| [`{law.id}`](#{law.id.lower()}) | {', '.join(law.severities)} | {law.symptom or law.title} |"
        for law in laws
    ]
    lines = ["| id | severity | in one line |", "| --- | --- | --- |", *rows]
    return re.sub(r"(<!-- laws -->\n).*?(<!-- /laws -->)", rf"\1{chr(10).join(lines)}\n\2", page, flags=re.DOTALL)


def with_limits(page: str) -> str:
    """The page of commands with the table of `--read-limit`."""
    rows = [f"| `{kind}` | {limit.most:,} | {limit.of} |" for kind, limit in TABLE.items()]
    lines = ["| kind | limit | of what |", "| --- | --: | --- |", *rows]
    return re.sub(r"(<!-- limits -->\n).*?(<!-- /limits -->)", rf"\1{chr(10).join(lines)}\n\2", page, flags=re.DOTALL)


def with_bugs(page: str) -> str:
    """The page of findings with the bugs that are known to cause some, and those of connectors."""
    rows = [(bug.issue, bug.what, _spelled(bug), f"[`{bug.causes[0]}`](#{bug.causes[0]})", bug.by) for bug in BUGS]
    others = [
        (bug.issue, bug.what, f"mended: {bug.mended}", "[`known-bug`](#known-bug)", f"option `{bug.option}`")
        for bug in CONNECTOR_BUGS
    ]
    head = ["| issue | what goes wrong | releases | finding | goes by |", "| --- | --- | --- | --- | --- |"]
    lines = [*head, *(f"| {' | '.join(row)} |" for row in (*rows, *others))]
    return re.sub(r"(<!-- bugs -->\n).*?(<!-- /bugs -->)", rf"\1{chr(10).join(lines)}\n\2", page, flags=re.DOTALL)


def _spelled(bug: Bug) -> str:
    if bug.mended:
        return f"up to before {bug.mended}"
    return ", ".join(
        f"{spell_release(first)} {'and later' if mended == FOREVER else f'up to before {spell_release(mended)}'}"
        for first, mended in bug.releases
    )


def with_layers(page: str) -> str:
    """The page with the table of who may import whom."""
    rows = [(_named(layer.modules), layer.touches, "pure" if layer.pure else "") for layer in LAYERS]
    lines = ["| modules | what they may touch | |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return re.sub(r"(<!-- layers -->\n).*?(<!-- /layers -->)", rf"\1{chr(10).join(lines)}\n\2", page, flags=re.DOTALL)


def _named(modules: tuple[str, ...]) -> str:
    return ", ".join(f"`{module or 'ckpttool'}`" for module in modules)


def with_changes(page: str) -> str:
    """The page of changes: of each what Spark does, what becomes of the rows, what can be done, and what shows it."""
    parts = [line for law in CHANGES for line in _change(law)]
    page = re.sub(r"(<!-- changes -->\n).*?(<!-- /changes -->)", rf"\1{chr(10).join(parts)}\n\2", page, flags=re.DOTALL)
    ways = ["| way out | what that is |", "| --- | --- |", *(f"| `{id_}` | {text} |" for id_, text in WAYS_OUT.items())]
    return re.sub(r"(<!-- ways -->\n).*?(<!-- /ways -->)", rf"\1{chr(10).join(ways)}\n\2", page, flags=re.DOTALL)


def _change(law: ChangeLaw) -> Iterator[str]:
    since = "" if law.since <= OLDEST else f" Since {spell_release(law.since)}."
    yield from ("", f"### {law.id}", "", f"{law.title[0].upper()}{law.title[1:]}.{since}", "")
    yield f"- Spark: {law.spark}"
    yield f"- Rows: {law.rows}."
    if law.ways_out:
        yield f"- Ways out: {', '.join(f'`{way}`' for way in law.ways_out)}."
    yield f"- Known by {law.evidence}."


def with_causes(page: str) -> str:
    """The page of causes: how each comes about, what shows it, what to do first, and what it explains."""
    parts = [line for cause in CAUSES for line in _cause(cause)]
    return re.sub(r"(<!-- causes -->\n).*?(<!-- /causes -->)", rf"\1{chr(10).join(parts)}\n\2", page, flags=re.DOTALL)


def _cause(cause: KnownCause) -> Iterator[str]:
    yield from ("", f"## {cause.id}", "", f"{cause.title[0].upper()}{cause.title[1:]}.", "", cause.story, "")
    yield f"- Shown by: {cause.shown_by}."
    yield f"- First: {cause.advice}. Look at: `{cause.command.replace('{path}', 'PATH')}`"
    if cause.never:
        yield f"- Never: {', '.join(f'`{way}`' for way in cause.never)}."
    entries = (ROOT / "docs" / "findings.md").read_text("utf-8")
    links = (f"[`{id_}`](findings.md#{id_.lower()})" for id_ in cause.explains if f"\n### `{id_}`\n" in entries)
    yield f"- Explains: {', '.join(links)}."


PAGES: dict[Path, Callable[[str], str]] = {
    CLI_PAGE: lambda page: with_limits(refreshed(page)),
    ROOT / "README.md": with_screens,
    ROOT / "docs" / "doctor.md": with_growing_screens,
    ROOT / "docs" / "explain.md": with_screens,
    ROOT / "docs" / "architecture.md": with_layers,
    ROOT / "docs" / "changes.md": with_changes,
    ROOT / "docs" / "causes.md": with_causes,
    ROOT / "docs" / "findings.md": lambda page: with_bugs(with_laws(page)),
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"usage: {Path(__file__).name} [--check]", file=sys.stderr)
        return 2
    stale = {path: new for path, renew in PAGES.items() if (new := renew(old := path.read_text("utf-8"))) != old}
    for path, current in stale.items():
        if arguments:
            print(f"{path} is stale: run `make docs`", file=sys.stderr)
        else:
            path.write_text(current, encoding="utf-8")
            print(f"wrote {path}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
