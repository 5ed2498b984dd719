"""Runs a module beside this one, `in_child.py describe`, in a Python that has Spark and need not have ckpt.

As a part of a package of its own: what it takes from us goes by relative imports, and neither that Python's ckpt, which
a job may use, nor these modules and a job's own get in each other's way.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGE = "ckpttool_in_child"


def module(name: str) -> ModuleType:
    package = ModuleType(PACKAGE)
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules.setdefault(PACKAGE, package)
    return import_module(f"{PACKAGE}.spark.{name}")


def main(name: str) -> None:
    del sys.path[0]  # where this file is, and what no job means
    module(name).main()


if __name__ == "__main__":
    main(sys.argv[1])
