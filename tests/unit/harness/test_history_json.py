"""A history as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.harness.history import Histories, StateRow
from ckpttool.harness.history_json import encode_histories, parse_histories
from tests.conftest import run_ckpt
from tests.history_builders import History
from tests.unit.harness.reports import write


def test_deep_values_are_refused(tmp_path: Path, sound: History) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    history = replace(sound, run=replace(sound.run, records=(replace(sound.run.records[0], fields={"id": deep}),)))
    outcome = run_ckpt("crash-test", "report", str(write(tmp_path / "a.jsonl", history)))
    assert outcome.code == 4
    assert "nested" in outcome.err


def test_it_comes_back_as_it_was_written(sound: History) -> None:
    row = StateRow(operator=0, store="default", partition=1, key={"id": 1}, value=[{"at": None}])
    histories = Histories(sound.run, (replace(sound.case, state={2: (row,), 3: ()}, seconds=1.5),))
    assert parse_histories(encode_histories(histories)) == histories


def test_a_number_that_is_none_stays_one(sound: History) -> None:
    histories = Histories(sound.run, (replace(sound.case, planted=({"share": math.nan},)),))
    (case,) = parse_histories(encode_histories(histories)).cases
    assert math.isnan(case.planted[0]["share"])


def test_what_a_field_has_by_default_is_left_out(sound: History) -> None:
    head, *_ = encode_histories(Histories(replace(sound.run, control=None, conf={}), ())).splitlines()
    assert not {"control", "conf"} & json.loads(head)["run"].keys()


def test_a_field_that_nobody_knows_is_refused_with_its_line(sound: History) -> None:
    text = encode_histories(Histories(sound.run, (sound.case,)))
    with pytest.raises(MalformedFile, match=r"line 2.*`crushed`"):
        parse_histories(text.replace('"drained"', '"crushed"'))


def test_half_of_a_surrogate_pair_is_refused_with_its_line(tmp_path: Path, sound: History) -> None:
    path = write(tmp_path / "a.jsonl", sound)
    text = path.read_text()
    for place in ('"guarantee":"', '"mode":"', '"metadata":"'):
        path.write_text(text.replace(place, place + "\\uDC00", 1))
        for form in ("text", "json", "junit"):
            outcome = run_ckpt("crash-test", "report", str(path), "--format", form)
            assert outcome.code == 4, place
            assert "half of a surrogate pair" in outcome.err
    path.write_text(text.replace('"guarantee":"', '"guarantee":"\\ud83d\\ude00', 1))
    assert "half of a" not in run_ckpt("crash-test", "report", str(path)).err


@pytest.mark.parametrize("name", ["\\ud800", "x" * 10_000], ids=["no text", "long"])
def test_a_name_that_cannot_be_told_is_refused_in_a_line(sound: History, name: str) -> None:
    text = encode_histories(Histories(sound.run, ()))
    with pytest.raises(MalformedFile, match="line 1") as caught:
        parse_histories(text.replace('"seed":', f'"{name}":1,"seed":', 1))
    assert len(caught.value.message) < 400
