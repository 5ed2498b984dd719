"""Every form, of every command: what can be shown, and what must be when nothing can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from ckpttool.cli import cli
from ckpttool.report.renderers import FOR_PEOPLE, OF_ALL, OF_SOME
from tests.conftest import run_ckpt

NOWHERE = "/nowhere/at/all"
STATEFUL = "4.2.0-windowed-agg-hdfs-sound"
# A refusal of each command, by its arguments.
REFUSED: dict[str, list[str]] = {
    "inspect": [NOWHERE],
    "plan-recovery": [NOWHERE],
    "doctor": [NOWHERE],
    "explain": [NOWHERE],
    "log": [NOWHERE],
    "scan": [NOWHERE],
    "diff": [NOWHERE, NOWHERE],
    "state list": [NOWHERE],
    "state count": [NOWHERE],
    "state rows": [NOWHERE],
    "state get": [NOWHERE, "1"],
    "state diff": [NOWHERE, "--batch", "0", "--batch", "1"],
    "state export": [NOWHERE, "/nowhere/else"],
    "state verify": [NOWHERE],
    "state size": [NOWHERE],
    "kafka diff": [NOWHERE, "--bootstrap-server", "localhost:1"],
    "kafka starting-offsets": [NOWHERE],
    "plan rewind": [NOWHERE, "--to-batch", "1"],
    "plan drop-batch": [NOWHERE],
    "plan skip-batch": [NOWHERE],
    "plan query-id": [NOWHERE, "--new"],
    "plan renumber": [NOWHERE, "--above-sink"],
    "plan sink-ledger": [NOWHERE, "--set", "1"],
    "plan watermark": [NOWHERE, "--set", "2026-11-18T14:00:00Z"],
    "plan restore-offsets": [NOWHERE, "1", "--progress", __file__],
    "plan rename-found": [NOWHERE],
    "plan gc": [NOWHERE],
    "plan offsets": [NOWHERE, "--set", "orders=1", "--bootstrap-server", "localhost:1"],
    "plan source": [NOWHERE, "add", "1"],
    "plan clone": [NOWHERE, "/nowhere/else", "--new-id"],
    "plan fork": [NOWHERE, "/nowhere/else"],
    "plan relocate": [NOWHERE, "/nowhere/else"],
    "apply": [NOWHERE],
    "undo": [NOWHERE],
    "unlock": [NOWHERE, "id"],
    "files": [NOWHERE, "orders.json"],
    "check-change": [NOWHERE, "--query", NOWHERE],
    "query describe": [NOWHERE],
    "rehearse": [NOWHERE, "--job", __file__],
    "crash-test run": ["--job", __file__, "--python", NOWHERE],
    "crash-test replay": [NOWHERE],
    "crash-test report": [NOWHERE],
}
# Only where a checkpoint of state is all that they need.
SHOWN = ("inspect", "plan-recovery", "doctor", "log", "scan", "state list", "state count", "state rows", "state verify",
         "state size")  # fmt: skip
SILENT = (*FOR_PEOPLE, "csv", "prometheus")  # which only standard error can say it for


def commands(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        elif command is not None:
            yield f"{path}{name}", command


def forms_of(command: click.Command) -> list[str]:
    (option,) = [one for one in command.params if one.name == "form"]
    assert isinstance(option.type, click.Choice)
    return list(option.type.choices)


FORMS = {name: forms_of(command) for name, command in commands()}


def named(words: Sequence[str]) -> str:
    """Of a command line, the command."""
    return next(name for count in (1, 2) if (name := " ".join(words[:count])) in FORMS)


def test_every_command_offers_every_form_of_all() -> None:
    assert {name for name, forms in FORMS.items() if not OF_ALL.keys() <= set(forms)} == set()
    assert {form for forms in FORMS.values() for form in forms} <= {*OF_ALL, *OF_SOME}


def test_a_refusal_of_every_command_is_tried() -> None:
    assert FORMS.keys() - REFUSED.keys() == {"crash-test list"}, "which has nothing to look for"


@pytest.mark.parametrize(("name", "form"), [(name, form) for name in REFUSED for form in FORMS[name]])
def test_a_refusal_is_shown_in_every_form(name: str, form: str) -> None:
    outcome = run_ckpt(*name.split(), *REFUSED[name], "--format", form)
    assert outcome.code in (1, 4, 5, 6)
    said = outcome.err.splitlines()[0].removeprefix("ckpt: ")
    assert (said in " ".join(outcome.out.split())) is (form not in SILENT)
    if form == "jsonl":
        assert outcome.out.count("\n") == 1


@pytest.mark.parametrize(("name", "form"), [(name, form) for name in SHOWN for form in FORMS[name]])
def test_what_is_found_is_shown_in_every_form(name: str, form: str, sample: Callable[[str], Path]) -> None:
    place = str(sample(STATEFUL) / "checkpoint")
    outcome = run_ckpt(*name.split(), place, "--format", form)
    assert outcome.code == run_ckpt(*name.split(), place).code
    assert outcome.out
