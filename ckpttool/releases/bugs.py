"""Bugs of Spark and of connectors that a checkpoint shows: which finding they cause, which releases have them. Data.

Of a bug that spoils files the release counts that wrote them, of any other the one that starts the query. The releases
are those whose sources lack the change.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ckpttool.releases import FOREVER, OLDEST, Release, since

_TABLE_FILE = ".sst"


class Bug(Struct, frozen=True):
    """`releases`: from the first that has it up to before the first that has it no more, in each line; `FOREVER`: no
    release mends it. `causes`: the finding, and a part of its path and of its message. `line`: of a source, in the
    newest offsets; `sink`: of this kind; empty: any. `mended`: of a connector, in words: no file tells its
    release."""

    issue: str
    what: str
    releases: tuple[tuple[Release, Release], ...]
    by: Literal["writer", "start"]
    causes: tuple[str, str, str]
    line: str = ""
    sink: str = ""
    mended: str = ""

    def affects(self, release: Release) -> bool:
        return any(first <= release < mended for first, mended in self.releases)


_SIZES = ("state-file-corrupt", _TABLE_FILE, "where the snapshot says")
BUGS: tuple[Bug, ...] = (
    Bug(
        "SPARK-38033",
        "offsets are written over a hole below them, which 3.3.0 and later only tell more of",
        ((OLDEST, FOREVER),),
        "writer",
        ("previous-offset-missing", "", ""),
    ),
    Bug(
        "SPARK-41375",
        "an answer of Kafka without partitions is logged as the end of a batch",
        ((OLDEST, since.KAFKA_IDLES),),
        "writer",
        ("partitions-gone", "", "not in the batch that runs again"),
        line="{}",
    ),
    Bug(
        "SPARK-43404",
        "a task that is tried again keeps the table file of the first attempt",
        ((since.ROCKSDB, (3, 4, 1)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-45419",
        "table files of a later version that was given up are taken for those of another store",
        ((since.ROCKSDB, (3, 5, 1)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-46796",
        "a local table file is taken for the one of the same name that a snapshot means",
        ((since.ROCKSDB, (3, 5, 1)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-47036",
        "a table file that a compaction took away is still taken for uploaded",
        ((since.ROCKSDB, (3, 5, 2)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-49770",
        "a version that is loaded again keeps the table files of the snapshot that is there",
        ((since.ROCKSDB, (4, 0, 0)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-51717",
        "the second snapshot of a new query keeps a table file of a first one that was given up",
        ((since.CHANGELOGS, (4, 0, 0)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-52637",
        "after a compaction two table files are taken for one",
        ((since.ROCKSDB, (4, 1, 0)),),
        "writer",
        _SIZES,
    ),
    Bug(
        "SPARK-53560",
        "a batch that runs again is held against the offsets that Kafka has now",
        since.KAFKA_REPLAY_VERIFIED,
        "start",
        ("available-now-verification", "", ""),
    ),
    Bug(
        "SPARK-55892",
        "the maintenance of another executor removes a table file that a snapshot on its way still needs",
        ((since.ROCKSDB, (4, 2, 0)),),
        "writer",
        ("state-file-missing", _TABLE_FILE, ""),
    ),
    Bug(
        "apache/iceberg#18000",
        "Trigger.AvailableNow wants the snapshot at which the source began, however far it has come",
        ((OLDEST, FOREVER),),
        "start",
        ("iceberg-snapshot-gone", "", "with Trigger.AvailableNow the source goes there from where it began"),
    ),
    Bug(
        "HUDI-4665",
        "a batch that the table refuses is passed over, and committed",
        ((OLDEST, FOREVER),),
        "writer",
        ("sink-behind-checkpoint", "", ""),
        sink="hudi",
        mended="Hudi 0.12.1",
    ),
)


class ConnectorBug(Struct, frozen=True):
    """One that a source's restart meets, whatever the files look like; no file says which release of the connector
    there is. `option`: given with one of these `values`; any, if there are none. `unless`: where the bug is met without
    the option too, what has to be given not to meet it. `mended`: in words."""

    issue: str
    what: str
    kind: str
    option: str
    values: tuple[str, ...]
    mended: str
    next_step: str
    unless: tuple[str, ...] = ()


CONNECTOR_BUGS: tuple[ConnectorBug, ...] = (
    ConnectorBug(
        "apache/iceberg#10156",
        "stream-from-timestamp is read at every start, and one after the newest snapshot keeps the query from going on",
        "iceberg",
        "stream-from-timestamp",
        (),
        "open",
        "leave stream-from-timestamp out: the query goes on from its offsets",
    ),
    ConnectorBug(
        "apache/paimon#8205",
        "a restarted query leaves its offset, skips the changes since, and reads the whole snapshot again",
        "paimon",
        "scan.mode",
        ("latest-full", "full", "compacted-full", "default"),
        "2.0.0",
        "start with Paimon 2.0.0 or newer",
        unless=("scan.snapshot-id", "scan.timestamp-millis", "scan.timestamp", "scan.tag-name"),
    ),
)
