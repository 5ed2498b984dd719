"""The guard and the fixture of the plugin, before writers of a real session."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.differential.on_spark import OURS
from tests.parts.spark import ensure_java, ensure_spark

pytestmark = pytest.mark.spark

INSIDE = Path(__file__).with_name("guarded.py")
PYTEST = ("-m", "pytest", "-q", "-p", "ckpttool.pytest_plugin", "--noconftest", "-c", os.devnull)


@pytest.mark.parametrize("release", ["4.2.0", pytest.param("3.5.7", marks=pytest.mark.at_length)])
def test_it_stands_before_a_real_start(release: str, tmp_path: Path) -> None:
    ensure_java()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, OURS)),
        "PYSPARK_PYTHON": str(ensure_spark(release)),
        "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [str(ensure_spark(release)), *PYTEST, "--basetemp", str(tmp_path / "inside"), str(INSIDE)]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "5 passed" in ran.stdout
