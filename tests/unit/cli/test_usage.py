"""What click has against a command line: told with everything but what may be secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

SECRET = "hunter2"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--storage-option", f"key: {SECRET}"),
        ("--storage-option", "key:", SECRET),
        ("--storage-optoin", f"key={SECRET}"),
        (f"--storage-optoin=key={SECRET}",),
        (f"--fs.s3a.secret.key:{SECRET}",),
        ("--storage-options-file", f'{{"key": "{SECRET}"}}'),
        ("--storage-options-file", f"it's = {SECRET}"),
        ("--storage-options-file", f"a\"b'c: {SECRET}"),
        ("--format", f"json:{SECRET}"),
        (f"-Xsasl.password={SECRET}",),
        ("--batch", f"password={SECRET}"),
        ("--batch", f"{SECRET}@host"),
        ("--spark-version", f"key={SECRET}"),
        (SECRET,),
        ("more", SECRET),
    ],
    ids=" ".join,
)
def test_no_value_is_repeated_that_may_be_a_secret(arguments: tuple[str, ...]) -> None:
    outcome = run_ckpt("inspect", "/nowhere", *arguments)
    assert outcome.code == 2
    assert SECRET not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kafka-config", f"sasl.password={SECRET}"),
        ("--kafka-config", f"sasl.password: {SECRET}"),
        (f"--kafka-confg=sasl.password={SECRET}",),
        ("-X", f"sasl.password: {SECRET}"),
        ("--timeout", f"x={SECRET}"),
        ("--known-topic-ids", f"token={SECRET}"),
        ("--map", f"token: {SECRET}"),
    ],
    ids=" ".join,
)
def test_nor_one_for_brokers(arguments: tuple[str, ...]) -> None:
    outcome = run_ckpt("kafka", "diff", "/nowhere", "--bootstrap-server", "b:9092", *arguments)
    assert outcome.code == 2
    assert SECRET not in outcome.out + outcome.err


@pytest.mark.parametrize("server", [f"user:{SECRET}@b:9092", f"b:9092?key={SECRET}", f"b:9092,c:9092#{SECRET}"])
def test_nor_one_beside_the_address_of_a_broker(server: str, tmp_path: Path) -> None:
    checkpoint = str(build(tmp_path / "orders", "k0-10 c | k10-25 c"))
    for command in (["kafka", "diff"], ["kafka", "starting-offsets", "--at-least", "earliest"], ["plan-recovery"]):
        for form in ([], ["--format", "json"]):
            outcome = run_ckpt(*command, checkpoint, "--bootstrap-server", server, *form)
            assert outcome.code == 2
            assert SECRET not in outcome.out + outcome.err
            assert "the address of a broker" in outcome.out + outcome.err


def test_a_command_is_no_place_for_a_value_either() -> None:
    assert SECRET not in run_ckpt(f"password={SECRET}").err


def test_words_are_repeated() -> None:
    shown = run_ckpt("inspect", "/nowhere", "--format", "yaml").err.splitlines()
    assert shown[0].startswith("Usage: ckpt inspect [OPTIONS] PATH")
    assert "'yaml' is not one of 'text', 'json'" in shown[-1]
    assert "No such option '--formt'" in run_ckpt("inspect", "/nowhere", "--formt", "json").err


def test_what_was_typed_reaches_the_terminal_escaped() -> None:
    for arguments in (
        ["inspect", "x", "--\x1b[31m\u202e"],
        ["\x1b[31m\n\u202e"],
        ["inspect", "x", "--format", "\x9b1\n"],
    ):
        shown = run_ckpt(*arguments).err
        assert all(line.isprintable() for line in shown.split("\n"))
        assert shown.count("\n") <= 4
