"""Google Cloud Storage: every object has a generation, another one after each write, and a change names the one that it
happens to; 0 is none."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

from ckpttool.apply.stores.base import Whole
from ckpttool.apply.stores.objects import Otherwise, WritableBucket
from ckpttool.storage.buckets import Entry, GoogleBucket, milliseconds

_NAME = "b/{}/o/{}"
_BYTES = {"Content-Type": "application/octet-stream"}


class WritableGoogle(GoogleBucket, WritableBucket):
    async def head(self, key: str) -> Entry | None:
        try:
            found = await self._call(_NAME, self.name, key, json_out=True)
        except FileNotFoundError:
            return None
        modified = milliseconds(found["updated"])
        return Entry(key, int(found["size"]), modified, key.endswith("/"), found["generation"])

    async def clock_s(self, key: str) -> float | None:
        try:
            headers, _ = await self._call(_NAME, self.name, key)
        except FileNotFoundError:
            return None
        told = headers.get("Date")
        return parsedate_to_datetime(told).timestamp() if told else None

    async def put(self, key: str, body: Whole, version: str | None) -> str:
        path = f"{self.fs._location}/upload/storage/v1/b/{self.name}/o"
        asked = {"uploadType": "media", "name": key, "ifGenerationMatch": version or "0"}
        made = await self._change("POST", path, headers=_BYTES, data=body.anew(), json_out=True, **asked)
        return str(made["generation"])

    async def delete(self, key: str, version: str) -> None:
        await self._change("DELETE", _NAME, self.name, key, ifGenerationMatch=version)

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        """A large one takes several requests. What is done has all bytes of the generation that was asked for."""
        path, names = f"{_NAME}/rewriteTo/{_NAME}", (self.name, entry.key, self.name, target)
        asked = {"ifSourceGenerationMatch": entry.version}
        answer = await self._change("POST", path, *names, json_out=True, **asked)
        while not answer["done"]:
            answer = await self._change(
                "POST", path, *names, json_out=True, rewriteToken=answer["rewriteToken"], **asked
            )
        return str(answer["resource"]["generation"]), True

    async def _change(self, method: str, *arguments: Any, **more: Any) -> Any:
        try:
            return await self.fs._call(method, *arguments, **more)
        except (FileExistsError, FileNotFoundError):  # the client's words for 412 and 404
            raise Otherwise from None
        except OSError as error:
            raise PermissionError("AccessDenied") if str(error).startswith("Forbidden") else error from None
