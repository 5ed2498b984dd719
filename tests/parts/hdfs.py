"""HDFS for real: Hadoop's mini cluster, one name node and one data node, from its published jars.

    python -m tests.parts.hdfs        # fetches the jars

Read over WebHDFS; Spark writes to it at `url`.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.parts import pins
from tests.parts.kafka import free_ports
from tests.parts.spark import MissingPart, ensure_java, resolve
from tests.parts.stores import ObjectServer

CLUSTER = "org.apache.hadoop.test.MiniDFSClusterManager"


class HdfsServer(ObjectServer):
    protocol = "hdfs"
    settings: Mapping[str, str] = {}  # Hadoop's own
    of_java: Sequence[str] = ()

    def __init__(self, seconds: float = 120) -> None:
        super().__init__(seconds)
        self._jars = ensure_hdfs()
        self._name_node, self.port = free_ports(2)

    @property
    def url(self) -> str:
        return f"hdfs://127.0.0.1:{self._name_node}"

    @property
    def options(self) -> dict[str, str]:  # type: ignore[override]
        return {"http_port": str(self.port)}

    @property
    def data_node(self) -> str:
        """Where bodies come from: `127.0.0.1:PORT`."""
        import requests

        asked = {"op": "CREATE", "user.name": getpass.getuser()}  # creates nothing before the data node is asked too
        answer = requests.put(f"{self.address}/webhdfs/v1/any", params=asked, timeout=60, allow_redirects=False)
        return answer.headers["Location"].split("/")[2]

    def command(self) -> Sequence[str]:
        java = [ensure_java(), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *self.of_java]
        ports = ["-nnport", str(self._name_node), "-httpport", str(self.port)]
        given = [part for key, value in self.settings.items() for part in ("-D", f"{key}={value}")]
        cluster = [CLUSTER, "-format", "-datanodes", "1", *ports, *given]
        return [*java, "-cp", os.pathsep.join(map(str, self._jars)), *cluster]

    def is_ready(self) -> bool:
        """The name node lets itself be written to when the data node has come."""
        import requests

        try:
            made = self._call("PUT", "/ready/1", "CREATE", data=b"1")
        except requests.RequestException:
            return False
        return made.ok

    def put(self, tree: Path, bucket: str) -> str:
        super().put(tree, bucket)
        return f"{self.url}/{bucket}"

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        def put(one: tuple[str, bytes]) -> None:
            name, body = one
            operation = ("MKDIRS", None) if name.endswith("/") else ("CREATE", body)
            self._call("PUT", f"/{bucket}/{name}", *operation, overwrite="true").raise_for_status()

        with ThreadPoolExecutor(8) as several:
            list(several.map(put, objects))

    def fingerprints(self, bucket: str) -> Mapping[str, object]:
        return {name: (told["fileId"], told["modificationTime"]) for name, told in self._files(bucket)}

    def times(self, bucket: str) -> Mapping[str, int]:
        return {name: told["modificationTime"] for name, told in self._files(bucket)}

    def forget(self) -> None:
        for told in self._list("/"):
            self._call("DELETE", f"/{told['pathSuffix']}", "DELETE", recursive="true").raise_for_status()

    def _files(self, bucket: str, below: str = "") -> Iterator[tuple[str, Any]]:
        for told in self._list(f"/{bucket}/{below}"):
            name = f"{below}{told['pathSuffix']}"
            if told["type"] == "DIRECTORY":
                yield from self._files(bucket, f"{name}/")
            else:
                yield name, told

    def _list(self, path: str) -> list[Any]:
        found: list[Any] = self._call("GET", path, "LISTSTATUS").json()["FileStatuses"]["FileStatus"]
        return found

    def _call(self, method: str, path: str, operation: str, data: bytes | None = None, **more: str) -> Any:
        """A body is handed to the data node that the name node names."""
        from urllib.parse import quote

        import requests

        address = f"{self.address}/webhdfs/v1{quote(path)}"
        query = {"op": operation, "user.name": getpass.getuser(), **more}
        answer = requests.request(method, address, params=query, timeout=60, allow_redirects=False)
        if "Location" in answer.headers:
            binary = {"Content-Type": "application/octet-stream"}
            answer = requests.request(method, answer.headers["Location"], data=data, timeout=60, headers=binary)
        return answer


def ensure_hdfs() -> list[Path]:
    """The cluster's jars, fetched once with the Ivy that Spark ships."""
    return resolve(f"hdfs-{pins.HDFS[0].rpartition(':')[2]}", pins.HDFS, spark="4.2.0")


if __name__ == "__main__":
    try:
        print(f"{len(ensure_hdfs())} jars of Hadoop's mini cluster")
    except MissingPart as missing:
        sys.exit(str(missing))
