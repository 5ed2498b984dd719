"""A job that goes on for ever, whatever it is given to read."""

from sound import IDENTITY, make_input  # noqa: F401


def build(spark, source, sink, checkpoint):
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    return ticks.writeStream.format("json").option("checkpointLocation", checkpoint).start(sink)
