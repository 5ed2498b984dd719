"""A proxy in a process of its own: delta-rs holds Python's lock while it waits for an answer to a commit, and would
wait for ever for one that a thread of the same process has to give.

It stands in for azurite in one thing: that lists no blobs from a name on (`startFrom`), as Azure does and delta-rs
relies on.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.apply.troubles import Trouble, let_fail
from tests.parts.proxy import Proxy, Raw, Request
from tests.parts.stores import ObjectServer

_BLOB = re.compile(rb"<Blob><Name>([^<]*)</Name>.*?</Blob>", re.DOTALL)


class FarProxy:
    """As `Proxy`, for those who count requests and let some fail."""

    def __init__(self, server: ObjectServer) -> None:
        self._server = server

    @property
    def options(self) -> dict[str, str]:
        moved = f"http://127.0.0.1:{self._port}"
        return {key: value.replace(self._server.address, moved) for key, value in self._server.options.items()}

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def requests(self) -> list[Request]:
        return [Request(*told) for told in self._told({})]

    def let_fail(self, trouble: Trouble | None) -> None:
        self._told({"trouble": asdict(trouble) if trouble else None})

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.apply.far_proxy", str(self._server.port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        (self._port,) = self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:  # it ends with its input
            pass

    def _told(self, words: Mapping[str, object]) -> list[Any]:
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(words)}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> list[Any]:
        assert self._process.stdout
        told: list[Any] = json.loads(self._process.stdout.readline())
        return told


class _Elsewhere(ObjectServer):
    def __init__(self, port: int) -> None:
        self.port, self.options = port, {}


class _ListsFrom(Proxy):
    def _forward(self, raw: Raw) -> tuple[int, Mapping[str, str], bytes]:
        status, headers, body = super()._forward(raw)
        (first,) = parse_qs(urlsplit(raw.path).query).get("startFrom", [""])
        if not first:
            return status, headers, body
        left = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        return status, left, _BLOB.sub(lambda blob: blob[0] if blob[1].decode() >= first else b"", body)


def main() -> None:
    with _ListsFrom(_Elsewhere(int(sys.argv[1]))) as proxy:
        print(json.dumps([int(proxy.address.rpartition(":")[2])]), flush=True)
        for line in sys.stdin:
            words = json.loads(line)
            if "trouble" in words:
                let_fail(proxy, Trouble(**words["trouble"]) if words["trouble"] else None)
            print(json.dumps([(one.method, one.path, one.query) for one in list(proxy.requests)]), flush=True)


if __name__ == "__main__":
    main()
