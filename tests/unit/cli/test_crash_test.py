"""`ckpt crash-test`: verdicts as exit codes, and options that exclude each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_run
from tests.conftest import run_ckpt
from tests.history_builders import History, Shape, sound_history
from tests.unit.harness.reports import KNOWN_BAD, report, write


@pytest.fixture
def sound() -> History:
    return sound_history(Shape())


def test_all_valid(tmp_path: Path, sound: History) -> None:
    code, fields = report(write(tmp_path / "a.jsonl", sound))
    assert code == 0
    assert fields["schema"] == "ckpt.crash-report/1"
    assert (fields["scenario"], fields["seed"], fields["spark_version"]) == (sound.run.scenario, 7, "4.2.0")
    summary = {name: fields["summary"][name] for name in ("crashes", "valid", "invalid", "unknown", "seconds")}
    assert summary == {"crashes": 1, "valid": 1, "invalid": 0, "unknown": 0, "seconds": 0.9}
    (point,) = fields["points"]
    assert (point["point"], point["batch_id"], point["hit"], point["mode"]) == ("point in doubled", 2, 1, "image")
    assert (point["verdict"], point["witnesses"], point["replay"]) == ("valid", [], "ckpt crash-test replay image-1")
    assert (point["predicted"]["outcome"], point["observed"]["outcome"], point["agreement"]) == (
        "replay",
        "replay",
        "agrees",
    )


@pytest.mark.parametrize(
    ("name", "code", "verdict"),
    [("row-lost", 1, "invalid"), ("control-silent", 1, "invalid"), ("not-reached", 3, "unknown")],
)
def test_the_worst_verdict_is_the_exit_code(tmp_path: Path, sound: History, name: str, code: int, verdict: str) -> None:
    write(tmp_path / "good.jsonl", sound)
    shutil.copy(KNOWN_BAD / f"{name}.jsonl", tmp_path / "bad.jsonl")
    found, fields = report(tmp_path)
    assert found == code
    assert sorted(point["verdict"] for point in fields["points"]) == sorted(["valid", verdict])
    assert fields["scenario"] is None or len({point["scenario"] for point in fields["points"]}) == 1


@pytest.mark.parametrize(
    ("window", "are_seen", "code", "controls"),
    [("done", True, 0, []), ("in-effect", True, 0, [False]), ("doubled", False, 1, [True])],
    ids=["nothing due", "due and seen", "due and not seen"],
)
def test_a_single_image_is_no_silence_where_no_control_is_due(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    window: Any,
    are_seen: bool,
    code: int,
    controls: list[bool],
) -> None:
    recovered = sound_history(Shape(sink="foreachBatch", window=window))
    seen = recovered.case.after.visible if are_seen else once(recovered)
    case = replace(recovered.case, after=replace(recovered.case.after, visible=seen))
    histories = Histories(recovered.run, (case,))
    monkeypatch.setattr("ckpttool.harness.replay.replay_image", lambda *_: histories)
    told = run_ckpt("crash-test", "replay", str(tmp_path), "--format", "json")
    assert (told.code, [one["silent"] for one in json.loads(told.out)["controls"]]) == (code, controls)


def once(history: History) -> tuple[Mapping[str, Any], ...]:
    """The rows that the sink has in the end, none of them twice."""
    rows = history.case.after.visible or ()
    return tuple(row for at, row in enumerate(rows) if row not in rows[:at])


def test_a_control_that_is_never_where_it_has_to_bite_is_silent(tmp_path: Path) -> None:
    """Every verdict is valid, and still nothing is proven."""
    control = sound_history(Shape(sink="foreachBatch", window="done"))
    code, fields = report(write(tmp_path / "a.jsonl", control))
    assert code == 1
    assert fields["summary"]["invalid"] == 0
    assert fields["controls"] == [
        {"scenario": control.run.scenario, "kind": "duplicates", "due": 0, "shown": 0, "silent": True}
    ]


def test_a_history_without_a_case_proves_nothing(tmp_path: Path, sound: History) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(encode_run(sound.run), encoding="utf-8")
    assert report(path)[0] == 3


def test_control_characters_of_a_history_do_not_reach_the_terminal(tmp_path: Path, sound: History) -> None:
    shutil.copy(KNOWN_BAD / "row-lost.jsonl", tmp_path / "b.jsonl")
    evil = replace(sound, run=replace(sound.run, scenario="\x1b[2Jgone", spark_version="4.2.0\r"))
    write(tmp_path / "a.jsonl", evil)
    for form in ("text", "json", "junit"):
        outcome = run_ckpt("crash-test", "report", str(tmp_path), "--format", form)
        assert "\x1b" not in outcome.out
        assert "\r" not in outcome.out
    ElementTree.fromstring(outcome.out)


@pytest.mark.extras
def test_no_specification_there() -> None:
    assert run_ckpt("crash-test", "run", "--spec", "nowhere.json").code == 4


@pytest.mark.extras
@pytest.mark.parametrize("more", [["file-to-delta"], ["--python", "python3"], ["--job", __file__], ["--seconds", "60"]])
def test_what_the_specification_says_is_not_said_twice(more: list[str]) -> None:
    outcome = run_ckpt("crash-test", "run", *more, "--spec", "nowhere.json")
    assert outcome.code == 2
    assert more[0].replace("file-to-delta", "scenarios") in outcome.err
