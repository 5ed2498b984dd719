"""What every connector promises, whichever system it knows."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpttool.connectors import ALL, UnknownOffset, recognise_offset
from ckpttool.connectors.base import Connector, Offset, Order

NEEDS_HINT = {"rate", "eventhubs"}
AMBIGUOUS = {"kafka", "integer"}
MIRRORED = {
    Order.BEFORE: Order.AFTER,
    Order.AFTER: Order.BEFORE,
    Order.EQUAL: Order.EQUAL,
    Order.MIXED: Order.MIXED,
    Order.UNKNOWN: Order.UNKNOWN,
}
EXAMPLES = [
    pytest.param(module, text, id=f"{module.KIND}-{n}") for module in ALL for n, text in enumerate(module.EXAMPLES)
]
PAIRS = [
    pytest.param(module, one, two, id=f"{module.KIND}-{n}")
    for module in ALL
    for n, (one, two) in enumerate(itertools.product(module.EXAMPLES, repeat=2))
]

NUMBERS = st.integers() | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, -1, -2, 0])
WORDS = st.text(max_size=8) | st.sampled_from(
    ["spark.cosmos.changeFeed.offset.v1", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "\ud800", "\x1b[31m", "٣"]
)
SCALARS = st.none() | st.booleans() | NUMBERS | st.floats() | WORDS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=6)
)
HINTS = st.none() | st.sampled_from([module.KIND for module in ALL])


@st.composite
def damaged_examples(draw: st.DrawFn) -> Any:
    """A connector's own offset with one part replaced, added or dropped, at any depth."""
    value = json.loads(draw(st.sampled_from([text for module in ALL for text in module.EXAMPLES])))
    if not isinstance(value, dict | list) or not value:
        return draw(SCALARS)
    place = value
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            break
        place = place[key]
    if draw(st.integers(0, 3)) == 0:
        del place[key]
    else:
        place[key] = draw(JSON)
    return value


def is_one_printable_line(text: str) -> bool:
    return bool(text.strip()) and text.isprintable()


def test_kinds_are_unique() -> None:
    kinds = [module.KIND for module in ALL]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_example_is_recognised_when_its_kind_is_named(module: Connector, text: str) -> None:
    offset = recognise_offset(text, module.KIND)
    assert offset.kind == module.KIND
    assert offset.certainty == ("ambiguous" if module.KIND == "integer" else "certain")


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_example_is_recognised_by_its_shape(module: Connector, text: str) -> None:
    if module.KIND in NEEDS_HINT:
        assert recognise_offset(text).kind != module.KIND
        return
    offset = recognise_offset(text)
    assert offset.kind == module.KIND
    assert (offset.certainty == "ambiguous") == (module.KIND in AMBIGUOUS)


NAME_WHAT_THEY_READ = {"kafka", "eventhubs", "pulsar", "kinesis", "delta"}


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.KIND)
def test_what_is_read_is_named_as_the_offset_has_it(module: Connector) -> None:
    """A name may be in several checkpoints, and be the same thing."""
    read = [(text, recognise_offset(text, module.KIND).reads()) for text in module.EXAMPLES]
    assert any(names for _, names in read) == (module.KIND in NAME_WHAT_THEY_READ)
    assert all(name and name in text for text, names in read for name in names)


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_a_wrong_hint_does_not_hide_what_the_shape_proves(module: Connector, text: str) -> None:
    if recognise_offset(text).certainty == "certain":
        assert recognise_offset(text, "rate").kind == module.KIND


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_example_equals_itself_and_nothing_lies_between(module: Connector, text: str) -> None:
    offset, again = (recognise_offset(text, module.KIND) for _ in range(2))
    assert offset.order(again) is Order.EQUAL
    step = offset.step_from(again)
    assert step.amount in (0, None)
    assert step.amount == 0 or step.note
    assert (step.backwards, step.added, step.gone) == ((), (), ())


@pytest.mark.parametrize(("module", "one", "two"), PAIRS)
def test_order_is_antisymmetric(module: Connector, one: str, two: str) -> None:
    first, second = recognise_offset(one, module.KIND), recognise_offset(two, module.KIND)
    assert second.order(first) is MIRRORED[first.order(second)]


