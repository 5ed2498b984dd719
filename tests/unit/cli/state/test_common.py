"""What the commands of `ckpt state` share: which table is meant, its schema, and what cannot be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.unit.cli.state.commands import AGGREGATION, DEDUP, JOIN, OLD, Sample, at, copied, fields, lines


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("rows", JOIN), 2, "several stores; choose with --store"),
        (("rows", JOIN, "--operator", "3"), 4, "there is no operator 3"),
        (("rows", JOIN, "--store", "middle"), 4, "there is no store 'middle'"),
        (("rows", AGGREGATION, "--partition", "2"), 4, "there is no partition 2"),
        (("rows", AGGREGATION, "--batch", "99"), 4, "batch 99 of"),
        (("rows", AGGREGATION, "--where", "count"), 2, "'count' is no condition"),
        (("rows", AGGREGATION, "--where", "value.sum=1"), 2, "there is no column 'value.sum'"),
        (("get", DEDUP, '{"name":"nobody","at":"2023-11-14T22:13:20Z"}'), 4, "it was looked for in partition"),
        (("get", DEDUP, '{"nome":"x"}'), 2, "a key has no column 'nome'"),
        (("get", DEDUP, '{"name":7}'), 2, "does not fit the types of the key"),
        (("get", AGGREGATION, "1"), 2, "does not fit the types of the key"),
        (("diff", AGGREGATION, "--batch", "1"), 2, "give --batch twice"),
        (("verify", AGGREGATION, "--sample", "3/2"), 2, "expected N/T"),
        (("list", "4.2.0-file-to-parquet-sound"), 4, "holds no state"),
    ],
)
def test_what_cannot_be_done_is_said(sample: Sample, arguments: tuple[str, ...], code: int, said: str) -> None:
    command, name, *rest = arguments
    ran = run_ckpt("state", command, at(sample, name), *rest)
    assert ran.code == code
    assert said in " ".join(ran.err.split())


WINDOWS = "key STRUCT<window: STRUCT<start: TIMESTAMP, end: TIMESTAMP>>, value STRUCT<count: BIGINT>"


def test_a_schema_is_given_where_there_is_none(sample: Sample, tmp_path: Path) -> None:
    """As Spark before 3.1 left its state: the rows are those that the schema file would give."""
    copy = copied(sample(AGGREGATION) / "checkpoint", tmp_path)
    expected = lines(str(copy))
    changed = fields("diff", str(copy), "--batch", "1", "--batch", "4")["changes"]
    schema = copy / "state/0/0/_metadata/schema"
    saved = tmp_path / "schema"
    schema.rename(saved)
    (tmp_path / "ddl").write_text(WINDOWS)
    assert lines(str(copy)) != expected
    for given in (WINDOWS, str(tmp_path / "ddl"), str(saved)):
        assert lines(str(copy), "--schema", given) == expected
    assert fields("diff", str(copy), "--batch", "1", "--batch", "4", "--schema", WINDOWS)["changes"] == changed
    key = json.dumps(expected[0]["key"])
    assert fields("get", str(copy), key, "--schema", WINDOWS)["rows"] == expected[:1]
    fields("export", str(copy), str(tmp_path / "out"), "--to", "jsonl", "--schema", WINDOWS)
    exported = [line for part in sorted((tmp_path / "out").iterdir()) for line in part.read_text().splitlines()]
    assert [json.loads(line) for line in exported] == expected


def test_a_schema_that_does_not_fit_is_a_finding_or_wrong_usage(sample: Sample) -> None:
    old = at(sample, OLD)
    wide = "key STRUCT<" + ", ".join(f"c{one}: STRING" for one in range(9)) + ">, value STRUCT<count: BIGINT>"
    ran = run_ckpt("state", "rows", old, "--schema", wide)
    assert (ran.code, ran.out.count("\n") > 0) == (1, True)
    assert "state/0/0" in ran.err
    for path, schema in ((at(sample, AGGREGATION), WINDOWS), (old, "key INT"), (old, "key STRUCT<a: NOTHING>")):
        ran = run_ckpt("state", "rows", path, "--schema", schema)
        assert (ran.code, ran.out) == (2, "")
        assert "schema" in ran.err
