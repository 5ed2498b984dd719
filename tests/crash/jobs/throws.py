"""A job that fails by itself, in its third batch."""

from sound import IDENTITY, make_input  # noqa: F401


def build(spark, source, sink, checkpoint):
    def write(rows, batch_id):
        if batch_id == 2:
            raise RuntimeError("no third batch today")
        rows.write.mode("append").json(sink)

    writer = source.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
