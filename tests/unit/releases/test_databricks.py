"""How Databricks spells its runtimes, and which Spark each is built on."""

from __future__ import annotations

import pytest

from ckpttool.releases import NEWEST_PATCHES
from ckpttool.releases.databricks import BUILT_ON, Runtime, parse_runtime


@pytest.mark.parametrize(
    ("text", "version", "built_on"),
    [
        ("18.0.x-aarch64-photon-scala2.13", "18.0", (4, 1)),
        ("17.3.x-scala2.13", "17.3", (4, 0)),
        ("16.4.x-photon-scala2.12", "16.4", (3, 5)),
        ("13.3.x-cpu-ml-scala2.12", "13.3", (3, 4)),
        ("dlt:16.4.8-delta-pipelines-dlt-release-scala2.12", "16.4", (3, 5)),
        ("99.x-scala2.13", "99.x", None),
    ],
)
def test_a_runtime_tells_what_it_is_built_on(text: str, version: str, built_on: tuple[int, int] | None) -> None:
    assert parse_runtime(text) == Runtime(version, built_on)


@pytest.mark.parametrize("text", ["", "3.5.7", "4.1.0-amzn-1", "x.y.z", "18.0", "custom:my-image"])
def test_what_is_no_runtime(text: str) -> None:
    assert parse_runtime(text) is None


def test_what_a_runtime_is_built_on_is_a_release_that_is_known() -> None:
    assert set(BUILT_ON.values()) <= NEWEST_PATCHES.keys()
    assert parse_runtime("18.1.x-scala2.13").spark == ((4, 1, 0), (4, 1, 3))  # type: ignore[union-attr]
    assert Runtime().spark is None
    assert Runtime().name == "a Databricks Runtime"
