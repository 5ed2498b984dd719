"""Azure: blobs with `If-Match` and `If-None-Match`, which the store keeps for uploads, deletions and the sources of
copies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from ckpttool.apply.stores.base import Whole
from ckpttool.apply.stores.objects import Otherwise, WritableBucket
from ckpttool.storage.bodies import counted_by_azure
from ckpttool.storage.buckets import AzureBucket, Entry, azure_entry, azure_error, unquoted

_LOOKS = 240  # at a copy that is under way
_BETWEEN_S = 0.5

T = TypeVar("T")


class WritableAzure(AzureBucket, WritableBucket):
    async def head(self, key: str) -> Entry | None:
        try:
            blob = await self._answered(self._blob(key).get_blob_properties())
        except Otherwise:
            return None
        return azure_entry(blob)

    async def clock_s(self, key: str) -> float | None:
        told: list[str | None] = []
        asked = self._blob(key).get_blob_properties(
            raw_response_hook=lambda answer: told.append(answer.http_response.headers.get("Date"))
        )
        try:
            await self._answered(asked)
        except Otherwise:
            return None
        return parsedate_to_datetime(told[-1]).timestamp() if told and told[-1] else None

    async def put(self, key: str, body: Whole, version: str | None) -> str:
        """A name that ends in `/` marks a directory, in the way of this store."""
        mark = {"hdi_isfolder": "true"} if key.endswith("/") else None
        condition = {} if version is None else _only_if(version)
        blob = self._blob(key.rstrip("/"))
        asked = blob.upload_blob(
            body.anew(), length=body.size, overwrite=version is not None, metadata=mark, **condition
        )
        return unquoted((await self._answered(asked))["etag"])

    async def delete(self, key: str, version: str) -> None:
        await self._answered(self._blob(key).delete_blob(**_only_if(version)))

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        """Within an account. What has succeeded has all bytes of the version that was asked for."""
        source, blob = self._blob(entry.key), self._blob(target)
        condition = {f"source_{name}": value for name, value in _only_if(entry.version).items()}
        answer = await self._answered(blob.start_copy_from_url(source.url, **condition))
        for _ in range(_LOOKS):
            if answer["copy_status"] == "success":
                return unquoted(answer["etag"]), True
            await asyncio.sleep(_BETWEEN_S)
            found = await self._answered(blob.get_blob_properties())
            answer = {"copy_status": found.copy.status, "etag": found.etag}
        raise TimeoutError("a copy within the store does not come to an end")

    def _blob(self, key: str) -> Any:
        return self.fs.service_client.get_blob_client(self.name, key)

    async def _answered(self, asked: Awaitable[T]) -> T:
        await counted_by_azure(self.fs.service_client)
        try:
            return await asked
        except Exception as error:
            if getattr(error, "status_code", None) in (404, 409, 412):
                raise Otherwise from None
            raise azure_error(error) from None


def _only_if(version: str) -> dict[str, Any]:
    from azure.core import MatchConditions

    return {"etag": f'"{version}"', "match_condition": MatchConditions.IfNotModified}
