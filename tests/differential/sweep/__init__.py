"""Checkpoints of real Spark, damaged in every way that files can be, and what real Spark then does with them.

    python -m tests.differential.sweep.run --spark 4.2.0

makes the bases (`bases.py`), damages copies of them (`surgery.py`), restarts the same query on each (`restarts.py`,
with `queries.py` inside the Spark process) and keeps what happened below `truths/`, where `load.py` reads it without
Spark.
"""
