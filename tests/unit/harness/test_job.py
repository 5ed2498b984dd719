"""What a run without a crash tells of a job that nobody knows."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.job import as_seen
from ckpttool.harness.scratch import Scratch
from tests.unit.harness.scripted import Scripted, trial_of


def test_rows_need_the_columns_that_name_them(entered: Scratch) -> None:
    job = Scripted(entered)
    run = replace(trial_of(job).run, identity=("id", "at"))
    with pytest.raises(Refused, match="no column at, which IDENTITY names"):
        as_seen(run, job)


def test_a_sink_with_a_log_of_its_own_is_a_file_sink_with_a_record(entered: Scratch) -> None:
    job = Scripted(entered)
    log = job.place.sink / "_spark_metadata"
    log.mkdir()
    entry = '{"path":"file://%s","size":9,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}'
    (log / "0").write_text("v1\n" + entry % (job.place.sink / "a.json"))
    run = as_seen(trial_of(job).run, job)
    assert (run.sink.kind, run.sink.ledger, run.sink.app_id) == ("file", True, None)


def test_what_is_in_the_sink_then_is_what_has_to_be_there(entered: Scratch) -> None:
    job = Scripted(entered)
    (job.place.sink / "b.json").write_text('{"id": 2}\n')
    run = as_seen(trial_of(job).run, job)
    assert sorted(row["id"] for row in run.undisturbed or ()) == [1, 2]
    assert (run.sink.kind, run.sink.ledger) == ("foreachBatch", False)
