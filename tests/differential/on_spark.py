"""`ckpt` run by a Python that has Spark, as `--engine spark` wants it."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import Outcome
from tests.parts.spark import ensure_java, ensure_spark

OURS = [Path(__file__).parents[2], *map(Path, site.getsitepackages())]
HERE = "local[2]"
WORKERS = "local-cluster[2,1,512]"  # two processes of their own, of one core and 512 MiB each
QUICK = ("spark.executor.memory=512m", "spark.ui.enabled=false")


def run_on_spark(
    version: str, master: str, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Outcome:
    ensure_java()
    python = ensure_spark(version)
    confs = " ".join(f"--conf {conf}" for conf in QUICK)
    whole = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, OURS)),
        "PYSPARK_SUBMIT_ARGS": f"--master {master} {confs} pyspark-shell",
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    whole.pop("SPARK_HOME", None)
    command = [str(python), "-c", "from ckpttool.cli import main; main()", *arguments]
    ran = subprocess.run(
        command, env=whole | dict(environment or {}), cwd=cwd, capture_output=True, text=True, check=False
    )
    if master == WORKERS:
        clear_workers(version)
    return Outcome(ran.returncode, ran.stdout, ran.stderr)


def clear_workers(version: str) -> None:
    """What the workers of a local cluster leave where Spark is installed."""
    for place in ensure_spark(version).parents[1].glob("lib/python*/site-packages/pyspark/work"):
        shutil.rmtree(place)
