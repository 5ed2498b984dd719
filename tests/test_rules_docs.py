"""docs/recovery-rules.md is what the rules are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from ckpttool.laws.base import Law
from ckpttool.laws.book import stopping
from ckpttool.releases import NEWEST, OLDEST
from tests.differential.sweep.load import CASES, cases_file
from tests.samples.place import sample_names

PAGE = Path(__file__).resolve().parents[1] / "docs" / "recovery-rules.md"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate_rules", PAGE.with_name("generate_rules.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert generator().refreshed(page) == page


@pytest.mark.parametrize("release", [OLDEST, (3, 5, 7), NEWEST])
def test_every_rule_is_told(release: tuple[int, int, int]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{rule.id}` |" in page for rule in stopping(release))


def test_a_new_rule_makes_the_page_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    made = generator()
    added = Law("never-seen", "Says this.", "Somewhere", lambda _: None, since=(4, 0, 0), until=(4, 2, 0))
    monkeypatch.setitem(made.PHASES, "start", (*made.PHASES["start"], added))
    page = PAGE.read_text(encoding="utf-8")
    assert "| `never-seen` | Says this. | since 4.0.0, before 4.2.0 | Somewhere |" in made.refreshed(page)


def test_surprises_name_evidence_that_is_there() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Surprises")[2].partition("\n## ")[0]
    cases = re.findall(r"(\d\.\d\.\d)\s+`([\w-]+/[0-9a-f]{10})`", section)
    samples = re.findall(r"`(\d\.\d\.\d-[\w-]+)`", section)
    assert len(cases) > 5
    for spark, case in cases:
        suite = "tables" if case.startswith("table-") else CASES
        assert f'"id":"{case}"' in cases_file(spark, suite).read_text(encoding="utf-8"), case
    assert len(samples) > 5
    assert not set(samples) - set(sample_names())
    assert all(re.search(r"\([^()]*(?:`|tests/)[^()]*\)\s*$", item) for item in section.split("\n- **")[1:])


def test_a_table_without_its_phase_is_an_error() -> None:
    with pytest.raises(SystemExit):
        generator().refreshed("no table at all")
