"""Histories survive being written down, and a damaged line is refused with its place."""

from __future__ import annotations

import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckpttool.errors import MalformedFile
from ckpttool.harness.history import Case, Histories, Run
from ckpttool.harness.history_json import encode_histories, encode_run, parse_histories
from tests.property.strategies import json_values

pytestmark = pytest.mark.property
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: st.text(max_size=5),
    int: st.integers(0, 9),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Anything that the annotations allow."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in LEAVES:
        return LEAVES[kind]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{each.name: values_of(hints[each.name]) for each in fields(kind)})
    if origin in (Union, types.UnionType):
        return st.one_of(st.none() if option is types.NoneType else values_of(option) for option in arguments)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    assert origin is Mapping
    return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)


slow = settings(suppress_health_check=list(HealthCheck))
runs, cases = values_of(Run), values_of(Case)


@slow
@given(runs, st.lists(cases, max_size=2))
def test_what_is_written_is_read_again(run: Run, some: list[Case]) -> None:
    histories = Histories(run, tuple(some))
    assert parse_histories(encode_histories(histories)) == histories


@slow
@given(runs, cases, st.data())
def test_a_cut_line_is_told(run: Run, case: Case, data: st.DataObject) -> None:
    text = encode_histories(Histories(run, (case,)))
    cut = data.draw(st.integers(len(encode_run(run)) + 1, len(text) - 1))
    assert parse_histories(text[:cut]) == Histories(run, (), torn=True)


@slow
@given(runs, cases, st.data())
def test_a_changed_byte_is_harmless_or_refused(run: Run, case: Case, data: st.DataObject) -> None:
    text = encode_histories(Histories(run, (case,)))
    at = data.draw(st.integers(0, len(text) - 2))
    changed = text[:at] + data.draw(st.sampled_from(["", "x", "9", '"', "{", "]", "\n"])) + text[at + 1 :]
    with suppress(MalformedFile):  # anything else is a bug
        parse_histories(changed)
