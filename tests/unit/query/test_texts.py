"""Which form a text has, by its content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ckpttool.query.model import DescribedFrom, Description, Query, fields_of
from ckpttool.query.saved import BadDescription
from ckpttool.query.texts import describe_text
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.query import query_document

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


@pytest.mark.parametrize("pack", [gzip.compress, lambda body: b"\x28\xb5\x2f\xfd\0" + body, lambda body: body + b"\0"])
def test_what_is_no_text_is_no_job(pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(BadDescription, match="is no text") as error:
        describe_text(pack(PROGRESS), "events.gz")
    assert error.value.next_step == "decompress it: zcat events.gz | ckpt query describe -"


BRIEF = json.dumps(json.loads(PROGRESS)).encode()
EVENTS = b'{"Event":"SparkListenerLogStart"}\n{"Event":"QueryProgressEvent","progress":' + BRIEF + b"}\n"


@pytest.mark.parametrize(
    "body",
    [
        b"INFO made progress: " + b"x" * 5_000_000,
        b"INFO Streaming query made progress: " + b"{" * 500_000,
        b'INFO Streaming query made progress: {"batchId": ' * 50_000,
        b'{"batchId":' + b"[" * 500_000,
        b'{"batchId":1,"id":"a","sources":[{"description":"FileStreamSource[' + b"a[" * 2_000_000 + b']"}]}',
        b"== Physical Plan ==\n" + b"\n".join(b" " * depth + b"+- Project [x]" for depth in range(2000)),
        b"== Physical Plan ==\nStreamingRelation " + b"x, " * 1_000_000,
        b"== Physical Plan ==\nStreamingRelation FileSource[" + b"[" * 500_000,
        EVENTS[:-40],
        EVENTS.replace(b"},", b"}"),
    ],
)
def test_text_that_somebody_made_up_is_refused_or_told_at_once(body: bytes) -> None:
    with suppress(BadDescription):
        describe_text(body, "some.log")


def test_an_event_log_that_is_being_written_is_told_as_far_as_it_goes() -> None:
    huge = b'{"Event":"Other","of":"' + b"y" * 2_000_000 + b'"}\n'
    for cut in range(0, len(BRIEF), 97):
        description = describe_text(EVENTS + huge + EVENTS[34 : 80 + cut], "events")
        assert description
        assert [query.name for query in description.queries] == ["both"]


def test_control_characters_and_secrets_of_a_text_reach_no_terminal() -> None:
    progress = json.loads(PROGRESS) | {"name": "\x1b[31mred\u202e\0", "sources": [
        {"description": "FileStreamSource[s3a://user:tiger@lake/\x1b[2Jin?password=tiger]"}]}  # fmt: skip
    description = describe_text(json.dumps(progress).encode(), "events")
    assert description
    for form in ("text", "json"):
        shown = "".join(render(query_document(description), form, plain))
        assert "tiger" not in shown
        assert not [one for one in shown if one != "\n" and not one.isprintable()]


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
