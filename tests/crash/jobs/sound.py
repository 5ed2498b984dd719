"""A job of somebody's own, into the file sink."""

IDENTITY = ["order"]


def make_input(seed, batch):
    return [{"order": seed * 1000 + batch * 2 + n, "amount": n} for n in range(2)]


def build(spark, source, sink, checkpoint):
    print("what a job prints must not disturb anybody")
    writer = source.writeStream.format("json").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
