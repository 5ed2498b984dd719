"""Each law is told of on one page. That the pages are there: tests/test_runbooks.py."""

from __future__ import annotations

from collections import Counter

from ckpttool.laws.book import every
from ckpttool.laws.runbooks import RUNBOOKS, runbook_of


def test_a_law_is_named_once() -> None:
    named = Counter(law for laws in RUNBOOKS.values() for law in laws)
    assert set(named.values()) == {1}
    assert set(named) <= {law.id for law in every()}


def test_what_stops_a_query_has_a_page() -> None:
    stops = [law.id for law in every() if law.errors or "error" in law.severities]
    assert [law for law in stops if runbook_of(law) is None] == []


def test_the_page_is_named_by_its_file() -> None:
    assert runbook_of("offset-aged-out") == "docs/runbooks/kafka-offsets-gone.md"
    assert runbook_of("clock-skew") is None
