"""A job that loses rows: it notes that a batch is written before it is, and skips a batch that it has noted."""

from pathlib import Path

IDENTITY = ["order"]


def make_input(seed, batch):
    return [{"order": seed * 1000 + batch * 4 + n} for n in range(4)]


def build(spark, source, sink, checkpoint):
    def write(rows, batch):
        note = Path(sink) / "_notes" / str(batch)
        if note.exists():
            return
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
        rows.write.mode("append").json(sink)

    writer = source.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
