"""The table of changes, and the verdict on several."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.laws.changes.judge import LAWS, law_of, verdict_on
from ckpttool.laws.changes.ways import WAYS_OUT
from ckpttool.laws.restart import Restart
from ckpttool.query.model import Meaning, Query
from tests.unit.laws.changes.queries import QUERY, WATERMARK, but, counting, judged, store, struct


def test_each_law_has_an_id_of_its_own_and_ways_out_that_are_told() -> None:
    ids = [law.id for law in LAWS]
    assert len(ids) == len(set(ids))
    assert {way for law in LAWS for way in law.ways_out} <= WAYS_OUT.keys()


def test_the_worst_decides_and_what_spark_comes_to_first_is_raised() -> None:
    retyped = counting(stores=(store(struct("k string"), struct("count long!", "sum double")),))
    worst = judged(replace(retyped, watermarks=(WATERMARK,), sources=(*QUERY.sources, *QUERY.sources)))
    assert worst.verdict == "refused"
    assert worst.refusal
    assert worst.refusal.phase == "init"
    assert [law_of(change).id for change in worst.found] == [change.id for change in worst.found]


def test_a_restart_that_fails_is_refused_and_one_that_is_open_stays_open() -> None:
    fine = judged(but(plan_sha256="bbbb"))
    restart = Restart("new_batch", 3, (), None, None, (), ())
    assert verdict_on(fine, restart) == "accepted"
    assert verdict_on(fine, replace(restart, outcome="error")) == "refused"
    assert verdict_on(fine, replace(restart, outcome="unknown")) == "unknown"


def test_what_is_not_told_of_the_query_before_is_assumed_by_name() -> None:
    assert judged(QUERY, with_was=False).assumes == (
        "source 0 was read as json of the same columns before",
        "operator 0 (stateStoreSave) was of the same before: k, count(1) and sum(v)",
        "there was no watermark before",
        "the output mode was update before",
        "it wrote to foreachBatch upsert before",
    )


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (counting(meaning=Meaning(("k",), ("sum(id)",))), ("operators.meaning",)),
        (but(watermarks=(replace(WATERMARK, sources=()),)), ("watermarks",)),
    ],
)
def test_what_a_form_only_shows_is_no_change(shown: Query, told: tuple[str, ...]) -> None:
    assert judged(shown).found != ()
    assert judged(replace(shown, not_told=told)).found == ()


def test_sources_that_a_form_only_shows_are_not_known_where_they_are_others() -> None:
    others = but(sources=(*QUERY.sources, *QUERY.sources))
    assert judged(others).verdict == "refused"
    assert judged(replace(others, not_told=("sources.shared_with",))).verdict == "unknown"
    assert judged(but(not_told=("sources.shared_with",))).found == ()
