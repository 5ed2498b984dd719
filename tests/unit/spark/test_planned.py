"""The planner stands alone: what it plans is asked of real Spark in tests/differential/test_describe_vs_spark.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ckpttool.spark import planned


def test_it_is_loaded_where_ckpt_is_not_installed() -> None:
    program = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("planned", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.texts.spell("upper(k#1)", {}, {}), any(name.partition(".")[0] == "ckpttool" for name in sys.modules))"""
    given = [sys.executable, "-I", "-S", "-c", program, str(Path(planned.__file__))]
    assert subprocess.run(given, capture_output=True, text=True, check=True).stdout == "upper(k) False\n"


def test_a_stand_in_is_known_by_its_mark() -> None:
    assert planned.marked({"options": {"ckptStandsIn": "3"}}) == "3"
    assert planned.marked({"options": {"path": "/in"}}) == ""
