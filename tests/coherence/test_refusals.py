"""Every command prints a document in every format that it offers, also when it cannot look at what it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import Outcome, run_ckpt

# What stands after each command so that it is refused for its place alone.
PLACES = {
    "inspect": "PLACE",
    "plan-recovery": "PLACE",
    "doctor": "PLACE",
    "explain": "PROGRESS --checkpoint PLACE",
    "plan rewind": "PLACE --to-batch 1",
    "plan drop-batch": "PLACE",
    "plan skip-batch": "PLACE",
    "plan query-id": "PLACE --new",
    "plan renumber": "PLACE --above-sink",
    "plan sink-ledger": "PLACE --set 1",
    "plan watermark": "PLACE --set 2026-11-18T14:00:00Z",
    "plan restore-offsets": "PLACE 1 --progress PROGRESS",
    "plan rename-found": "PLACE",
    "plan gc": "PLACE",
    "plan offsets": "PLACE --set orders=1 --bootstrap-server localhost:1",
    "plan source": "PLACE add 1",
    "plan clone": "PLACE DIRECTORY --new-id",
    "plan fork": "PLACE DIRECTORY",
    "plan relocate": "PLACE DIRECTORY",
    "apply": "PLACE",
    "undo": "PLACE",
    "unlock": "PLACE LOCK",
    "files": "PLACE orders.json",
    "check-change": "PLACE --query PLACE",
    "query describe": "PLACE",
    "rehearse": "PLACE --job PROGRESS",
    "log": "PLACE",
    "scan": "PLACE",
    "diff": "PLACE PLACE",
    "state list": "PLACE",
    "state count": "PLACE",
    "state rows": "PLACE",
    "state get": "PLACE {}",
    "state diff": "PLACE --batch 0 --batch 1",
    "state export": "PLACE DIRECTORY",
    "state verify": "PLACE",
    "state size": "PLACE",
    "kafka diff": "PLACE --bootstrap-server localhost:1",
    "kafka starting-offsets": "PLACE",
    "crash-test run": "file-to-append --python PLACE",
    "crash-test replay": "PLACE",
    "crash-test report": "PLACE",
}
NEVER_REFUSED = {"crash-test list"}


def commands(*names: str) -> Iterator[tuple[str, list[str]]]:
    """Each command by its own help, with the formats that it offers."""
    told = run_ckpt(*names, "--help").out
    if below := re.search(r"^Commands:\n((?: .*\n)+)", told, re.MULTILINE):
        for name in re.findall(r"^  (\S+)", below[1], re.MULTILINE):
            yield from commands(*names, name)
    elif formats := re.search(r"--format \[([a-z|]+)\]", told):
        yield " ".join(names), formats[1].split("|")


CASES = [(command, form) for command, formats in commands() if command not in NEVER_REFUSED for form in formats]


def refused(command: str, form: str, place: Path) -> Outcome:
    words = {"PLACE": str(place), "DIRECTORY": str(place.parent / "exported"), "PROGRESS": __file__}
    given = [words.get(word, word) for word in PLACES[command].split()]
    return run_ckpt(*command.split(), *given, "--format", form)


@pytest.mark.parametrize(("command", "form"), CASES)
def test_a_refusal_is_a_document_too(command: str, form: str, tmp_path: Path) -> None:
    outcome = refused(command, form, tmp_path / "nope")
    assert outcome.code not in (0, 1, 70)
    assert outcome.err.startswith("ckpt: ")
    if form == "junit":
        assert ElementTree.fromstring(outcome.out).tag in ("testsuites", "testsuite")
    elif form in ("json", "jsonl"):
        documents = [outcome.out] if form == "json" else outcome.out.splitlines()
        assert documents
        assert json.loads(documents[-1])["error"]["exit_code"] == outcome.code


def test_every_command_that_offers_formats_is_tried() -> None:
    assert dict(commands()).keys() - NEVER_REFUSED == PLACES.keys()
