"""`plan_restart`: reading only what a restart opens, where that is enough, changes no word of the answer.

But how far back one could go, and what was not looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import Restarted, api, gather_evidence, open_checkpoint
from ckpttool.api import start_of
from ckpttool.query.model import DescribedSource, Query
from tests.conftest import run_ckpt
from tests.samples.place import about, sample_names
from tests.unit.laws.inputs.places import Place, offset


def answer(checkpoint: str) -> dict[str, object]:
    outcome = run_ckpt("plan-recovery", checkpoint, "--state", "quick", "--format", "json")
    told = json.loads(outcome.out)
    told["restart"]["assumes"] = [one for one in told["restart"]["assumes"] if "of sources/" not in one]
    return {**told, "reach": None, "code": outcome.code}


@pytest.mark.parametrize("name", sample_names())
def test_what_is_sound_is_told_from_little_as_from_all(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    checkpoint = f"{sample(name)}/{about(name)['checkpoint']}"
    from_little = answer(checkpoint)
    monkeypatch.setattr(api, "_is_sound", lambda _outlook, _plan: False)
    assert answer(checkpoint) == from_little


def test_where_nothing_is_a_query_begins_anew_and_its_sink_is_judged(tmp_path: Path) -> None:
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in range(3):
        (log / str(batch)).write_text("v1")
    absent = str(tmp_path / "gone" / "ckpt")
    assert run_ckpt("plan-recovery", absent).code == 4
    outcome = run_ckpt("plan-recovery", absent, "--sink", str(tmp_path / "out"), "--format", "json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["restart"]["outcome"]) == (1, "fresh_start")
    assert [one["verdict"] for one in told["sinks"]] == ["skipped_rows_lost"]
    assert "checkpoint-absent" in [one["id"] for one in told["findings"]]
    assert not (tmp_path / "gone").exists()
    assert run_ckpt("plan-recovery", absent, "--sink", str(tmp_path / "new")).code == 0


@pytest.mark.parametrize("wish", [["--to-batch", "1"], []])
def test_a_way_back_over_what_a_source_cannot_read_again_is_none(tmp_path: Path, wish: list[str]) -> None:
    """Version 4 took rows, and batch 2 has passed it: no restart reads it, but for one from the end of batch 1."""
    place = Place(tmp_path)
    place.remove(4)
    place.add(5)
    lines = [offset(3), offset(4), offset(5), offset(6)] if wish else [offset(3), offset(4), "0"]
    for number, line in enumerate(lines):
        place.batch(number, line)
    asked = ["--option", f"path={place.table}", "--spark-version", "4.2.0", "--sink", "noop", *wish]
    told = json.loads(run_ckpt("plan-recovery", str(place.checkpoint), *asked, "--format", "json").out)
    assert "rewind-to-batch" not in [option["id"] for option in told["options"]]
    (why,) = [one["why"] for one in told["refused"] if one["id"] == "rewind-to-batch"]
    assert "the restart after it would not go on: version 4" in why
    told = json.loads(run_ckpt("plan-recovery", str(place.checkpoint), *asked, "--option", "ignoreDeletes=true",
                               "--format", "json").out)  # fmt: skip
    assert "rewind-to-batch" in [option["id"] for option in told["options"]]


def test_a_line_that_only_others_tell_the_kind_of_is_no_way_back(tmp_path: Path) -> None:
    """Without the batches after it nobody would know that the damaged line is a Delta source's, and Spark does."""
    place = Place(tmp_path)
    broken = offset(4).replace("false", '"yes"')
    for number, line in enumerate((broken, offset(5))):
        place.batch(number, line)
    asked = ["--option", f"path={place.table}", "--spark-version", "4.2.0", "--sink", "noop", "--to-batch", "0"]
    told = json.loads(run_ckpt("plan-recovery", str(place.checkpoint), *asked, "--format", "json").out)
    assert told["restart"]["error"]["condition"] == "DELTA_INVALID_SOURCE_OFFSET_FORMAT"
    assert all("offsets/0" in [step.get("path") for step in option["steps"]] for option in told["options"])


def test_each_source_is_started_with_its_own_options_and_with_what_all_are_given(
    sample: Callable[[str], Path],
) -> None:
    evidence = gather_evidence(open_checkpoint(str(sample("4.2.0-file-to-parquet-sound") / "checkpoint")))
    passes = DescribedSource(0, None, "kafka", options={"subscribe": "a", "failOnDataLoss": "false"})
    others = DescribedSource(1, "right", "kafka", options={"subscribe": "b", "MINPARTITIONS": "2"})
    query = Query(None, None, None, (), sources=(passes, others))
    start, _ = start_of(evidence, Restarted(options={"minPartitions": "3"}, query=query))
    assert (start.of("0").option("failOnDataLoss"), start.of("right").option("failOnDataLoss")) == ("false", None)
    assert [start.of(key).option("minPartitions") for key in ("0", "right", "2")] == ["3", "3", "3"]
    assert start.option("subscribe") is None
