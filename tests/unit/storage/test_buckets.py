"""The clients of the three object stores: what is made of their answers, and what of one that breaks off.

Each client is stood in for by what it answers, and never by what it was called with; real servers are asked in
tests/contract.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from ckpttool.storage.bodies import TooLong
from ckpttool.storage.buckets import TRIES, AzureBucket, Entry, GoogleBucket, S3Bucket, silence_clients

MOMENT, MOMENT_MS = datetime(2024, 5, 6, 7, 8, 9, 123_456, UTC), 1_714_979_289_123
T = TypeVar("T")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda *_: 0.0)


def told(answer: Awaitable[T]) -> T:
    async def wait() -> T:
        return await answer

    return asyncio.run(wait())


def in_turn(*answers: Any) -> Callable[..., Any]:
    """Gives them one after the other, or raises them; the last again and again."""
    waiting = list(answers)

    def answer(*_: Any, **__: Any) -> Any:
        one = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(one, Exception):
            raise one
        return one

    return answer


# -- S3 ----------------------------------------------------------------------------------------------------------------


class Body:
    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aenter__(self) -> Body:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self) -> bytes:
        return self.content


def s3(*answers: Any) -> S3Bucket:
    next_answer = in_turn(*answers)

    async def call(*_: Any, **__: Any) -> Any:
        return next_answer()

    async def session() -> object:
        return object()

    return S3Bucket(SimpleNamespace(loop=None, _call_s3=call, set_session=session, req_kw={}), "b")


def s3_object(content: bytes, announced: int | None = None) -> dict[str, Any]:
    length = len(content) if announced is None else announced
    return {"Body": Body(content), "ContentLength": length, "ETag": '"7"'}


@pytest.mark.parametrize(
    "moment", [MOMENT, MOMENT.isoformat(), MOMENT.replace(tzinfo=None), "2024-05-06T07:08:09.123Z"]
)
def test_a_page_of_s3(moment: Any) -> None:
    listed = [
        {"Key": "ck/0", "Size": 3, "LastModified": moment, "ETag": '"1"'},
        {"Key": "ck/empty/", "Size": 0, "LastModified": moment},
    ]
    folded = [{"Prefix": "ck/offsets/"}]
    answer = {"Contents": listed, "CommonPrefixes": folded, "IsTruncated": True, "NextContinuationToken": "t"}
    page = told(s3(answer).page("ck/", flat=False))
    assert page.entries == [Entry("ck/0", 3, MOMENT_MS, False, '"1"'), Entry("ck/empty/", 0, MOMENT_MS, True)]
    assert (page.folders, page.token) == (["ck/offsets/"], "t")


def test_the_last_page_of_s3_has_no_token() -> None:
    page = told(s3({"IsTruncated": False, "NextContinuationToken": "t"}).page("none/", flat=True))
    assert (list(page.entries), page.token) == ([], None)


def test_a_body_of_s3_comes_with_its_version_unless_it_is_too_long() -> None:
    assert told(s3(s3_object(b"abc")).get("k", 3)) == (b"abc", '"7"')
    with pytest.raises(TooLong):
        told(s3(s3_object(b"abcd")).get("k", 3))


def test_whether_an_object_of_s3_is_there() -> None:
    assert told(s3({}).exists("k"))
    assert not told(s3(FileNotFoundError()).exists("k"))
    with pytest.raises(PermissionError):
        told(s3(PermissionError()).exists("k"))


# -- what passes, and what stays ---------------------------------------------------------------------------------------


class ClientPayloadError(Exception):
    """As aiohttp's is named."""


def busy() -> Exception:
    """As s3fs raises what botocore has raised."""
    error, cause = OSError("slow down"), Exception()
    cause.response = {"ResponseMetadata": {"HTTPStatusCode": 429}}  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


BROKEN_OFF = {
    "cut": s3_object(b"ab", 3),
    "payload": ClientPayloadError(),
    "reset": ConnectionResetError(),
    "busy": busy(),
}


