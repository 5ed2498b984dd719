"""A job whose sink lacks the column of its identity."""

from sound import IDENTITY, make_input  # noqa: F401


def build(spark, source, sink, checkpoint):
    writer = source.select("amount").writeStream.format("json").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
