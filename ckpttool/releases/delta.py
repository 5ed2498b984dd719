"""Which Delta goes with which Spark, and what of it others than Spark can write."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.releases import Release

# The Delta of each Spark from this release on. Each is built for one Spark, and `RESTORE` is not in older ones.
DELTA: Mapping[Release, str] = {
    (3, 2, 0): "delta-core_2.12:2.0.2",
    (3, 3, 0): "delta-core_2.12:2.3.0",
    (3, 4, 0): "delta-core_2.12:2.4.0",
    (3, 5, 0): "delta-spark_2.12:3.3.2",
    (4, 0, 0): "delta-spark_2.13:4.0.0",
    (4, 0, 1): "delta-spark_4.0_2.13:4.4.0",
    (4, 1, 0): "delta-spark_4.1_2.13:4.4.0",
    (4, 2, 0): "delta-spark_4.2_2.13:4.4.0",
}

# With these a table was restored by delta-rs and its record lowered, and Spark read the right rows.
WRITTEN_BY_DELTA_RS = frozenset(
    {"appendOnly", "invariants", "deletionVectors", "columnMapping", "v2Checkpoint", "changeDataFeed", "timestampNtz"}
)
