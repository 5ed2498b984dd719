"""`ckpt state export --engine spark`: the workers of a Spark cluster read the partitions and write the files."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from ckpttool.spark.state_source import NAME, STORAGE_PREFIX, StateSource

FORMS = {"parquet": "parquet", "jsonl": "json"}


def export_with_spark(
    path: str,
    storage_options: Mapping[str, str],
    directory: str,
    form: str,
    batch: int,
    operator: int,
    store: str,
) -> None:
    """Through the session that `spark-submit` or the environment configures, or a local one."""
    spark = SparkSession.builder.appName("ckpt state export").getOrCreate()
    spark.dataSource.register(StateSource)
    options = {f"{STORAGE_PREFIX}{name}": value for name, value in storage_options.items()}
    options |= {"batch": str(batch), "operator": str(operator), "store": store}
    data = spark.read.format(NAME).options(**options).load(path)
    data.write.format(FORMS[form]).save(directory)
