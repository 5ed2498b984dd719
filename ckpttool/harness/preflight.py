"""What has to be there before a job can be put on trial; each lack is one line that says what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckpttool.errors import Refused
from ckpttool.harness.driver import Driver

FREE_BYTES = 1 << 30
# Which jar stands for a connector.
JARS = {"delta": "delta-spark", "kafka": "spark-sql-kafka"}


@dataclass(frozen=True, slots=True)
class Found:
    """`spark`: the release that the given Python has, None: none. `lacks`: a line for each thing that is missing."""

    spark: str | None
    lacks: tuple[str, ...]

    def require(self) -> str:
        """The release; refused if anything is missing."""
        if self.lacks or self.spark is None:
            raise Refused("; ".join(self.lacks), "see docs/exactly-once.md, What it needs")
        return self.spark


def look(driver: Driver, connectors: Collection[str], scratch: Path) -> Found:
    spark = _spark(driver.python)
    lacks = [
        *_java(),
        *([] if spark else [f"{driver.python} has no pyspark: pip install pyspark, or give --python"]),
        *_jars(driver.jars, connectors),
        *_disk(scratch),
    ]
    return Found(spark, tuple(lacks))


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
