"""What a run of a command tells: how it ended, what Spark's log says of it, and which Spark it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.command import failures_in, spark_on
from ckpttool.harness.place import JobPlace
from ckpttool.harness.recover import failure_of

# As Spark 4.2.0 and PySpark print it, shortened.
LOG = """26/11/18 12:00:00 WARN Utils: Service 'x' could not bind
26/11/18 12:00:01 ERROR MicroBatchExecution: Query [id = 1, runId = 2] terminated with error
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/tmp/out. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:788)
\tat org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution.runBatch(MicroBatchExecution.scala:900)
Caused by: java.lang.IllegalStateException: batch 2 doesn't exist
of any kind
\tat org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog.get(HDFSMetadataLog.scala:1)
\t... 12 more
Traceback (most recent call last):
  File "/tmp/job.py", line 11, in <module>
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query terminated with exception
"""


def test_a_failure_is_read_from_the_log_of_spark(tmp_path: Path) -> None:
    outer, root = failures_in(LOG, 1)
    assert (outer["class"], outer["condition"]) == ("org.apache.spark.SparkException", "TASK_WRITE_FAILED")
    assert (root["class"], root["message"]) == ("java.lang.IllegalStateException", "batch 2 doesn't exist")
    failure = failure_of({"failed": [outer, root], "started": True}, JobPlace(tmp_path))
    assert failure
    assert (failure.class_name, failure.condition, failure.phase) == (root["class"], "TASK_WRITE_FAILED", "batch")


def test_without_a_trace_the_status_and_the_last_line_are_all(tmp_path: Path) -> None:
    (one,) = failures_in("ModuleNotFoundError: No module named 'orders'\n\n", 1)
    assert (one["class"], one["message"]) == ("exit status 1", "ModuleNotFoundError: No module named 'orders'")
    failure = failure_of({"failed": [one], "started": True}, JobPlace(tmp_path))
    assert failure
    assert failure.phase is None


@pytest.mark.parametrize(
    ("path", "release"),
    [
        ("/opt/spark/jars/spark-core_2.13-4.2.0.jar", "4.2.0"),
        ("jars/spark-core_2.12-3.5.1-amzn-0.jar", "3.5.1"),
        ("spark-core_2.13-4.2.0.jar", "4.2.0"),
        ("/opt/app.jar", None),
    ],
)
def test_the_class_path_says_which_spark(path: str, release: str | None) -> None:
    assert spark_on(["/opt/conf", path]) == release
