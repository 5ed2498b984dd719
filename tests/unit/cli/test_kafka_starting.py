"""`ckpt kafka starting-offsets`, as far as no broker takes part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

STARTING = ("kafka", "starting-offsets")


def test_only_the_option_goes_to_standard_output(tmp_path: Path) -> None:
    outcome = run_ckpt(*STARTING, str(build(tmp_path, "k0-10 c | k10-20")))
    assert (outcome.code, outcome.out) == (0, '{"t":{"0":10}}\n')
    assert "no broker was asked" in outcome.err
    mapped = run_ckpt(*STARTING, str(tmp_path), "--map", "t=u")
    assert mapped.out == '{"u":{"0":10}}\n'


def test_the_fields(tmp_path: Path) -> None:
    outcome = run_ckpt(*STARTING, str(build(tmp_path, "k0-10 c | k10-20 c")), "--format", "json")
    fields = json.loads(outcome.out)
    assert fields["schema"] == "ckpt.kafka-starting-offsets/1"
    assert fields["starting_offsets"] == json.loads(fields["option"]) == {"t": {"0": 20}}
    assert fields["source"] == {"index": 0, "name": None}
    assert fields["next_batch"] == {"outcome": "new_batch", "batch_id": 2}


@pytest.mark.parametrize(
    ("story", "options", "code", "said"),
    [
        ("k0-10 k0-20 c", (), 2, "choose one with --source"),
        ("k0-10 f1 k0-20 c", ("--source", "1"), 4, "source 1 is no Kafka source"),
        ("f1 c", (), 4, "no Kafka source"),
        ("k0-10 c", ("--at-least", "earliest"), 2, "--bootstrap-server"),
        ("k0-10 c", ("--from-time", "2026-11-18"), 2, "--bootstrap-server"),
        ("k0-10 c", ("--commit",), 2, "--commit needs --consumer-group"),
        ("k0-10 c", ("--yes",), 2, "--yes needs --commit"),
        ("k0-10 c", ("--consumer-group", "g"), 2, "--consumer-group needs --bootstrap-server"),
        ("k0-10 c", ("--from-time", "noon", "--bootstrap-server", "127.0.0.1:1"), 2, "expected a time"),
        (
            "k0-10 c",
            ("--from-time", "2026-11-18", "--at-least", "earliest", "--bootstrap-server", "127.0.0.1:1"),
            2,
            "exclude each other",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, story: str, options: tuple[str, ...], code: int, said: str) -> None:
    outcome = run_ckpt(*STARTING, str(build(tmp_path, story)), *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err


def test_one_of_several_sources(tmp_path: Path) -> None:
    path = str(build(tmp_path, "k0-10 f1 k0-20 c"))
    assert run_ckpt(*STARTING, path, "--source", "2").out == '{"t":{"0":20}}\n'


@pytest.mark.extras
def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    asked = ("--bootstrap-server", "127.0.0.1:1", "--format", "json")
    outcome = run_ckpt(*STARTING, str(build(tmp_path, "k0-10 c")), *asked)
    assert outcome.code == 5
    assert json.loads(outcome.out)["error"]["exit_code"] == 5
