"""What may be handed in to be crashed, and how the rest is refused: in words, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import NotFound, Refused
from ckpttool.harness.contract import check_input, check_job, identity_of, load_spec, parse_spec

JOB = b"""
raise SystemExit("a job is never run to be looked at")

IDENTITY: list[str] = ["region", "id"]

def build(spark, source, sink, checkpoint):
    return source.writeStream.format("delta").start(sink)

def make_input(seed: int, batch: int, rows: int = 4) -> list[dict]:
    return []
"""
SCRATCH = Path("/tmp/ckpt-crash-1")
SPEC: dict[str, Any] = {
    "command": ["spark-submit", "job.py", "--to", "{scratch}/sink"],
    "checkpoint": "{scratch}/checkpoint",
    "sink": {"kind": "delta", "path": "{scratch}/sink"},
    "identity": ["id"],
}


def without(source: bytes, line: bytes) -> bytes:
    assert line in source
    return source.replace(line, b"")


# -- jobs --------------------------------------------------------------------------------------------------------------


def test_a_job_is_read_and_not_run() -> None:
    assert identity_of(JOB, "job.py") == ("region", "id")


def test_input_may_come_from_elsewhere() -> None:
    source = JOB[: JOB.index(b"def make_input")]
    assert identity_of(source, "job.py", input_given=True) == ("region", "id")
    with pytest.raises(Refused, match="make_input"):
        identity_of(source, "job.py")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (b"def build(", "not Python: line 1"),
        (b"\xff\xfe\x00", "not Python"),
        (b"", "no function build"),
        (
            JOB.replace(b"def build", b"build = lambda spark, source, sink, checkpoint: 1\ndef other"),
            "no function build",
        ),
        (JOB.replace(b"sink, checkpoint)", b"sink)"), "build does not take spark, source, sink, checkpoint"),
        (JOB.replace(b"sink, checkpoint)", b"sink, checkpoint, *, mode)"), "build does not take"),
        (JOB.replace(b"def build", b"async def build"), "build does not take"),
        (JOB.replace(b"rows: int = 4", b"rows: int"), "make_input does not take seed, batch"),
        (without(JOB, b'IDENTITY: list[str] = ["region", "id"]'), "no IDENTITY"),
        (JOB.replace(b'["region", "id"]', b"[]"), "no IDENTITY"),
        (JOB.replace(b'["region", "id"]', b'"id"'), "no IDENTITY"),
        (JOB.replace(b'["region", "id"]', b"columns()"), "no IDENTITY"),
        (JOB.replace(b'= ["region", "id"]', b""), "no IDENTITY"),
    ],
)
def test_what_is_no_job_is_refused_in_words(source: bytes, told: str) -> None:
    with pytest.raises(Refused) as refusal:
        identity_of(source, "job.py")
    assert told in refusal.value.message
    assert "build(spark, source, sink, checkpoint)" in (refusal.value.next_step or "")


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No such file"):
        check_job(str(tmp_path / "job.py"))


def test_a_job_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_bytes(JOB)
    check_job(str(path))
    path.write_bytes(b"")
    with pytest.raises(Refused, match="is not a job"):
        check_job(str(path))


@pytest.mark.parametrize("rows", [{"id": 1}, [1], [], None, [{"id": 1}, "ash"], [{"at": Path()}]])
def test_input_that_is_no_rows_is_refused(rows: Any) -> None:
    with pytest.raises(Refused, match="for batch 3"):
        check_input(rows, 3)


def test_input_may_have_the_same_row_twice() -> None:
    rows = [{"id": 1, "name": "ash"}, {"id": 1, "name": "ash"}]
    assert check_input(rows, 0) == rows


# -- specifications ----------------------------------------------------------------------------------------------------


def spec(**changes: Any) -> str:
    return json.dumps({name: value for name, value in (SPEC | changes).items() if value is not None})


def test_the_scratch_directory_is_put_in() -> None:
    found = parse_spec(spec(input="/data/in", timeout_s=30), "spec.json", SCRATCH)
    assert found.command == ("spark-submit", "job.py", "--to", "/tmp/ckpt-crash-1/sink")
    assert (found.checkpoint, found.sink.path) == ("/tmp/ckpt-crash-1/checkpoint", "/tmp/ckpt-crash-1/sink")
    assert (found.identity, found.input, found.timeout_s) == (("id",), "/data/in", 30)


def test_a_command_may_be_one_text() -> None:
    found = parse_spec(spec(command="spark-submit 'my job.py' {scratch}"), "spec.json", SCRATCH)
    assert found.command == ("spark-submit", "my job.py", "/tmp/ckpt-crash-1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not a specification"),
        ("[]", "Expected `object`"),
        (spec(command=None), "required field `command`"),
        (spec(command=[]), "needs a command"),
        (spec(command="'"), "not a specification"),
        (spec(identity=[]), "an identity"),
        (spec(timeout_s=0), "time to run"),
        (spec(timeout_s="long"), "at `$.timeout_s`"),
        (spec(sinc="?"), "unknown field `sinc`"),
        (spec(sink={"kind": "jdbc", "path": "{scratch}/sink"}), "'jdbc' - at `$.sink.kind`"),
        (spec(checkpoint="/data/checkpoints/orders"), "the checkpoint is to lie at /data/checkpoints/orders"),
        (spec(checkpoint="{scratch}"), "the checkpoint is to lie at"),
        (spec(checkpoint="{scratch}/../orders"), "the checkpoint is to lie at"),
        (spec(sink={"kind": "delta", "path": "s3://lake/orders"}), "the sink is to lie at s3://lake/orders"),
    ],
)
def test_what_is_no_specification_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_spec(text, "spec.json", SCRATCH)
    assert told in refusal.value.message


def test_a_specification_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text(spec())
    assert load_spec(str(path), SCRATCH).sink.kind == "delta"
    path.write_bytes(b"\xff")
    with pytest.raises(Refused, match="UTF-8"):
        load_spec(str(path), SCRATCH)
    with pytest.raises(NotFound):
        load_spec(str(tmp_path / "none.json"), SCRATCH)
