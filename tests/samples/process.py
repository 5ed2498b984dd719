"""A Spark process that runs queries of `jobs.py` one after the other, as it is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from ckpttool.releases import parse_release
from tests.parts.kafka import Broker
from tests.parts.spark import ensure_jars, ensure_java, ensure_spark

JOBS = Path(__file__).with_name("jobs.py")
QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
# What Spark has opened to itself on Java 17 since 3.3.
_PACKAGES = (
    *("java.lang", "java.lang.invoke", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
OPENED = " ".join(f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in _PACKAGES)


class SparkDied(Exception):
    """The process ended before it answered; the message holds the end of its log."""


class SparkProcess:
    """One session of one Spark release with these connectors, in a process group of its own; a broker if needed."""

    def __init__(
        self,
        spark: str,
        needs: Sequence[str] = (),
        java_options: str = "",
        cores: int = 2,
        script: Path = JOBS,
        conf: Mapping[str, str] | None = None,
        path: Sequence[Path] = (),
        brings_broker: bool = True,
    ) -> None:
        ensure_java()
        python = ensure_spark(spark)
        self._resources = ExitStack()
        self._broker = self._resources.enter_context(Broker()) if "kafka" in needs and brings_broker else None
        folder = self._resources.enter_context(TemporaryDirectory(prefix="ckpttool-spark-"))
        self.log = Path(folder) / "log"
        environment = os.environ | {
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": str(python),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        environment.pop("SPARK_HOME", None)
        if parse_release(spark) < (3, 3, 0):
            environment["JDK_JAVA_OPTIONS"] = OPENED
        if path:
            environment["PYTHONPATH"] = os.pathsep.join(map(str, path))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python), str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                start_new_session=True,
                cwd=folder,
            )
        own = {"spark.master": f"local[{cores}]", "spark.sql.warehouse.dir": f"{folder}/tables"}
        self._send(_session(spark, needs, java_options) | own | dict(conf or {}))

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one query and wait for its result."""
        self.ask(request)
        return self.answer()

    def ask(self, request: dict[str, Any]) -> None:
        """Begin to run one query."""
        if self._broker and "kafka" in request["workload"]:
            request = request | {"args": request["args"] | {"bootstrap": self._broker.address}}
        self._send(request)

    def answer(self) -> dict[str, Any]:
        """Wait for the result of the query that was begun."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SparkDied(self.log.read_text(errors="replace")[-6000:])
        result: dict[str, Any] = json.loads(line)
        return result

    def kill(self) -> None:
        """SIGKILL of the whole group, Python and JVM, with everything stopped first."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> SparkProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.process.poll() is None:
            assert self.process.stdin
            self.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=60)
        self.kill()
        self._resources.close()

    def _send(self, value: dict[str, Any]) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise SparkDied(self.log.read_text(errors="replace")[-6000:]) from None


def _session(spark: str, needs: Sequence[str], java_options: str) -> dict[str, str]:
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
        # Stopping the stores holds the lock that a maintenance thread may wait for, by default for five minutes.
        "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": "1s",
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} {java_options}".strip(),
    }
    if needs:
        conf["spark.jars"] = ",".join(str(jar) for what in needs for jar in ensure_jars(spark, what))
    if "delta" in needs:
        conf["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        conf["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        conf["spark.databricks.delta.snapshotPartitions"] = "2"
    return conf
