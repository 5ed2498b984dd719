"""The JSON of `ckpt plan-recovery`, field by field, as the contract has it, and the verdict in the first line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_ckpt
from tests.samples.place import REPOSITORY, about, sample_names
from tests.unit.cli.plans import STEPS, assert_contract, plan

Sample = Callable[[str], Path]


def sinks_of(root: Path) -> list[str]:
    found = [place.parent for mark in ("_delta_log", "_spark_metadata") for place in sorted(root.glob(f"*/{mark}"))]
    return [word for place in found for word in ("--sink", str(place))]


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_keeps_the_contract_and_begins_with_the_verdict(sample: Sample, name: str) -> None:
    root = sample(name)
    arguments = [str(root / about(name)["checkpoint"]), *sinks_of(root)]
    outcome, fields = plan(*arguments)
    assert_contract(fields)
    assert not outcome.err
    restart = fields["restart"]
    assert restart["watermark_ms"] is None or restart["watermark_ms"] >= 0
    text = run_ckpt("plan-recovery", *arguments)
    assert text.code == outcome.code
    assert verdict_of(fields) in " ".join(text.out.partition("─")[0].split())


def verdict_of(fields: Mapping[str, Any]) -> str:
    restart, spark = fields["restart"], f"Spark {fields['spark_version']['assumed']}"
    error = restart["error"] or {}
    thrown = error.get("condition") or error.get("class", "").rpartition(".")[2]
    return {
        "replay": f"{spark} will replay batch {restart['batch_id']}",
        "new_batch": f"{spark} will start batch {restart['batch_id']}",
        "fresh_start": f"{spark} will start from nothing",
        "unknown": f"It cannot be told what {spark} will do",
        "error": f"with {thrown}",
    }[restart["outcome"]]


def test_every_field_is_documented() -> None:
    page = (REPOSITORY.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    wanted = {"refused", "reach", "possible", "assumed", "sink_written_first", "rows_replayed", "guarantee", "trap"}
    _, section = page.split("\n## ckpt.plan-recovery/1\n")
    section = section.partition("\n## ")[0]
    assert not {name for name in wanted | set(STEPS) if f"`{name}`" not in section}
