"""S3: PUT and DELETE with `If-Match` and `If-None-Match`. Conditions on copies are not relied on: not every store that
speaks S3 looks at them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ckpttool.apply.stores.base import Whole
from ckpttool.apply.stores.objects import Otherwise, WritableBucket
from ckpttool.storage.buckets import Entry, S3Bucket, milliseconds

_NONE = '"0"'  # a version that nothing has


class WritableS3(S3Bucket, WritableBucket):
    def __init__(self, fs: Any, name: str) -> None:
        super().__init__(fs, name)
        self._is_obeyed: bool | None = None  # the condition of a DELETE
        self._finding_out = asyncio.Lock()

    async def head(self, key: str) -> Entry | None:
        try:
            answer = await self._call("head_object", Key=key)
        except FileNotFoundError:
            return None
        return Entry(
            key,
            answer["ContentLength"],
            _modified_ms(answer["LastModified"]),
            key.endswith("/"),
            answer.get("ETag", ""),
        )

    async def clock_s(self, key: str) -> float | None:
        try:
            answer = await self._call("head_object", Key=key)
        except FileNotFoundError:
            return None
        told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return None if told is None else _modified_ms(told) / 1000

    async def put(self, key: str, body: Whole, version: str | None) -> str:
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        answer = await self._conditionally("put_object", Key=key, Body=body.anew(), **condition)
        return str(answer["ETag"])

    async def delete(self, key: str, version: str) -> None:
        """Not every store looks at the condition. Whether this one does is found out at the first object that is as
        it is expected to be: by a condition that it does not meet."""
        if self._is_obeyed is None:
            async with self._finding_out:
                if self._is_obeyed is None and await self._is_gone_all_the_same(key, version):
                    return
        if not self._is_obeyed:
            await self._expect(key, version)
        condition = {"IfMatch": version} if self._is_obeyed else {}
        await self._conditionally("delete_object", Key=key, **condition)

    async def _expect(self, key: str, version: str) -> None:
        found = await self.head(key)
        if found is None or found.version != version:
            raise Otherwise

    async def _is_gone_all_the_same(self, key: str, version: str) -> bool:
        """Whether a DELETE took it although its condition was not met."""
        await self._expect(key, version)
        try:
            await self._conditionally("delete_object", Key=key, IfMatch=_NONE)
        except Otherwise:
            self._is_obeyed = True
        else:
            self._is_obeyed = False
        return not self._is_obeyed

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        """The mark of a version is the MD5 of the bytes, unless they came in parts or are encrypted with a key of KMS:
        those that are the same are so in any case."""
        source = {"Bucket": self.name, "Key": entry.key}
        answer = await self._conditionally(
            "copy_object", Key=target, CopySource=source, CopySourceIfMatch=entry.version
        )
        version = str(answer["CopyObjectResult"]["ETag"])
        return version, version == entry.version

    async def _conditionally(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = await self._call(method, **arguments)
        except FileNotFoundError:
            raise Otherwise from None
        except Exception as error:
            if _status(error) == 412:
                raise Otherwise from None
            raise
        return answer


def _modified_ms(moment: datetime | str) -> int:
    """In an answer's head it is told otherwise than in a listing."""
    return milliseconds(parsedate_to_datetime(moment) if isinstance(moment, str) else moment)


def _status(error: Exception) -> int | None:
    """409 is no answer: another request for the same object was under way, and it may be tried again."""
    answer = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    return answer["ResponseMetadata"].get("HTTPStatusCode") if isinstance(answer, dict) else None