@pytest.mark.parametrize("fault", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_what_broke_off_is_asked_for_again(fault: Any) -> None:
    assert told(s3(*[fault] * (TRIES - 1), s3_object(b"abc")).get("k", 9))[0] == b"abc"


def test_what_breaks_off_each_time_is_given_up() -> None:
    with pytest.raises(ConnectionError, match="broke off"):
        told(s3(*[s3_object(b"ab", 3)] * TRIES, s3_object(b"abc")).get("k", 9))


@pytest.mark.parametrize("error", [PermissionError("AccessDenied"), FileNotFoundError(), ValueError()], ids=repr)
def test_a_refusal_is_not_asked_for_again(error: Exception) -> None:
    with pytest.raises(type(error)):
        told(s3(error, s3_object(b"abc")).get("k", 9))


# -- Azure -------------------------------------------------------------------------------------------------------------


class AzurePages:
    """One page of blobs, and where the next begins."""

    def __init__(self, blobs: list[Any], token: str | None) -> None:
        self.blobs, self.continuation_token = blobs, token

    def by_page(self, **_: Any) -> AzurePages:
        return self

    async def __anext__(self) -> AsyncIterator[Any]:
        async def blobs() -> AsyncIterator[Any]:
            for blob in self.blobs:
                yield blob

        return blobs()


class Blob(SimpleNamespace):
    def get(self, name: str) -> Any:
        return getattr(self, name, None)


def azure(pages: AzurePages | None = None, download: Any = None) -> AzureBucket:
    next_answer = in_turn(download)

    async def ask(*_: Any) -> Any:
        return next_answer()

    container = SimpleNamespace(list_blobs=lambda **_: pages, walk_blobs=lambda **_: pages)
    blob = SimpleNamespace(download_blob=ask, exists=ask)
    client = SimpleNamespace(get_container_client=lambda _: container, get_blob_client=lambda *_: blob)
    return AzureBucket(SimpleNamespace(loop=None, service_client=client), "c")


def test_a_page_of_azure() -> None:
    def blob(name: str, size: int, **metadata: str) -> Blob:
        return Blob(name=name, size=size, last_modified=MOMENT, etag="0x1", metadata=metadata or None)

    blobs = [blob("ck/0", 3), blob("ck/made", 0, hdi_isfolder="True"), blob("ck/end/", 0), Blob(name="ck/offsets/")]
    page = told(azure(AzurePages(blobs, "")).page("ck/", flat=False))
    assert [(one.key, one.is_directory) for one in page.entries] == [
        ("ck/0", False),
        ("ck/made", True),
        ("ck/end/", True),
    ]
    assert page.entries[0] == Entry("ck/0", 3, MOMENT_MS, False, "0x1")
    assert (page.folders, page.token) == (["ck/offsets/"], None)


def azure_blob(content: bytes) -> Any:
    async def readall() -> bytes:
        return content

    return SimpleNamespace(size=len(content), readall=readall, properties=SimpleNamespace(etag='"0x1"'))


def test_a_version_of_azure_is_the_one_that_its_listing_tells() -> None:
    assert told(azure(download=azure_blob(b"abc")).get("k", 3)) == (b"abc", "0x1")
    with pytest.raises(TooLong):
        told(azure(download=azure_blob(b"abcd")).get("k", 3))


def azure_error(status: int, code: str | None = None) -> Exception:
    error = Exception("some words")
    error.status_code, error.error_code = status, code  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (azure_error(404), FileNotFoundError, ""),
        (azure_error(403, "AuthorizationFailure"), PermissionError, "AuthorizationFailure"),
        (azure_error(401), PermissionError, "AccessDenied"),
        (azure_error(409), Exception, "some words"),
    ],
)
def test_an_error_of_azure_is_of_the_kind_that_its_status_says(error: Exception, kind: type, word: str) -> None:
    bucket = azure(download=error)
    for look in (bucket.get("k", 9), bucket.exists("k")):
        with pytest.raises(kind) as raised:
            told(look)
        assert (type(raised.value), str(raised.value)) == (kind, word)


# -- Google ------------------------------------------------------------------------------------------------------------


def google(*answers: Any) -> GoogleBucket:
    next_answer = in_turn(*answers)

    async def call(*_: Any, **__: Any) -> Any:
        return next_answer()

    return GoogleBucket(SimpleNamespace(loop=None, _call=call, url=str), "b")


def test_a_page_of_google() -> None:
    items = [
        {"name": "ck/0", "size": "3", "updated": "2024-05-06T07:08:09.123Z", "generation": "9"},
        {"name": "ck/empty/", "size": "0", "updated": "2024-05-06T07:08:09.123Z"},
    ]
    page = told(google({"items": items, "prefixes": ["ck/offsets/"], "nextPageToken": "t"}).page("ck/", flat=False))
    assert page.entries == [Entry("ck/0", 3, MOMENT_MS, False, "9"), Entry("ck/empty/", 0, MOMENT_MS, True)]
    assert (page.folders, page.token) == (["ck/offsets/"], "t")
    nothing = told(google({}).page("none/", flat=True))
    assert (list(nothing.entries), list(nothing.folders), nothing.token) == ([], [], None)


def test_a_body_of_google_is_whole_and_within_the_limit() -> None:
    headers = {"Content-Length": "3", "X-Goog-Generation": "9"}
    assert told(google((headers, b"abc")).get("k", 3)) == (b"abc", "9")
    assert told(google((headers, b"ab"), (headers, b"abc")).get("k", 3)) == (b"abc", "9")
    with pytest.raises(TooLong):
        told(google((headers, b"abcd")).get("k", 3))


def test_what_google_forbids_is_told_apart_from_what_failed() -> None:
    with pytest.raises(PermissionError, match="AccessDenied"):
        told(google(OSError("Forbidden: https://…")).get("k", 9))
    with pytest.raises(OSError, match="no such host"):
        told(google(OSError("no such host")).exists("k"))
    assert not told(google(FileNotFoundError()).exists("k"))


# -- silence -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["azure", "botocore", "gcsfs"])
def test_clients_write_nothing_of_their_own(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody handles Python writes to standard error by itself."""
    logger = logging.getLogger(name)
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)  # to what pytest listens with
    silence_clients()
    logger.warning("https://host/key?sig=x")
    assert capsys.readouterr().err == ""
