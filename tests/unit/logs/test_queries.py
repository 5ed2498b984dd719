"""What the lines of a driver's log tell of the queries in it."""

from __future__ import annotations

import pytest

from ckpttool.logs.queries import QueryReader, checkpoint_in

ID = "2abd3c3e-3179-4a6b-8c7d-9e0f1a2b3c4d"
RUN = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
OTHER = ID.replace("2", "3")
IDS = f"[id = {ID}, runId = {RUN}]"


def read(*lines: str) -> QueryReader:
    reader = QueryReader()
    for line in lines:
        reader.feed(line)
    return reader


def test_a_start_tells_the_id_the_name_and_the_checkpoint() -> None:
    reader = read(
        "INFO SparkContext: Running Spark version 4.2.0",
        f"INFO MicroBatchExecution: Starting the orders {IDS}. Use s3a://lake/ckpt to store the query checkpoint.",
        "INFO MicroBatchExecution: Resuming at batch 5 with committed offsets {} and available offsets {}",
    )
    query = reader.query_of(ID)
    assert query
    assert (query.run_id, query.name, query.checkpoint, query.batch) == (RUN, "the orders", "s3a://lake/ckpt", 5)
    assert reader.release == "4.2.0"


def test_a_root_that_is_told_before_the_id_is_that_of_the_query_which_comes() -> None:
    reader = read("Checkpoint root /a resolved to file:/a.", IDS, "Checkpoint root /b resolved to file:/b.", OTHER)
    query = reader.query_of(ID)
    assert query
    assert query.checkpoint == "file:/a"


def test_of_several_queries_none_is_taken_for_the_one_that_failed() -> None:
    reader = read(IDS, f"[id = {OTHER}, runId = {RUN}]")
    assert reader.query_of(None) is None
    assert (found := reader.query_of(OTHER)) is not None
    assert found.id == OTHER


def test_thousands_of_queries_do_not_fill_the_memory() -> None:
    reader = read(*(f"[id = {number:08x}-0000-0000-0000-000000000000, runId = {RUN}]" for number in range(5_000)))
    assert len(reader.known) == 200


def test_a_progress_that_ran_no_batch_has_no_offsets() -> None:
    reader = QueryReader()
    reader.progressed({"id": ID, "runId": RUN, "batchId": 7, "sources": [], "timestamp": "x", "durationMs": {}})
    query = reader.query_of(ID)
    assert query
    assert (query.batch, query.progress) == (7, None)
    reader.progressed({"id": 5, "batchId": "7"})


@pytest.mark.parametrize(
    ("text", "checkpoint"),
    [
        ("File hdfs://nn:8020/ckpt/orders/state/0/3/7.delta does not exist", "hdfs://nn:8020/ckpt/orders"),
        ("Error reading /data/my-ckpt/offsets/4", "/data/my-ckpt"),
        ("file:/data/ckpt/sources/0/4 doesn't exist", "file:/data/ckpt"),
        ("option checkpointLocation='s3://b/c'", "s3://b/c"),
        ("batch 4 doesn't exist", None),
        ("/" * 4_000, None),
    ],
)
def test_a_message_may_name_a_file_of_the_checkpoint(text: str, checkpoint: str | None) -> None:
    assert checkpoint_in(text) == checkpoint
