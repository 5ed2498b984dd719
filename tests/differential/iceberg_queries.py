"""What the sweep over Iceberg sources asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request makes a table, commit by commit, or runs a query that reads one. The answer to the first has the snapshots in
the order in which they came, and the table's own files; that to the second is that of `kafka_queries`.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.differential.kafka_queries import outcome

NAME = "lake.db.{}"
ROWS = 4


class Table:
    """A table of a catalog in a directory. Each append is `ROWS` more ids."""

    def __init__(self, spark: SparkSession, name: str, place: Path) -> None:
        self.spark, self.name, self.place = spark, NAME.format(name), place
        self.snapshots: list[int] = []
        self.rows = 0

    def create(self, properties: str = "") -> None:
        more = f"TBLPROPERTIES ({properties})" if properties else ""
        self.spark.sql(f"CREATE TABLE {self.name} (id BIGINT) USING iceberg {more}")

    def do(self, word: str) -> None:
        op, _, given = word.partition(":")
        getattr(self, f"_{op.replace('-', '_')}")(*([given] if given else []))
        if (self.place / "metadata").exists():
            there = [row[0] for row in self.spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots").collect()]
            self.snapshots += [one for one in there if one not in self.snapshots]

    def _append(self, files: str = "1") -> None:
        data = self.spark.range(self.rows, self.rows + ROWS).repartition(int(files))
        if "more" in self.spark.table(self.name).columns:
            data = data.withColumn("more", F.lit(1).cast("bigint"))
        data.writeTo(self.name).append()
        self.rows += ROWS

    def _overwrite(self) -> None:
        self.spark.range(900, 900 + ROWS).coalesce(1).writeTo(self.name).overwrite(F.lit(True))

    def _delete(self, where: str = f"id < {ROWS}") -> None:
        self.spark.sql(f"DELETE FROM {self.name} WHERE {where}")

    def _update(self) -> None:
        self.spark.sql(f"UPDATE {self.name} SET id = id + 500 WHERE id = 1")

    def _rewrite(self) -> None:
        self._call("rewrite_data_files", "options => map('min-input-files', '2')")

    def _rewrite_manifests(self) -> None:
        self._call("rewrite_manifests")

    def _expire(self, left: str) -> None:
        self._call("expire_snapshots", f"older_than => TIMESTAMP '2099-01-01 00:00:00', retain_last => {left}")

    def _rollback(self, to: str) -> None:
        self._call("rollback_to_snapshot", f"snapshot_id => {self.snapshots[int(to)]}")

    def _add_column(self) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMN more BIGINT")

    def _drop(self) -> None:
        self.spark.sql(f"DROP TABLE {self.name} PURGE")
        shutil.rmtree(self.place, ignore_errors=True)

    def _again(self) -> None:
        self._drop()
        self.create()

    def _lose_data(self) -> None:
        for path in (self.place / "data").glob("*.parquet"):
            path.unlink()

    def _call(self, procedure: str, given: str = "") -> None:
        told = ", ".join([f"table => '{self.name.partition('.')[2]}'", *([given] if given else [])])
        self.spark.sql(f"CALL lake.system.{procedure}({told})")


def make(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = Path(request["place"])
    table = Table(spark, request["make"], place)
    table.create(request["properties"])
    for word in request["ops"]:
        table.do(word)
    metadata = place / "metadata"
    hint = (metadata / "version-hint.text").read_text() if metadata.exists() else None
    files = {} if hint is None else {"version-hint.text": hint, f"v{hint}.metadata.json": ""}
    for name in [name for name in files if name.startswith("v") and name.endswith(".json")]:
        files[name] = (metadata / name).read_text()
    return {"snapshots": table.snapshots, "files": files}


def writer_of(spark: SparkSession, request: dict[str, Any]) -> Any:
    data = spark.readStream.format("iceberg").options(**request["options"]).load(request["table"])
    data = data.observe("read", F.collect_list(F.col("id").cast("string")).alias("values"))
    writer = data.writeStream.option("checkpointLocation", request["checkpoint"]).format("noop")
    return writer.trigger(availableNow=True) if request["trigger"] == "available-now" else writer


def answer(spark: SparkSession, request: dict[str, Any]) -> Any:
    return make(spark, request) if "make" in request else outcome(spark, request, writer_of)


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
