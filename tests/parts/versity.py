"""S3 of another make: versitygw over a directory. Built with Go.

python -m tests.parts.versity     # builds it
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.parts import pins
from tests.parts.cache import ensure_directory
from tests.parts.spark import MissingPart
from tests.parts.stores import ObjectServer, S3Server


class VersityServer(S3Server):
    def command(self) -> Sequence[str]:
        program = ensure_versity() / "versitygw"
        data, beside = self._folder / "data", self._folder / "beside"
        for folder in (data, beside):
            folder.mkdir()
        keys = ["--access", "testing", "--secret", "testing"]
        return [str(program), *keys, "--port", f"127.0.0.1:{self.port}", "posix", "--sidecar", str(beside), str(data)]

    def forget(self) -> None:
        ObjectServer.forget(self)


def ensure_versity() -> Path:
    def build(target: Path) -> None:
        go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
        if go is None:
            raise MissingPart("versitygw is built with Go, and no `go` is on the path: install Go 1.24 or later")
        target.mkdir(parents=True)
        environment = os.environ | {"GOBIN": str(target)}
        made = subprocess.run(
            [go, "install", pins.VERSITY], env=environment, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise MissingPart(f"{pins.VERSITY} could not be built:\n{made.stderr[-3000:]}")

    return ensure_directory(pins.VERSITY.rpartition("/")[2], [pins.VERSITY], build)


if __name__ == "__main__":
    try:
        print(ensure_versity())
    except MissingPart as missing:
        sys.exit(str(missing))
