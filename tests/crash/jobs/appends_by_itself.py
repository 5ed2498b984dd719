"""A script of somebody's own that writes a batch twice if it is run twice."""

import sys

from pyspark.sql import SparkSession

root = sys.argv[1]
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json(f"{root}/input")
writer = rows.writeStream.option("checkpointLocation", f"{root}/checkpoint").trigger(availableNow=True)
writer.foreachBatch(
    lambda batch, _: batch.coalesce(1).write.mode("append").json(f"{root}/out")
).start().awaitTermination()
