"""The samples against what Spark itself said when it wrote them, and against what their makers know to be true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis
from ckpttool.formats.commits import encode_commit_log, parse_commit_log
from ckpttool.formats.metadata import encode_metadata, parse_metadata
from ckpttool.formats.offsets import encode_offset_log, parse_offset_log
from ckpttool.report.views.inspect import inspection_document
from tests.samples.place import REPOSITORY, about, sample_names

SIZE_LIMIT_BYTES = 3_000_000
MADE_BY_SPARK = [name for name in sample_names() if about(name)["progress"]]
SOUND = [name for name in MADE_BY_SPARK if about(name)["defect"] is None]


def inspect(name: str, sample: Callable[[str], Path]) -> Diagnosis:
    url = str(sample(name) / about(name)["checkpoint"])
    return inspect_checkpoint(open_checkpoint(url), store=open_store(url))


def release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_samples_stay_small() -> None:
    assert sum(path.stat().st_size for path in REPOSITORY.rglob("*") if path.is_file()) < SIZE_LIMIT_BYTES


@pytest.mark.parametrize("name", sample_names())
def test_name_tells_version_workload_and_defect(name: str) -> None:
    facts = about(name)
    assert name == f"{facts['spark']}-{facts['workload']}-{facts['defect'] or 'sound'}"


@pytest.mark.parametrize("name", sample_names())
def test_findings_are_those_the_damage_calls_for(name: str, sample: Callable[[str], Path]) -> None:
    found = {finding.id for finding in inspect(name, sample).findings if finding.severity != "info"}
    assert found == set(about(name)["expect"]["finds"])


@pytest.mark.parametrize("name", sample_names())
def test_mode_is_recognised(name: str, sample: Callable[[str], Path]) -> None:
    assert inspect(name, sample).evidence.mode == about(name)["expect"]["mode"]


@pytest.mark.parametrize("name", sample_names())
def test_next_batch_is_sparks_or_unknown(name: str, sample: Callable[[str], Path]) -> None:
    """Where the files do not decide, "unknown" is right; anything else must be what Spark does."""
    predicted, truth = inspect(name, sample).prediction, about(name)["expect"]["next_batch"]
    if predicted.outcome == "unknown":
        assert truth["outcome"] in ("error", "unknown")
    else:
        assert predicted.outcome == truth["outcome"]
        assert predicted.outcome == "error" or predicted.batch_id == truth["batch_id"]


@pytest.mark.parametrize("name", sample_names())
def test_the_writing_spark_is_in_the_inferred_range(name: str, sample: Callable[[str], Path]) -> None:
    written_by, truth = inspect(name, sample).evidence.written_by, release(about(name)["spark"])
    assert written_by.min is None or release(written_by.min) <= truth
    assert written_by.max is None or truth <= release(written_by.max)


@pytest.mark.parametrize("name", SOUND)
def test_offsets_are_those_of_sparks_progress(name: str, sample: Callable[[str], Path]) -> None:
    """Spark reports each batch's end offsets itself; ours come from the files."""
    ours = {entry["batch_id"]: entry for entry in inspection_document(inspect(name, sample)).fields()["offsets"]}
    compared = 0
    for progress in about(name)["progress"]:
        batch = ours.get(progress["batchId"])
        if batch is None or len(batch["sources"]) != len(progress["sources"]):
            continue
        for mine, theirs in zip(batch["sources"], progress["sources"], strict=True):
            assert mine["offset"] == theirs["endOffset"]
            compared += 1
    assert compared


@pytest.mark.parametrize("name", SOUND)
def test_counted_rows_are_those_spark_read(name: str, sample: Callable[[str], Path]) -> None:
    """Where a source's offsets count rows exactly, the steps add up to the rows that Spark reported.

    Queries of one source only: of a union that mixes old and new source interfaces Spark 3.5 reports 0 for the new one.
    """
    progress = {entry["batchId"]: entry["numInputRows"] for entry in about(name)["progress"]}
    for batch in inspect(name, sample).evidence.batches:
        step = batch.sources[0].step if len(batch.sources) == 1 else None
        before = -1 if batch.previous_id is None else batch.previous_id
        if step and step.exact and step.unit == "rows" and step.amount is not None and batch.id in progress:
            assert step.amount == sum(progress.get(number, 0) for number in range(before + 1, batch.id + 1))


@pytest.mark.parametrize("name", SOUND)
def test_what_spark_wrote_is_written_back_byte_for_byte(name: str) -> None:
    checkpoint = REPOSITORY / name / about(name)["checkpoint"]
    metadata = (checkpoint / "metadata").read_bytes()
    assert encode_metadata(parse_metadata(metadata)) == metadata
    for path in (checkpoint / "offsets").glob("[0-9]*"):
        assert encode_offset_log(parse_offset_log(path.read_bytes(), int(path.name))) == path.read_bytes()
    for path in (checkpoint / "commits").glob("[0-9]*"):
        assert encode_commit_log(parse_commit_log(path.read_bytes(), int(path.name))) == path.read_bytes()
