"""A script of somebody's own, started as a command: files to files, and its directory from the command line."""

import sys

from pyspark.sql import SparkSession

root = sys.argv[1]
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json(f"{root}/input")
writer = rows.writeStream.format("json").option("checkpointLocation", f"{root}/out/_checkpoint")
writer.trigger(availableNow=True).start(f"{root}/out").awaitTermination()
