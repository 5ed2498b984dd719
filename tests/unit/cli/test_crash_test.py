"""`ckpt crash-test report`: verdicts as exit codes, and histories that are none."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import Case, Histories
from ckpttool.harness.history_json import encode_case, encode_histories, encode_run, parse_histories
from tests.conftest import run_ckpt
from tests.history_builders import STEP_OF, History, Shape, sound_history

KNOWN_BAD = Path(__file__).parents[2] / "known_bad"


@pytest.fixture
def sound() -> History:
    return sound_history(Shape())


def write(path: Path, history: History, *cases: Case) -> Path:
    path.write_text(encode_histories(Histories(history.run, cases or (history.case,))), encoding="utf-8")
    return path


def report(*paths: Path | str, form: str = "json") -> tuple[int, Any]:
    outcome = run_ckpt("crash-test", "report", *map(str, paths), "--format", form)
    assert "Traceback" not in outcome.err
    return outcome.code, json.loads(outcome.out) if form == "json" and outcome.out else outcome.out


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


def test_a_control_that_is_never_where_it_has_to_bite_is_silent(tmp_path: Path) -> None:
    """Every verdict is valid, and still nothing is proven."""
    control = sound_history(Shape(sink="foreachBatch", window="done"))
    code, fields = report(write(tmp_path / "a.jsonl", control))
    assert code == 1
    assert fields["summary"]["invalid"] == 0
    assert fields["controls"] == [
        {"scenario": control.run.scenario, "kind": "duplicates", "due": 0, "shown": 0, "silent": True}
    ]


def test_a_cut_line_makes_it_unknown(tmp_path: Path, sound: History) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(encode_run(sound.run) + encode_case(sound.case) + encode_case(sound.case)[:100], encoding="utf-8")
    code, fields = report(path)
    assert code == 3
    assert fields["scenarios"][0]["torn"]
    assert "was cut" in report(path, form="text")[1]


def test_a_history_without_a_case_proves_nothing(tmp_path: Path, sound: History) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(encode_run(sound.run), encoding="utf-8")
    assert report(path)[0] == 3


def test_the_matrix_has_a_row_for_each_point_in_the_order_of_the_steps(tmp_path: Path) -> None:
    several = [sound_history(Shape(window=window, crash_batch=batch)) for window in STEP_OF for batch in (0, 2)]
    path = write(tmp_path / "a.jsonl", several[0], *(history.case for history in several))
    code, text = report(path, form="text")
    assert code == 0
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("Step"))
    assert lines[head].split() == ["Step", "Point", "Window", "Batch", "0", "Batch", "2"]
    rows = lines[head + 1 : head + 6]
    assert [row.split()[0] for row in rows] == ["2", "4", "7", "point", "8"]
    assert all(row.count("valid") == 2 for row in rows)
    assert max(map(len, lines)) <= 80


def test_witnesses_stand_below(tmp_path: Path) -> None:
    shutil.copy(KNOWN_BAD / "batch-twice-in-ledger.jsonl", tmp_path)
    text = report(tmp_path, form="text")[1]
    assert "batch-twice-in-ledger (P5): batch 2 is in versions 2 and 4 of the sink (versions 2, 4)" in text
    assert '{"id": 5, "k": "c", "v": 50, "at": 5000}' in text
    assert "again: ckpt crash-test replay image-1" in text


def test_what_fails_alike_is_told_once(tmp_path: Path) -> None:
    bad = parse_histories((KNOWN_BAD / "row-lost.jsonl").read_text())
    (case,) = bad.cases
    cases = [replace(case, name=f"{n}", crashes=(replace(case.crashes[0], nth=n),)) for n in range(1, 9)]
    (tmp_path / "a.jsonl").write_text(encode_histories(replace(bad, cases=tuple(cases))))
    lines = report(tmp_path, form="text")[1].splitlines()
    assert "1. point in doubled, batch 2: invalid" in lines
    at = lines.index("1. point in doubled, batch 2: invalid")
    assert lines[at + 1].startswith("   so are 7 more: point in doubled, batch 2, hit 2; ")
    assert lines[at + 1].endswith("; and 3 more")
    assert sum("row-lost" in line for line in lines) == 1
    assert "8 of 8 INVALID" in "\n".join(lines)


def test_what_was_done_by_hand_stands_apart(tmp_path: Path, sound: History) -> None:
    crash = replace(sound.case.crashes[0], mode="torn", edit="checkpoint/offsets/2 cut")
    torn = replace(sound.case, name="torn", crashes=(crash,), way_out="rewind-to-batch")
    twice = replace(sound.case, name="twice", crashes=sound.case.crashes * 2)
    text = report(write(tmp_path / "a.jsonl", sound, sound.case, torn, twice), form="text")[1]
    assert re.search(r"By hand, on what is left at point in doubled, batch 2\nDamage +Way out +Verdict\n", text)
    assert re.search(r"\ncheckpoint/offsets/2 cut +rewind-to-batch +\w+\n", text)
    assert "A second crash, in the recovery from one at point in doubled\nStep " in text


def test_control_characters_of_a_history_do_not_reach_the_terminal(tmp_path: Path, sound: History) -> None:
    shutil.copy(KNOWN_BAD / "row-lost.jsonl", tmp_path / "b.jsonl")
    evil = replace(sound, run=replace(sound.run, scenario="\x1b[2Jgone", spark_version="4.2.0\r"))
    write(tmp_path / "a.jsonl", evil)
    for form in ("text", "json", "junit"):
        outcome = run_ckpt("crash-test", "report", str(tmp_path), "--format", form)
        assert "\x1b" not in outcome.out
        assert "\r" not in outcome.out
    ElementTree.fromstring(outcome.out)


def test_junit_counts_failures_and_errors(tmp_path: Path, sound: History) -> None:
    write(tmp_path / "a.jsonl", sound)
    for name in ("row-lost", "not-reached", "control-silent"):
        shutil.copy(KNOWN_BAD / f"{name}.jsonl", tmp_path)
    code, text = report(tmp_path, form="junit")
    assert code == 1
    suites = list(ElementTree.fromstring(text))
    counts = [tuple(int(suite.attrib[name]) for name in ("tests", "failures", "errors")) for suite in suites]
    assert counts == [(1, 0, 0), (2, 2, 0), (1, 0, 1), (1, 1, 0)]
    kinds = {trouble.attrib["type"] for suite in suites for test in suite for trouble in test}
    assert kinds == {"control-silent", "not-reached", "row-lost"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no complete line"),
        (b"{}\n", "its schema is null"),
        (b"[" * 100_000 + b"\n", "not a JSON object"),
        (b"\xff\n", "not UTF-8"),
        (b'{"schema":"ckpt.crash-history/1","run":{}}\n', "`run.scenario` is missing"),
        (b'{"schema":"ckpt.crash-history/2","run":{}}\n', "ckpt.crash-history/2"),
    ],
)
def test_what_is_no_history_is_not_found(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    outcome = run_ckpt("crash-test", "report", str(tmp_path))
    assert outcome.code == 4
    assert told in outcome.err


def test_deep_values_are_refused(tmp_path: Path, sound: History) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    history = replace(sound, run=replace(sound.run, records=(replace(sound.run.records[0], fields={"id": deep}),)))
    outcome = run_ckpt("crash-test", "report", str(write(tmp_path / "a.jsonl", history)))
    assert outcome.code == 4
    assert "nested" in outcome.err


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_nothing_there(tmp_path: Path, path: str) -> None:
    outcome = run_ckpt("crash-test", "report", path, cwd=tmp_path)
    assert outcome.code == 4
    assert outcome.err
