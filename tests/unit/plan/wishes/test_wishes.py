"""The registry: every wish has a verb, and comes out of a plan file as it went in."""

from __future__ import annotations

import msgspec
import pytest

from ckpttool.plan.wishes import BY_VERB, AnyWish, Wish
from ckpttool.plan.wishes.later import LATER


@pytest.mark.parametrize("verb", BY_VERB)
def test_what_is_kept_in_a_plan_is_the_same_wish(verb: str) -> None:
    fields = {field.name: example(field.type) for field in msgspec.structs.fields(BY_VERB[verb])}
    wish = BY_VERB[verb](**fields)
    kept = msgspec.to_builtins(wish)
    assert kept["verb"] == verb
    assert msgspec.convert(kept, AnyWish) == wish


def example(type_: object) -> object:
    """Any value of the field's type will do."""
    return msgspec.convert({"int": 3, "str": "x", "bool": True}.get(str(getattr(type_, "__name__", "")), 3), type_)


@pytest.mark.parametrize("kept", [{}, {"verb": "dance"}, {"verb": "rewind", "too": 1}, {"verb": "later"}], ids=str)
def test_what_is_no_wish_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(kept, AnyWish)


def test_no_verb_is_both_granted_and_put_off() -> None:
    assert not BY_VERB.keys() & LATER.keys()
    assert all(issubclass(one, Wish) for one in BY_VERB.values())
