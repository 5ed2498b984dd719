"""The registry: every wish has a verb, and comes out of a plan file as it went in."""

from __future__ import annotations

import json

import msgspec
import pytest

from ckpttool.formats.progress import BatchProgress
from ckpttool.plan.wishes import (
    BY_VERB,
    AnyWish,
    ChangeSources,
    Clone,
    DropBatch,
    Fork,
    Gc,
    QueryId,
    Relocate,
    RenameFound,
    Renumber,
    RestoreOffsets,
    Rewind,
    SetLedger,
    SetOffsets,
    SkipBatch,
    Watermark,
    Wish,
    verb_of,
)
from ckpttool.plan.wishes.later import LATER

TOLD = BatchProgress("7a29e7d5-4f5b-4c8e-9f0a-3d2b1c0a9e8f", 3, 5, 6, (None, "1"), ('{"logOffset":3}', "2"))
EXAMPLES: tuple[Wish, ...] = (
    Rewind(to_batch=7),
    Rewind(to_time_ms=5),
    DropBatch(),
    SkipBatch(),
    QueryId("7a29e7d5-4f5b-4c8e-9f0a-3d2b1c0a9e8f"),
    QueryId(),
    QueryId(from_sink=True),
    Renumber(),
    SetLedger(0),
    SetOffsets(("0:t:0=5",), ("0:u:0=0",), ("v",), elsewhere=True),
    ChangeSources("move", 0, 1, "1,0"),
    ChangeSources("rename", 0, names=("orders", "all_orders")),
    Clone("/elsewhere", same_id=True),
    Fork("/elsewhere"),
    Fork("/elsewhere", new_state=True),
    Relocate("/elsewhere", (("/in", "/in2"), ("s3a://b/in", "s3a://c/in"))),
    Watermark(5),
    RestoreOffsets(TOLD),
    RenameFound(),
    Gc(),
)


@pytest.mark.parametrize("wish", EXAMPLES, ids=verb_of)
def test_what_is_kept_in_a_plan_is_the_same_wish(wish: Wish) -> None:
    kept = json.loads(json.dumps(msgspec.to_builtins(wish)))
    assert kept["verb"] == verb_of(wish)
    assert msgspec.convert(kept, AnyWish) == wish


def test_each_has_an_example() -> None:
    assert {verb_of(one) for one in EXAMPLES} == set(BY_VERB)


@pytest.mark.parametrize("kept", [{}, {"verb": "dance"}, {"verb": "rewind", "too": 1}, {"verb": "later"}], ids=str)
def test_what_is_no_wish_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(kept, AnyWish)


def test_no_verb_is_both_granted_and_put_off() -> None:
    assert not BY_VERB.keys() & LATER.keys()
    assert all(issubclass(one, Wish) for one in BY_VERB.values())
