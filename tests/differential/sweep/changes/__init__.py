"""What Spark does when a query that was changed meets the checkpoint of what it was before.

catalogue   which queries leave a checkpoint, and what each is changed to
query       a query as data, of which `in_spark` makes Spark's
record      starts both, and keeps what happened
load        the recorded restarts, and the checkpoints they are about, without Spark
"""
