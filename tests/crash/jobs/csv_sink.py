"""A job whose sink is in a format that is not read."""

from sound import IDENTITY, make_input  # noqa: F401


def build(spark, source, sink, checkpoint):
    writer = source.writeStream.format("csv").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
