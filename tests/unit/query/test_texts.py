"""Which form a text has, by its content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.query.model import DescribedFrom, Description, Query, fields_of
from ckpttool.query.saved import BadDescription
from ckpttool.query.texts import describe_text

PRINTED = Path(__file__).with_name("printed")
SAVED = {"schema": "ckpt.query/1", **fields_of(Description(DescribedFrom("job", "a.py"), "4.2.0", (
    Query("batchId", None, None, ()),)))}  # fmt: skip
PROGRESS = (PRINTED / "both-progress-4.2.0.json").read_bytes()


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (json.dumps(SAVED).encode(), "job"),
        (PROGRESS, "progress"),
        (b"[" + PROGRESS + b"]", "progress"),
        (b"INFO Streaming query made progress: " + PROGRESS, "progress"),
        ((PRINTED / "windows-extended-3.5.7.txt").read_bytes(), "explain"),
        ((PRINTED / "windows-extended-3.5.7.txt").read_bytes().replace(b"\n", b"\r\n"), "explain"),
    ],
)
def test_a_form_is_known_by_its_content(body: bytes, form: str) -> None:
    description = describe_text(body, "some.txt")
    assert description
    assert description.origin.form == form
    assert (description.origin.sha256 is None) == (form == "job")


@pytest.mark.parametrize("body", [b"", b"import pyspark\n", b"\xff\xfe"])
def test_other_text_may_be_a_job(body: bytes) -> None:
    assert describe_text(body, "job") is None


def test_what_is_called_a_job_is_one() -> None:
    assert describe_text(b'"""\n== Physical Plan ==\n"""', "job.py") is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"== Physical Plan ==\nLocalTableScan\n", "it reads from no source"),
        (b'[{"batchId": 1}]', "no progress of a query"),
        (b"{}", "no schema ckpt.query/1"),
    ],
)
def test_a_text_that_is_not_whole_is_refused_with_a_next_step(body: bytes, why: str) -> None:
    with pytest.raises(BadDescription, match=why) as error:
        describe_text(body, "some.txt")
    assert error.value.next_step
