"""Queries that real Spark starts after a plan, and which of them run with each change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.differential.test_sinks_vs_spark import LAST, SPARKS, Scene


class Case(Protocol):
    """`gates`: it runs with each change, on the newest release."""

    @property
    def gates(self) -> bool: ...


def on_each_spark(cases: Sequence[Case]) -> Iterator[Any]:
    for spark in SPARKS:
        for case in cases:
            marks = () if case.gates and spark == SPARKS[-1] else (pytest.mark.at_length,)
            yield pytest.param(spark, case, id=f"{spark} {case}", marks=marks)


def inputs(scene: Scene) -> list[Path]:
    return list((scene.root / "input").glob("[0-9]*.json"))


def uncommitted(scene: Scene) -> None:
    scene.drop(f"checkpoint/commits/{LAST}")


def check_start(scene: Scene, promise: dict[str, Any]) -> None:
    """One file more than there ever was, so that there is something to read."""
    done = scene.ask(query=scene.sink, count=len(inputs(scene)) + 1, once=False)
    assert done["error"] is None
    first = done["progress"][0]
    assert first["batchId"] == promise["batch_id"]
    starts = [source["start"] for source in promise["sources"]]
    assert [source["startOffset"] for source in first["sources"]] == starts
    ends = [source["end"] for source in promise["sources"]]  # null where they are decided at run time
    assert [end and source["endOffset"] for source, end in zip(first["sources"], ends, strict=True)] == ends
    watermark = first.get("eventTime", {}).get("watermark")
    if watermark is not None and promise["watermark_ms"] is not None:
        assert datetime.fromisoformat(watermark).timestamp() * 1000 == promise["watermark_ms"]
