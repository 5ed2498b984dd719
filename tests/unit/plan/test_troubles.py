"""Each law that stops a restart has repairs, and each repair a law."""

from __future__ import annotations

from ckpttool.laws.book import every, stopping
from ckpttool.laws.kafka import judge
from ckpttool.laws.metadata import UNFINISHED
from ckpttool.plan.troubles import BY_LAW, OF_NO_LAW
from ckpttool.releases import NEWEST

BEFORE_ALL_OTHERS = {UNFINISHED}  # `plan.half_done` offers what there is, and nobody looks for repairs


def test_every_rule_has_ways_out_or_a_refusal() -> None:
    known = {rule.id for release in [(2, 4, 0), (4, 0, 0), NEWEST] for rule in stopping(release)}
    assert known - BY_LAW.keys() == BEFORE_ALL_OTHERS


# Nobody knows what there is, nothing is wrong with it, or it is the query's own options.
NOTHING_TO_MEND = {"brokers-unanswered", "kafka-beginning-unknown", "kafka-starting-position", "partitions-added"}


def test_what_brokers_lack_has_ways_out_by_the_law_that_says_so() -> None:
    about_brokers = {law.id for law in judge.LAWS if law.needs == "brokers"}
    assert about_brokers - BY_LAW.keys() == NOTHING_TO_MEND


def test_repairs_hang_on_laws() -> None:
    book = {law.id for law in every()}
    assert BY_LAW.keys() - book == set()
    assert OF_NO_LAW.keys() & book == set()