@pytest.mark.parametrize(("module", "one", "two"), PAIRS)
def test_a_step_down_is_told_and_never_negative(module: Connector, one: str, two: str) -> None:
    start, end = recognise_offset(one, module.KIND), recognise_offset(two, module.KIND)
    step = end.step_from(start)
    assert step.amount is None or step.amount >= 0
    if end.order(start) is Order.BEFORE:
        assert step.backwards or step.gone


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_words_are_printable_and_examples_are_without_problems(module: Connector, text: str) -> None:
    offset = recognise_offset(text, module.KIND)
    assert is_one_printable_line(offset.summary())
    assert offset.details()
    assert all(is_one_printable_line(name) and isinstance(part, str) for name, part in offset.details())
    assert offset.problems() == []


@pytest.mark.parametrize(("module", "text"), EXAMPLES)
def test_offsets_of_other_systems_are_not_comparable(module: Connector, text: str) -> None:
    offset = recognise_offset(text, module.KIND)
    stranger = recognise_offset('{"logOffset":1}' if module.KIND != "file" else "7")
    assert offset.order(stranger) is Order.UNKNOWN
    assert offset.step_from(stranger).amount is None
    assert offset.step_from(stranger).note
    first = offset.step_from(None).amount
    assert first is None or first >= 0


@pytest.mark.property
@settings(deadline=None)
@given(value=JSON | damaged_examples(), hint=HINTS)
def test_no_json_value_makes_a_connector_raise(value: Any, hint: str | None) -> None:
    text = json.dumps(value)
    for module in ALL:
        offset = module.parse_offset(value, text, hint)
        if offset is not None:
            exercise(offset)


@pytest.mark.property
@settings(deadline=None)
@given(value=JSON | damaged_examples(), hint=HINTS)
def test_any_json_text_gets_an_offset(value: Any, hint: str | None) -> None:
    exercise(recognise_offset(json.dumps(value, ensure_ascii=False), hint))


@pytest.mark.property
@settings(deadline=None)
@given(text=st.text(st.characters()), hint=HINTS)
def test_any_text_gets_an_offset(text: str, hint: str | None) -> None:
    exercise(recognise_offset(text, hint))


def exercise(offset: Offset) -> None:
    assert is_one_printable_line(offset.summary())
    assert offset.order(offset) is Order.EQUAL
    assert offset.step_from(offset).amount in (0, None)
    assert offset.step_from(offset).backwards == ()
    offset.step_from(None)
    assert all(name.isprintable() and part.isprintable() for name, part in offset.details())
    assert all(is_one_printable_line(problem) for problem in offset.problems())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="opened"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="nested lists"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="nested objects"),
        pytest.param("9" * 1_000_000, id="a million digits"),
        pytest.param('{"reservoirId":"x","reservoirVersion":' + "9" * 4000 + "}", id="beyond a long"),
        pytest.param("[" * 900 + "]" * 900, id="as deep as Python goes"),
        pytest.param('{"a": ' * 900 + "1" + "}" * 900, id="objects as deep as Python goes"),
        pytest.param("-", id="no offset"),
        pytest.param("", id="empty"),
        pytest.param("NaN", id="NaN"),
        pytest.param("\ufeff7", id="byte order mark"),
    ],
)
def test_hostile_text_is_unknown_and_shown_in_short(text: str) -> None:
    offset = recognise_offset(text)
    assert isinstance(offset, UnknownOffset) or offset.kind == "python"
    assert is_one_printable_line(offset.summary())
    assert len(offset.summary()) < 700


def test_unknown_offset_keeps_its_text_and_compares_by_it() -> None:
    offset, same, other = (recognise_offset(text) for text in ('"x"', '"x"', '"y"'))
    assert isinstance(offset, UnknownOffset)
    assert (offset.kind, offset.certainty, offset.text) == ("unknown", "ambiguous", '"x"')
    assert offset.summary() == '`"x"`'
    assert offset.order(same) is Order.EQUAL
    assert offset.order(other) is Order.UNKNOWN
    assert offset.step_from(same).amount == 0
    assert offset.step_from(other).amount is None
    assert offset.step_from(other).note
