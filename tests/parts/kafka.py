"""A real Kafka broker: one node, KRaft, from its published jars.

    with Broker() as broker:
        ...broker.address...

Extras its plain listener it has those that are asked for, each with settings of its own.

The broker is killed with its process group; if this process dies first, a guard sees its standard input end and kills
the broker.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.parts import pins
from tests.parts.spark import MissingPart, ensure_java, resolve

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={advertised}
listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT
log.dirs={folder}/data
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.index.size.max.bytes=65536
file.delete.delay.ms=1000
log.retention.hours=-1
"""
# The shell waits on its standard input, which nobody writes to: it ends when the parent does, however it dies.
GUARD = 'exec 3<&0; "$@" </dev/null & broker=$!; (cat <&3 >/dev/null; kill -9 $broker) & wait $broker'


@dataclass(frozen=True)
class Listener:
    """One more way in. `settings`: the broker's for this listener, such as where its key store is; `seen_at`: the port
    that clients are told, if something stands between them."""

    name: str
    protocol: str
    settings: Mapping[str, str] = field(default_factory=dict)
    seen_at: int | None = None

    def lines(self) -> Iterator[str]:
        prefix = f"listener.name.{self.name.lower()}"
        yield from (f"{prefix}.{key}={value}" for key, value in self.settings.items())


PLAIN = Listener("PLAINTEXT", "PLAINTEXT")


class Broker:
    """A running broker; `address` is what clients connect to, `at` where one of its listeners is."""

    def __init__(
        self,
        spark: str = "4.2.0",
        seconds: float = 60,
        listeners: Sequence[Listener] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._classpath = os.pathsep.join(map(str, ensure_broker(spark)))
        self._java = ensure_java()
        self._seconds = seconds
        self._folder = Path(tempfile.mkdtemp(prefix="ckpttool-kafka-"))
        self._process: subprocess.Popen[Any] | None = None
        self._listeners = (PLAIN, *listeners)
        self._settings = settings or {}
        self._ports: dict[str, int] = {}

    @property
    def address(self) -> str:
        return self.at(PLAIN.name)

    def at(self, name: str) -> str:
        return f"127.0.0.1:{self._ports[name]}"

    def __enter__(self) -> Broker:
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
        controller, *ports = free_ports(1 + len(self._listeners))
        self._ports = {one.name: port for one, port in zip(self._listeners, ports, strict=True)}
        settings = self._folder / "server.properties"
        settings.write_text(self._properties(controller))
        log = self._folder / "log"
        with log.open("wb") as out:
            formatted = subprocess.run(
                [
                    self._java,
                    "-cp",
                    self._classpath,
                    "kafka.tools.StorageTool",
                    "format",
                    "-t",
                    CLUSTER_ID,
                    "-c",
                    str(settings),
                ],
                stdout=out,
                stderr=out,
                check=False,
            )
            if formatted.returncode:
                raise MissingPart(f"the broker's storage could not be made:\n{log.read_text()[-3000:]}")
            self._process = subprocess.Popen(
                [
                    "sh",
                    "-c",
                    GUARD,
                    "guard",
                    self._java,
                    "-Xms256m",
                    "-Xmx768m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    self._classpath,
                    "kafka.Kafka",
                    str(settings),
                ],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
                cwd=self._folder,
            )
        deadline = time.monotonic() + self._seconds
        while not answers(self._ports[PLAIN.name]):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise MissingPart(f"the broker does not answer:\n{log.read_text()[-3000:]}")
            time.sleep(0.05)

    def _properties(self, controller: int) -> str:
        lines = [f"{key}={value}" for key, value in self._settings.items()]
        lines += [line for listener in self._listeners for line in listener.lines()]
        own = SETTINGS.format(
            listeners=",".join(f"{one.name}://{self.at(one.name)}" for one in self._listeners),
            advertised=",".join(
                f"{one.name}://127.0.0.1:{one.seen_at or self._ports[one.name]}" for one in self._listeners
            ),
            protocols=",".join(f"{one.name}:{one.protocol}" for one in self._listeners),
            controller=controller,
            folder=self._folder,
        )
        return own + "\n".join(lines)


def ensure_broker(spark: str = "4.2.0") -> list[Path]:
    """The broker's jars, fetched once with the Ivy of this Spark."""
    return resolve(f"kafka-{pins.BROKER.rpartition(':')[2]}", [pins.BROKER], spark=spark)


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on now; held together while they are chosen, so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def answers(port: int) -> bool:
    """Whether a broker serves requests there: it answers ApiVersions, not merely the connection."""
    request = b"\x00\x12\x00\x00\x00\x00\x00\x01\x00\x04ckpt"  # ApiVersions, version 0, correlation 1, client "ckpt"
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.settimeout(2)
        connection.sendall(len(request).to_bytes(4, "big") + request)
        return len(connection.recv(8)) == 8
    return False
