"""The three object stores, asked in the same four ways through the clients that fsspec opened: a page of names, a body,
and whether there is one. What they raise is the client's; `objects.py` makes one error of each.

fsspec's own methods hide requests (a HEAD before each GET, whole listings behind `exists`, one file after the other)
and are not used. Credentials, endpoints and retries of single requests stay the clients'.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from ckpttool.formats.bucket_rules import Expiry, parse_google_rules, parse_s3_rules
from ckpttool.storage.bodies import TooLong, counted_by_azure

TRIES = 4  # at a body that breaks off; the clients repeat what is refused or not answered at all

T = TypeVar("T")
Span = tuple[int, int] | None


class Entry(Struct, frozen=True):
    """An object; `is_directory`: it only marks one. Keys are whole, from the top of the bucket. `version`: another one
    after each write; empty where the store does not tell."""

    key: str
    size_bytes: int
    modified_ms: int | None
    is_directory: bool
    version: str = ""


class Page(Struct, frozen=True):
    """`folders`: what keys were folded into, with the slash at the end. `token` None: the last page."""

    entries: Sequence[Entry]
    folders: Sequence[str]
    token: str | None


class Bucket(Protocol):
    loop: Any

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        """Names that begin with `prefix`, in order: all (`flat`), or down to the next slash."""

    async def get(self, key: str, most: int, span: Span = None) -> tuple[bytes, str]:
        """The whole body of at most so many bytes, or from a byte up to another, and its version; raises
        FileNotFoundError, TooLong, or the client's own."""

    async def exists(self, key: str) -> bool:
        """Whether there is such an object, without its body."""


class S3Bucket:
    page_size = 1000

    def __init__(self, fs: Any, name: str) -> None:
        self.loop = fs.loop
        self.fs = fs
        self.name = name
        fs.retries = 1  # botocore's own are enough, and would be multiplied

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        more: dict[str, Any] = {"MaxKeys": self.page_size}
        if not flat:
            more["Delimiter"] = "/"
        if token:
            more["ContinuationToken"] = token
        answer = await _patiently(lambda: self._call("list_objects_v2", Prefix=prefix, **more))
        entries = [
            Entry(
                one["Key"],
                one["Size"],
                milliseconds(one["LastModified"]),
                one["Key"].endswith("/"),
                one.get("ETag", ""),
            )
            for one in answer.get("Contents", ())
        ]
        folders = [one["Prefix"] for one in answer.get("CommonPrefixes", ())]
        return Page(entries, folders, answer.get("NextContinuationToken") if answer.get("IsTruncated") else None)

    async def get(self, key: str, most: int, span: Span = None) -> tuple[bytes, str]:
        async def attempt() -> tuple[bytes, str]:
            part = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else {}
            answer = await self._call("get_object", Key=key, **part)
            async with answer["Body"] as body:
                if answer.get("ContentLength", 0) > most:
                    raise TooLong
                whole = await body.read()
                return _whole(whole, answer.get("ContentLength", len(whole))), answer.get("ETag", "")

        return await _patiently(attempt)

    async def exists(self, key: str) -> bool:
        try:
            await self._call("head_object", Key=key)
        except FileNotFoundError:
            return False
        return True

    async def expiries(self) -> tuple[Expiry, ...]:
        """The rules by which the bucket takes objects away."""
        try:
            answer = await self._call("get_bucket_lifecycle_configuration")
        except OSError as error:
            if "NoSuchLifecycleConfiguration" in f"{error} {error.__cause__}":
                return ()
            raise
        return parse_s3_rules(answer.get("Rules"))

    async def is_versioned(self) -> bool:
        """Whether what is overwritten or deleted can be had again."""
        return bool((await self._call("get_bucket_versioning")).get("Status") == "Enabled")

    async def _call(self, method: str, **arguments: Any) -> Any:
        client = await self.fs.set_session()
        with suppress(AttributeError):  # dates of a thousand objects take longer than all the rest of a page
            client._endpoint._response_parser_factory.set_parser_defaults(timestamp_parser=str)
        return await self.fs._call_s3(method, Bucket=self.name, **arguments, **self.fs.req_kw)


class AzureBucket:
    page_size = 5000

    def __init__(self, fs: Any, name: str) -> None:
        self.loop = fs.loop
        self.fs = fs
        self.name = name
        with suppress(AttributeError):  # the client waits 15 s before it asks again, and there is no option
            retry = fs.service_client._config.retry_policy
            retry.initial_backoff, retry.increment_base, retry.random_jitter_range = 1, 2, 1

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        container = self.fs.service_client.get_container_client(self.name)
        arguments: dict[str, Any] = {"name_starts_with": prefix or None, "include": ["metadata"]}
        arguments["results_per_page"] = self.page_size
        found = container.list_blobs(**arguments) if flat else container.walk_blobs(**arguments, delimiter="/")

        async def attempt() -> tuple[Any, list[Any]]:
            pages = found.by_page(continuation_token=token)
            await counted_by_azure(self.fs.service_client)
            try:
                return pages, [one async for one in await anext(pages)]
            except Exception as error:
                raise azure_error(error) from None

        pages, blobs = await _patiently(attempt)
        entries, folders = [], []
        for one in blobs:
            if one.get("last_modified") is None:  # keys folded into one
                folders.append(one.name)
            else:
                entries.append(azure_entry(one))
        return Page(entries, folders, pages.continuation_token or None)

    async def get(self, key: str, most: int, span: Span = None) -> tuple[bytes, str]:
        async def attempt() -> tuple[bytes, str]:
            blob = self.fs.service_client.get_blob_client(self.name, key)
            await counted_by_azure(self.fs.service_client)
            try:
                offset, length = (span[0], span[1] - span[0]) if span else (None, None)
                answer = await blob.download_blob(offset, length)
                if answer.size > most:
                    raise TooLong
                return _whole(await answer.readall(), answer.size), unquoted(answer.properties.etag)
            except Exception as error:
                raise azure_error(error) from None

        return await _patiently(attempt)

    async def exists(self, key: str) -> bool:
        try:
            return bool(await self.fs.service_client.get_blob_client(self.name, key).exists())
        except Exception as error:
            raise azure_error(error) from None


