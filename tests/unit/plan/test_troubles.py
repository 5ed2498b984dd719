"""Each law that stops a restart has repairs, and each repair a law."""

from __future__ import annotations

from ckpttool.laws.book import every, stopping
from ckpttool.plan.troubles import BY_LAW, OF_NO_LAW
from ckpttool.releases import NEWEST


def test_every_rule_has_ways_out_or_a_refusal() -> None:
    known = {rule.id for release in [(2, 4, 0), (4, 0, 0), NEWEST] for rule in stopping(release)}
    assert known - BY_LAW.keys() == set()


def test_repairs_hang_on_laws() -> None:
    book = {law.id for law in every()}
    assert BY_LAW.keys() - book == set()
    assert OF_NO_LAW.keys() & book == set()
