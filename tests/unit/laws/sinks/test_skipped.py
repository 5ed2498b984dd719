"""A stateful batch that the sink has already: Spark misses what its tasks would have told, as crash tests have seen."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.laws.sinks.skipped import VALIDATION, fails_once, never_committed
from ckpttool.model import CommitLogEntry, Operator
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.unit.kafka.scenes import query

ENDS: list[Any] = [{"t": {0: 10}}, {"t": {0: 20}}, {"t": {0: 30}}]
KINDS: dict[str, dict[str, Any]] = {"native": {"key": "q"}, "function": {"key": "my-job", "key_given": True}}


def scene(version: int, release: Release = (4, 2, 0), conf: dict[str, str] | None = None) -> Scene:
    """Batch 2 is planned and not committed."""
    found = query(*ENDS, replay=True, release=release, conf=conf)
    ids = {0: (("a",),)} if version == 2 else None
    commits = {batch: CommitLogEntry(batch, version, 0, ids) for batch in (0, 1)}
    checkpoint = replace(found.checkpoint, commits=commits, operators=(Operator(0, None, ()),))
    return Scene(gather_evidence(checkpoint), found.start)


def table(kind: str, batch: int) -> SinkEvidence:
    given = KINDS[kind]
    return SinkEvidence("delta", "t", ledger=(LedgerEntry(given["key"], batch),), seen_from_ms=0, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_format_2_fails_at_every_restart(kind: str) -> None:
    failure = never_committed(replace(scene(2), sinks=(table(kind, 2),)))
    assert failure
    assert (failure.phase, failure.class_name, failure.batch_id) == ("batch", "java.lang.AssertionError", 2)
    assert failure.sink_written_first
    assert list(fails_once(replace(scene(2), sinks=(table(kind, 2),)))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_format_1_never_does(kind: str) -> None:
    assert never_committed(replace(scene(1), sinks=(table(kind, 2),))) is None


@pytest.mark.parametrize("sinks", [[], [("native", 1)], [("native", 2), ("function", 1)]])
def test_a_batch_that_runs_has_its_state(sinks: list[tuple[str, int]]) -> None:
    tables = tuple(table(kind, batch) for kind, batch in sinks)
    assert never_committed(replace(scene(2), sinks=tables)) is None
    assert list(fails_once(replace(scene(1), sinks=tables))) == []


@pytest.mark.parametrize(
    ("kind", "release", "conf", "fails"),
    [
        ("function", (4, 2, 0), {}, True),
        ("function", (4, 1, 0), {}, True),
        ("function", (4, 0, 0), {}, False),
        ("function", (3, 5, 7), {}, False),
        ("function", (4, 2, 0), {VALIDATION: "false"}, False),
        ("native", (4, 2, 0), {}, False),  # only of batch functions it is asked
    ],
)
def test_what_validates_commits_fails_once(kind: str, release: Release, conf: dict[str, str], fails: bool) -> None:
    found = list(fails_once(replace(scene(1, release, conf), sinks=(table(kind, 2),))))
    assert [finding.id for finding in found] == ["skipped-batch-fails-once"] * fails


def test_a_query_without_state_has_none_to_miss() -> None:
    found = query(*ENDS, replay=True)
    assert never_committed(replace(found, sinks=(table("native", 2),))) is None
    assert list(fails_once(replace(found, sinks=(table("function", 2),)))) == []