class GoogleBucket:
    page_size = 1000

    def __init__(self, fs: Any, name: str) -> None:
        self.loop = fs.loop
        self.fs = fs
        self.name = name

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        answer = await self._call(
            "b/{}/o",
            self.name,
            prefix=prefix or None,
            delimiter=None if flat else "/",
            pageToken=token,
            maxResults=self.page_size,
            json_out=True,
        )
        entries = [
            Entry(
                one["name"],
                int(one["size"]),
                milliseconds(one["updated"]),
                one["name"].endswith("/"),
                one.get("generation", ""),
            )
            for one in answer.get("items", ())
        ]
        return Page(entries, answer.get("prefixes", ()), answer.get("nextPageToken"))

    async def get(self, key: str, most: int, span: Span = None) -> tuple[bytes, str]:
        async def attempt() -> tuple[bytes, str]:
            part = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else None
            headers, body = await self._call(self.fs.url(f"{self.name}/{key}"), headers=part)
            if len(body) > most:
                raise TooLong
            whole = _whole(body, int(headers.get("Content-Length", len(body))))
            return whole, headers.get("X-Goog-Generation", "")

        return await _patiently(attempt)

    async def exists(self, key: str) -> bool:
        try:
            await self._call("b/{}/o/{}", self.name, key, json_out=True)
        except FileNotFoundError:
            return False
        return True

    async def expiries(self) -> tuple[Expiry, ...]:
        answer = await self._call("b/{}", self.name, fields="lifecycle", json_out=True)
        return parse_google_rules(answer.get("lifecycle", {}).get("rule"))

    async def is_versioned(self) -> bool:
        answer = await self._call("b/{}", self.name, fields="versioning,softDeletePolicy", json_out=True)
        soft = answer.get("softDeletePolicy", {}).get("retentionDurationSeconds", "0")
        return bool(answer.get("versioning", {}).get("enabled")) or soft not in ("0", 0)

    async def _call(self, *arguments: Any, **more: Any) -> Any:
        """The client says only in words that something is forbidden."""
        try:
            return await self.fs._call("GET", *arguments, **more)
        except OSError as error:
            raise PermissionError("AccessDenied") if str(error).startswith("Forbidden") else error from None


BUCKETS: Mapping[str, Callable[[Any, str], Bucket]] = {
    "s3": S3Bucket,
    "abfs": AzureBucket,
    "gs": GoogleBucket,
    "gcs": GoogleBucket,
}


def silence_clients() -> None:
    """They write to standard error what we tell in one line, and with URLs that may be signed."""
    import logging

    for name in ("adlfs", "aiobotocore", "asyncio", "azure", "botocore", "fsspec", "gcsfs", "google", "s3fs"):
        logging.getLogger(name).addHandler(logging.NullHandler())


def azure_entry(blob: Any) -> Entry:
    marks = (blob.metadata or {}).get("hdi_isfolder", "").lower() == "true"
    is_directory = marks or blob.name.endswith("/")
    return Entry(blob.name, blob.size, milliseconds(blob.last_modified), is_directory, unquoted(blob.etag))


def unquoted(etag: str | None) -> str:
    """Listings tell it without the quotation marks."""
    return (etag or "").strip('"')


def azure_error(error: Exception) -> Exception:
    """The client's own kinds say in their text what the others say by their type."""
    status = getattr(error, "status_code", None)
    if status == 404:
        return FileNotFoundError()
    return PermissionError(getattr(error, "error_code", None) or "AccessDenied") if status in (401, 403) else error


def _whole(body: bytes, announced: int) -> bytes:
    if len(body) != announced:
        raise ConnectionError("the body broke off")
    return body


async def _patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """What broke off is asked for again, a little later each time, and not by everybody at once."""
    for number in range(TRIES - 1):
        try:
            return await attempt()
        except Exception as error:
            if not _passes(error):
                raise
        await asyncio.sleep(random.uniform(0.05, 0.2) * 2**number)
    return await attempt()


def _passes(error: BaseException) -> bool:
    """A body cut short, and the one answer that botocore and Azure's client do not take for a request to wait."""
    names = {kind.__name__ for kind in type(error).__mro__}
    answer = getattr(error.__cause__, "response", None)
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(answer, dict) else None
    broke_off = names & {"ClientPayloadError", "ResponseStreamingError", "IncompleteReadError", "ReadTimeoutError"}
    busy = 429 in (status, getattr(error, "status_code", None))
    return isinstance(error, ConnectionError | TimeoutError) or bool(broke_off) or busy


def milliseconds(moment: datetime | str) -> int:
    """Text where the client was told not to spend its time on parsing it."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
