"""What runs in the user's Python, as a user's Python runs it: there are no packages of ours there."""

from __future__ import annotations

import subprocess
import sys

from ckpttool.spark import in_child


def test_a_module_is_run_where_ckpt_is_not_installed() -> None:
    program = f"""import runpy, sys
sys.argv, sys.path[:0] = [{in_child.__file__!r}, "planned"], [{in_child.__file__.rpartition("/")[0]!r}]
try:
    runpy.run_path({in_child.__file__!r}, run_name="__main__")
except AttributeError:  # it has no main
    pass
planned = sys.modules["ckpttool_in_child.spark.planned"]
print(planned.texts.spell("upper(k#1)", {{}}, {{}}), [name for name in sys.modules if name.startswith("ckpttool.")],
      any("ckpttool" in folder for folder in sys.path))"""
    given = [sys.executable, "-I", "-S", "-c", program]
    assert subprocess.run(given, capture_output=True, text=True, check=True).stdout == "upper(k) [] False\n"
