"""The job that `make demo` deploys and changes: revenue by city, of orders that come as files."""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import sum as sum_of

place = sys.argv[1]
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()


def publish(revenue: DataFrame, _batch_id: int) -> None:
    revenue.coalesce(1).write.mode("overwrite").json(f"{place}/revenue")


orders = spark.readStream.schema("city string, country string, price bigint, amount bigint").json(f"{place}/orders")
revenue = orders.groupBy("city").agg(sum_of("price").alias("revenue"))
(
    revenue.writeStream.queryName("revenue")
    .outputMode("complete")
    .option("checkpointLocation", f"{place}/checkpoint")
    .trigger(availableNow=True)
    .foreachBatch(publish)
    .start()
    .awaitTermination()
)
