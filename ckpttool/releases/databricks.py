"""Databricks' runtimes, which are not Apache Spark: what they are built on, by Databricks' own table of releases."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from ckpttool.releases import NEWEST_PATCHES, Release

# The runtime's first number → the minor release of Spark.
BUILT_ON: Mapping[int, tuple[int, int]] = {
    6: (2, 4),
    7: (3, 0),
    8: (3, 1),
    9: (3, 1),
    10: (3, 2),
    11: (3, 3),
    12: (3, 3),
    13: (3, 4),
    14: (3, 5),
    15: (3, 5),
    16: (3, 5),
    17: (4, 0),
    18: (4, 1),
    19: (4, 2),
}
# `18.0.x-aarch64-photon-scala2.13`, of a pipeline `dlt:16.4.8-delta-pipelines-…-scala2.12`.
_SPELLED = re.compile(r"(?:[a-z]+:)?([0-9]{1,3})\.([0-9]{1,3}|x)[.\w-]*scala2\.[0-9]+.*")


class Runtime(Struct, frozen=True):
    """`version`: None, if nothing tells which one. `built_on`: None of one that is newer than the table."""

    version: str | None = None
    built_on: tuple[int, int] | None = None

    @property
    def spark(self) -> tuple[Release, Release] | None:
        """The first and the newest known patch of the Spark that it is built on."""
        if self.built_on is None:
            return None
        return (*self.built_on, 0), (*self.built_on, NEWEST_PATCHES[self.built_on])

    @property
    def name(self) -> str:
        return "a Databricks Runtime" if self.version is None else f"Databricks Runtime {self.version}"


def parse_runtime(text: str) -> Runtime | None:
    """None: that is not how a runtime is spelled."""
    found = _SPELLED.fullmatch(text)
    if found is None:
        return None
    return Runtime(f"{found[1]}.{found[2]}", BUILT_ON.get(int(found[1])))
