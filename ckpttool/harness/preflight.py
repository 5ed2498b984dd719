"""What has to be there before a job can be put on trial; each lack is one line that says what to do."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ckpttool.errors import Refused
from ckpttool.harness.driver import Driver
from ckpttool.harness.peer import TABLES

FREE_BYTES = 1 << 30
PORTS = ("spark.driver.port", "spark.blockManager.port", "spark.driver.blockManager.port")
# Which jar stands for a connector.
JARS = {"delta": "delta-spark", "kafka": "spark-sql-kafka"}


def require_for_job(driver: Driver, connectors: Collection[str], scratch: Path, broker: str | None = None) -> str:
    """The release of the Spark that the given Python has; refused if anything is missing. `broker`: of Kafka, where one
    is given."""
    spark = _spark(driver.python)
    _refuse(
        *_java(),
        *_peers(),
        *([] if spark else [f"{driver.python} has no pyspark: pip install pyspark, or give --python"]),
        *_jars(driver.jars, connectors),
        *_ports(driver.conf),
        *(_broker(broker) if broker and "kafka" in connectors else ()),
        *_disk(scratch),
    )
    return spark or ""


def require_for_command(scratch: Path) -> None:
    """Which Spark it starts, is seen when it does."""
    _refuse(*_java(), *_peers(), *_disk(scratch))


def _refuse(*lacks: str) -> None:
    if lacks:
        raise Refused("; ".join(lacks), "see docs/exactly-once.md, What it needs")


def _peers() -> Iterator[str]:
    if not TABLES[0].exists():
        yield f"there is no {TABLES[0]}, which tells whose JVM has connected: run it on Linux"


def _java() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        yield "no Java found: install OpenJDK 17, or set JAVA_HOME"
        return
    shown = _run([java, "-version"])
    if shown is None or not re.search(r'version "', shown):
        yield f"{java} does not start: set JAVA_HOME to an OpenJDK 17"
        return
    modules = _run([java, "--list-modules"])
    if modules is None or "jdk.jdwp.agent" not in modules:
        yield f"{java} lacks the module jdk.jdwp.agent: set JAVA_HOME to an OpenJDK that has it"


def _spark(python: Path) -> str | None:
    shown = _run([str(python), "-c", "import pyspark; print(pyspark.__version__)"])
    found = re.search(r"^\d+\.\d+\.\d+", shown or "", re.MULTILINE)
    return found[0] if found else None


def _jars(jars: Sequence[Path], connectors: Collection[str]) -> Iterator[str]:
    for jar in jars:
        if not jar.is_file():
            yield f"{jar} is not there"
    for connector in connectors:
        if not any(jar.name.startswith(JARS[connector]) for jar in jars):
            yield f"no jar {JARS[connector]}… among --jars, and a scenario needs {connector}"


def _ports(conf: Mapping[str, str]) -> Iterator[str]:
    """Where the JVM finds us, and those that its settings name."""
    wanted = {name: conf[name] for name in PORTS if conf.get(name, "0").isdecimal() and name in conf}
    for name, port in {"": "0", **wanted}.items():
        try:
            socket.create_server(("127.0.0.1", int(port))).close()
        except (OSError, OverflowError) as error:
            what = f"port {port}, which {name} names, is taken" if name else "no port of 127.0.0.1 can be opened"
            yield f"{what}: {getattr(error, 'strerror', None) or error}"


def _broker(broker: str) -> Iterator[str]:
    for address in broker.split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
        except (OSError, ValueError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            yield f"no broker answers at {address} ({why}): start it, or give another --bootstrap-server"


def _disk(scratch: Path) -> Iterator[str]:
    there = next(folder for folder in (scratch, *scratch.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < FREE_BYTES:
        yield f"{there} has {free >> 20} MB free, and a trial needs {FREE_BYTES >> 20} MB: give another --scratch"


def _run(command: Sequence[str]) -> str | None:
    """What it printed; None if it did not start, or failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout + done.stderr
