"""Histories survive being written down, a damaged line is refused with its place, and whatever is one can be judged."""

from __future__ import annotations

import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields, replace

from ckpttool.errors import MalformedFile
from ckpttool.harness.history import Case, Crash, Disk, Histories, Run
from ckpttool.harness.history_json import encode_histories, encode_run, parse_histories
from ckpttool.harness.judge import judge
from ckpttool.harness.report import exit_code_of, report_document
from tests.documents import shown
from tests.history_builders import Shape, sound_history
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
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind)
        return st.builds(kind, **{each.name: values_of(hints[each.name]) for each in fields(kind)})
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if option is types.NoneType else values_of(option) for option in arguments])
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


@slow
@given(runs, st.lists(cases, max_size=2))
def test_any_history_has_a_verdict(run: Run, some: list[Case]) -> None:
    """However absurd: whoever wrote the file may have been wrong."""
    judged = judge(Histories(run, tuple(some)))
    assert exit_code_of([judged]) in (0, 1, 3)
    for form in ("text", "json", "junit"):
        assert shown(report_document([judged]), form)


@slow
@given(st.data())
def test_a_history_with_something_absurd_in_it_has_a_verdict(data: st.DataObject) -> None:
    """One part of a sound history is anything that its type allows."""
    history = sound_history(Shape(operator=data.draw(st.sampled_from(["map", "count", "window", "job"]))))
    crash = history.case.crashes[0]
    parts: list[Any] = [history.run, history.case, history.case.after, crash, crash.disk]
    part = data.draw(st.sampled_from(range(len(parts))))
    name = data.draw(st.sampled_from([each.name for each in fields(parts[part])]))
    changed = replace(parts[part], **{name: data.draw(values_of(get_type_hints(type(parts[part]))[name]))})
    run, case = history.run, history.case
    match changed:
        case Run():
            run = changed
        case Case():
            case = changed
        case Crash():
            case = replace(case, crashes=(changed,))
        case Disk() if part == 2:
            case = replace(case, after=changed)
        case Disk():
            case = replace(case, crashes=(replace(case.crashes[0], disk=changed),))
    assert shown(report_document([judge(Histories(run, (case,)))]))
