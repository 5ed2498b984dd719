"""Which steps of the protocol a batch's files prove."""

from __future__ import annotations

from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.protocol import protocol_steps
from tests.builders import build


def proven(root: Path, number: int) -> dict[str, bool | None]:
    evidence = gather_evidence(open_checkpoint(str(root)))
    batch = next(batch for batch in evidence.batches if batch.id == number)
    return {step.name: step.proven for step in protocol_steps(evidence, batch)}


def test_a_commit_proves_every_step_before_it(tmp_path: Path) -> None:
    assert proven(build(tmp_path / "q", "k0-10 c"), 0) == {
        "sources asked": True,
        "offsets logged": True,
        "state committed": None,  # there is no state to commit
        "sink committed": True,
        "batch committed": True,
    }


def test_offsets_alone_prove_only_that_the_sources_were_asked(tmp_path: Path) -> None:
    steps = proven(build(tmp_path / "q", "k0-10 c | k10-20"), 1)
    assert steps["offsets logged"] is True
    assert steps["sink committed"] is None
    assert steps["batch committed"] is False


def test_the_sinks_ledger_is_its_witness(tmp_path: Path) -> None:
    build(tmp_path / "q", "f0 c | f1")
    for batch in ("0", "1"):
        ledger = tmp_path / "out" / "_spark_metadata" / batch
        ledger.parent.mkdir(parents=True, exist_ok=True)
        ledger.write_text("v1")
    assert proven(tmp_path / "q", 1)["sink committed"] is True


def test_a_ledger_that_ends_earlier_denies_the_batch(tmp_path: Path) -> None:
    build(tmp_path / "q", "f0 c | f1")
    ledger = tmp_path / "out" / "_spark_metadata" / "0"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("v1")
    assert proven(tmp_path / "q", 1)["sink committed"] is False


def test_state_is_committed_when_the_next_version_is_there(tmp_path: Path) -> None:
    build(tmp_path / "q", "k0-10 c | k10-20")
    partition = tmp_path / "q" / "state" / "0" / "0"
    partition.mkdir(parents=True)
    (partition / "1.delta").write_bytes(b"")
    assert proven(tmp_path / "q", 1)["state committed"] is False
    (partition / "2.delta").write_bytes(b"")
    assert proven(tmp_path / "q", 1)["state committed"] is True
