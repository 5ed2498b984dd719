"""Run by a Spark: what its parser and its Hadoop's shell make of literals. Takes and gives JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
asked = json.loads(sys.stdin.read())
jvm: Any = spark._jvm
shell = jvm.org.apache.hadoop.fs.FsShell(spark._jsc.hadoopConfiguration())


def run(words: list[str]) -> int:
    array = spark._sc._gateway.new_array(jvm.java.lang.String, len(words))
    for number, word in enumerate(words):
        array[number] = word
    return int(jvm.org.apache.hadoop.util.ToolRunner.run(shell, array))


names = [spark.sql(f"SELECT 1 AS {identifier}").columns[0] for identifier in asked["identifiers"]]
print(json.dumps({"names": names, "statuses": [run(words) for words in asked["moves"]]}))
