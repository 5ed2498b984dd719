"""Reads state through `ckpt-state` inside Spark, on the cluster that the session's configuration names.

A request has `path`, `options`, and perhaps `where`; the answer are the rows as JSON, their number of tasks, and how
many tasks each executor has finished so far. A request with `ddl` asks for Spark's JSON of such a schema.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from ckpttool.spark.state_source import StateSource


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    if "ddl" in request:
        return {"schema": json.loads(StructType.fromDDL(request["ddl"]).json())}
    spark.dataSource.register(StateSource)
    data = spark.read.format("ckpt-state").options(**request["options"]).load(request["path"])
    if request.get("where"):
        data = data.where(request["where"])
    rows = data.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS row").collect()
    plan = data._jdf.queryExecution().executedPlan().toString()
    tasks = data.rdd.getNumPartitions()
    return {"rows": [row.row for row in rows], "tasks": tasks, "plan": plan, "finished": finished_tasks(spark)}


def finished_tasks(spark: SparkSession) -> dict[str, int]:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    there = (executors.apply(at) for at in range(executors.size()))
    return {one.id(): one.completedTasks() for one in there}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
