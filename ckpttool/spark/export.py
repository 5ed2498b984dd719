"""`ckpt state export --engine spark`: the workers of a Spark cluster read the partitions and write the files."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from ckpttool.formats import limits
from ckpttool.spark.state_source import LIMIT_PREFIX, NAME, STORAGE_PREFIX, StateSource

FORMS = {"parquet": "parquet", "jsonl": "json"}


def export_with_spark(
    path: str,
    storage_options: Mapping[str, str],
    directory: str,
    form: str,
    batch: int,
    operator: int,
    store: str,
    mode: int,
) -> None:
    """Through the session that `spark-submit` or the environment configures, or a local one. `mode`: of the files; who
    may read them may enter their directories."""
    umask = 0o777 & ~(mode | 0o100 | (mode & 0o444) >> 2)
    builder = SparkSession.builder.appName("ckpt state export")
    spark = builder.config("spark.hadoop.fs.permissions.umask-mode", f"{umask:03o}").getOrCreate()
    spark.dataSource.register(StateSource)
    options = {f"{STORAGE_PREFIX}{name}": value for name, value in storage_options.items()}
    options |= {f"{LIMIT_PREFIX}{kind}": str(most) for kind, most in limits.given().items()}
    options |= {"batch": str(batch), "operator": str(operator), "store": store}
    data = spark.read.format(NAME).options(**options).load(path)
    data.write.format(FORMS[form]).save(directory)
