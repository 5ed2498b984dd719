"""One verdict on each sink: what no law has a part in, and what a restart that fails makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import build
from tests.unit.laws.sinks.tables import FRESH, NEXT, REPLAY, said, table, write


def test_an_empty_batch_is_written_unless_it_was() -> None:
    nothing = replace(REPLAY, empty=True)
    assert said(table(5, write(at=1)), nothing)[0] == "written"
    assert said(table(5, write()), nothing)[0] == "skipped_already_written"
    assert said(table(5), replace(NEXT, rows=0))[0] == "written"
    assert said(table(None), nothing)[0] == "written"


def test_what_could_not_be_read_is_unknown() -> None:
    assert said(table(5, write(), incomplete="no pyarrow"))[0] == "unknown"
    unreachable = SinkEvidence("unknown", "s3://b/t", error=Unavailable("no route to host"))
    assert said(unreachable) == ("unknown", ["sink-unreachable warning"])
    torn = replace(unreachable, error=MalformedFile("no JSON", expected="JSON"))
    assert said(torn) == ("unknown", ["sink-unreadable warning"])


@pytest.mark.parametrize("kind", ["noop", "memory"])
def test_what_keeps_nothing_is_written(kind: str) -> None:
    assert said(SinkEvidence(kind, kind)) == ("written", [])  # type: ignore[arg-type]


def test_what_does_not_exist_yet_is_empty() -> None:
    missing = SinkEvidence("unknown", "/nowhere", exists=False)
    assert said(missing, FRESH) == ("written", [])
    assert said(missing) == ("written", ["sink-behind-checkpoint error"])


@pytest.mark.parametrize(
    ("kind", "verdict"), [("foreachBatch", "duplicated"), ("noop", "written"), ("delta", "written")]
)
def test_a_batch_that_fails_after_its_sink_is_written_at_every_start(tmp_path: Path, kind: str, verdict: str) -> None:
    root = build(tmp_path, "k0-10 c | k10-20")
    (root / "commits" / "1").mkdir()
    evidence = gather_evidence(open_checkpoint(str(root)))
    sink = SinkEvidence(kind, kind, exists=kind != "delta")  # type: ignore[arg-type]
    found = diagnose(Scene(evidence, Start((4, 2, 0)), sinks=(sink,)))
    assert found.prediction.error
    assert found.prediction.error.sink_written_first
    assert [one.verdict for one in found.sinks] == [verdict]


def test_a_restart_that_fails_before_its_batch_asks_nothing_of_the_sink(tmp_path: Path) -> None:
    evidence = gather_evidence(open_checkpoint(str(build(tmp_path, "lost c | lost c"))))
    found = diagnose(Scene(evidence, Start((4, 2, 0)), sinks=(table(5, write()),)))
    assert [(one.verdict, one.findings) for one in found.sinks] == [("unknown", ())]
