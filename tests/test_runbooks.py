"""The runbooks: each is what its laws are, each of their commands is run, and each symptom leads to its page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from ckpttool.cli.explain import _recognise
from ckpttool.laws.book import every
from ckpttool.laws.runbooks import PLACE, RUNBOOKS, runbook_of
from ckpttool.logs.driver_log import read_log
from ckpttool.report.views.explain import ExplainedFailure

pytestmark = pytest.mark.extras  # Kafka's client, and readers of state

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / PLACE).glob("*.md"))
INDEX = ROOT / PLACE / "README.md"
PARTS = ("What it is", "Three commands", "Lost or doubled", "So that it does not come back", "Findings")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate_runbooks", ROOT / "docs" / "generate_runbooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


made = generator()
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
PLATFORMS = [page for page in PAGES if page.stem.startswith("platform-")]
of_laws = pytest.mark.parametrize("page", [page for page in PAGES if page.stem in RUNBOOKS], ids=lambda page: page.stem)


def explained(text: str) -> ExplainedFailure:
    return _recognise(read_log(iter([text.encode()])))


# -- commands ----------------------------------------------------------------------------------------------------------


@every_page
def test_commands_print_what_the_page_says(page: Path) -> None:
    assert made.refreshed(page) == page.read_text(encoding="utf-8"), "run `python docs/generate_runbooks.py`"


@every_page
def test_every_command_is_one_that_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    run = [line for match in made.RUN.finditer(text) for line in match["lines"].splitlines() if line.startswith("$ ")]
    assert re.findall(r"^\$ .*$", text, re.MULTILINE) == run
    assert len(run) == (2 if page == INDEX else 3)


def test_a_command_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "torn-log-file.md"
    text = (ROOT / PLACE / page.name).read_text(encoding="utf-8")
    page.write_text(text.replace("[exit status 1]", "[exit status 0]"), encoding="utf-8")
    assert made.refreshed(page) == text


# -- symptoms ----------------------------------------------------------------------------------------------------------


@of_laws
def test_each_symptom_leads_to_its_page(page: Path) -> None:
    """What no law is recognised by, such as progress, is no error; deletion by age shows as all kinds of them."""
    symptoms = made.symptoms_of(page.read_text(encoding="utf-8"))
    assert symptoms
    for symptom in symptoms:
        causes = explained(symptom).causes
        if any(law.errors for law in every() if law.id in RUNBOOKS[page.stem]) and page.stem != "lost-or-doubled":
            assert runbook_of(causes[0].law.id) == f"{PLACE}/{page.name}", symptom


@pytest.mark.parametrize("page", PLATFORMS, ids=lambda page: page.stem)
def test_the_symptom_of_a_platform_is_recognised(page: Path) -> None:
    (symptom,) = made.symptoms_of(page.read_text(encoding="utf-8"))
    assert explained(symptom).runbook


# -- laws and pages ----------------------------------------------------------------------------------------------------


def test_each_runbook_of_a_law_is_there() -> None:
    assert {page.stem for page in PAGES if page != INDEX and page not in PLATFORMS} == set(RUNBOOKS)


@pytest.mark.parametrize("page", [page for page in PAGES if page != INDEX], ids=lambda page: page.stem)
def test_each_page_can_be_reached_and_is_complete(page: Path) -> None:
    by_hand = INDEX.read_text(encoding="utf-8").partition("## By the text of the error")[0]
    assert f"]({page.name})" in by_hand
    text = page.read_text(encoding="utf-8")
    wanted = PARTS if page.stem in RUNBOOKS else ("Three commands", "Beware")
    assert all(f"\n## {part}\n" in text for part in ("Symptom", *wanted))


def test_the_index_has_every_text() -> None:
    index = INDEX.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(.+)` \| \[([\w-]+)\]", index.partition("## By the text")[2], re.MULTILINE))
    texts = {text for law in every() for text in law.errors}
    assert set(rows) == {text.replace("|", "\\|") for text in texts}


@every_page
def test_pages_are_short(page: Path) -> None:
    """They are read at three in the morning."""
    by_hand = page.read_text(encoding="utf-8").partition("## By the text of the error")[0]
    assert len(by_hand.splitlines()) <= 110
