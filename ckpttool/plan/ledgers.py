"""A sink's record brought down to a batch, together with its rows: what that takes, and what the sink is then."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.literals import python_literal, shell_word, spark_identifier
from ckpttool.model import LogNames
from ckpttool.plan.conditions import Condition
from ckpttool.plan.query_ids import id_steps, known_as, new_id
from ckpttool.plan.steps import Check, DeltaRestore, DeltaTxn, Spark, Step, of_sink, plain, set_aside
from ckpttool.releases import Release, spell_release
from ckpttool.releases.delta import DELTA, WRITTEN_BY_DELTA_RS
from ckpttool.scene.compaction import LOG, interval_of, lacking_ids
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkView, SinkWrite
from ckpttool.storage.urls import is_local
from ckpttool.words import listed

QUIET = Condition("sink-quiet", "nobody else writes to the table meanwhile", "ckpt")
DELTALAKE = Condition("deltalake-on-path", "python3 on the path has the package deltalake", "shell")
_NO_OTHER_READERS = Condition("nobody-reads-the-files", "nobody reads the files of those batches by their names")
_SET_ASIDE_AT_MOST = 10_000  # entries of a log: each is a step or two to be taken, and to be read before


class Rewound(Struct, frozen=True):
    """`new_id`: a record cannot be lowered, so the query goes on under another id, of which no sink has heard."""

    steps: tuple[Step, ...]
    sinks: tuple[SinkEvidence, ...]
    conditions: tuple[Condition, ...] = ()
    new_id: bool = False


def _rewound(scene: Scene, sink: SinkEvidence, batch: int, *, with_data: bool) -> Rewound | str:
    """The sink after `batch`, or why it cannot be brought there without harm. Untouched if it is there already."""
    if not SinkView(sink, scene.logs).skips(batch + 1):
        return Rewound((), (sink,))
    if sink.kind == "delta":
        return _rewound_delta(sink, batch, scene.release)
    if sink.kind == "file":
        return _rewound_file_log(scene, sink, batch, with_data=with_data)
    if sink.kind == "hudi":
        return f"Hudi takes it back itself: roll it back to the instant of batch {batch}, which takes its record along"
    return _rewound_iceberg(sink, batch)


def rewound_sinks(scene: Scene, batch: int, *, with_data: bool = False) -> Rewound | str:
    """All sinks after `batch`, or why one of them cannot be brought there. `with_data`: with the files that a file sink
    wrote, which otherwise stay, and which nobody reads who goes by its log."""
    every: list[Rewound] = []
    for sink in scene.sinks:
        rewound = _rewound(scene, sink, batch, with_data=with_data)
        if isinstance(rewound, str):
            return f"{sink.path}: {rewound}"
        every.append(rewound)
    found = Rewound(
        steps=tuple(step for one in every for step in one.steps),
        sinks=tuple(sink for one in every for sink in one.sinks),
        conditions=tuple(condition for one in every for condition in one.conditions),
    )
    return _under_a_new_id(scene, found) if any(one.new_id for one in every) else found


def _under_a_new_id(scene: Scene, found: Rewound) -> Rewound:
    query_id = new_id(scene)
    steps = id_steps(scene, query_id, "the table goes on to skip what it has recorded for the query's old id")
    return replace(
        found,
        steps=(*found.steps, *steps),
        sinks=tuple(known_as(sink, query_id) for sink in found.sinks),
        conditions=(*found.conditions, Condition("query-id-changes", "nothing else knows the query by its id")),
    )


def _rewound_delta(sink: SinkEvidence, batch: int, release: Release) -> Rewound | str:
    """Restoring alone is not enough: the table keeps the record of the batches whose rows are gone."""
    key = sink.key or ""
    own = [write for write in sink.writes if write.app_id == key and (write.batch_id or 0) > batch]
    to = sink.version_without(own)
    if not own:
        return f"its log does not show the batches above {batch} any more"
    steps: list[Step] = []
    beyond = sorted((sink.features or frozenset()) - WRITTEN_BY_DELTA_RS)
    needed = [QUIET]
    if beyond and sink.key_given:
        return f"only Spark can write it ({listed(beyond)}), and Spark cannot lower what it has recorded for {key}"
    if not beyond:
        needed.append(DELTALAKE)
    if to is not None:
        if sink.is_append_only:
            return "it forbids that rows are removed: delta.appendOnly"
        if others := sink.by_others(key, after=to):
            return f"restoring it would undo what others did since: {listed(write.place for write in others)}"
        if to < 0:
            return "the table began with a batch that is to be undone: there is no version to restore"
        was = max(write.version for write in sink.writes if write.version is not None)
        steps.append(_restore_by_spark(sink.path, to, was, batch, release) if beyond
                     else _restore(sink.path, to, batch, release))  # fmt: skip
        spark_sql = f"spark-sql on the path is of Spark {spell_release(release)}"
        needed.append(Condition("spark-sql-on-path", spark_sql, "shell"))
    if beyond:
        return Rewound(tuple(steps), (_without_rows(sink, batch),), tuple(needed), new_id=True)
    steps.append(record(sink.path, key, batch))
    return Rewound(tuple(steps), (lowered(sink, batch),), tuple(needed))


def _restore(table: str, version: int, batch: int, release: Release) -> DeltaRestore:
    return DeltaRestore(table=table, version=version, why=_taking_out(batch), shell=_restoring(table, version, release))


def _restore_by_spark(table: str, version: int, was: int, batch: int, release: Release) -> Spark:
    return Spark(
        program=restore_sql(table, version),
        why=_taking_out(batch),
        check=Check("delta", table, version, was),
        shell=_restoring(table, version, release),
    )


def _taking_out(batch: int) -> str:
    return f"takes the rows of the batches above {batch} out, which will be written again"


def restore_sql(table: str, version: int) -> str:
    """Of a path that Spark would take apart the name is for whoever runs it to find."""
    return f"RESTORE TABLE delta.{spark_identifier(plain(table)) or '`PATH`'} TO VERSION AS OF {version}"


def _restoring(table: str, version: int, release: Release) -> str:
    path = plain(table)
    if spark_identifier(path) is None:
        return f"false  # until it is restored by hand to version {version}: spark-sql would take its path apart"
    sql = shell_word(restore_sql(table, version))
    if is_local(path) and not path.startswith("/"):  # which is no place of a table to Spark
        sql = sql.replace("delta.`", "delta.`'\"$PWD\"'/", 1)
    return f"{_spark_sql(release)} -e {sql}"


def _spark_sql(release: Release) -> str:
    """By itself it has no Delta. For a Spark that has none yet, it is that of the Spark before."""
    package = DELTA[max((since for since in DELTA if since <= release), default=min(DELTA))]
    return (
        f"spark-sql --packages io.delta:{package}"
        " --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"
        " --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )


def record(table: str, app_id: str, batch: int) -> DeltaTxn:
    """With a time: a record without one is forgotten at once where the table has a retention for records."""
    program = (
        "import time; from deltalake import CommitProperties, DeltaTable, Transaction; "
        f"t = DeltaTable({python_literal(plain(table))}); "
        f"record = Transaction({python_literal(app_id)}, {batch}, int(time.time() * 1000)); "
        "t.create_write_transaction(actions=[], mode='append', schema=t.schema(), commit_properties="
        "CommitProperties(app_transactions=[record]))"
    )
    return DeltaTxn(
        table=table,
        app_id=app_id,
        version=batch,
        why="the table skips every batch up to the one it has recorded. A restore does not change that",
        shell=f"python3 -c {shell_word(program)}",
    )


def _rewound_file_log(scene: Scene, sink: SinkEvidence, batch: int, *, with_data: bool) -> Rewound | str:
    names = sink.names or LogNames()
    plain = {number: str(number) for number in names.ids if number > batch}
    compact = {number: f"{number}.compact" for number in names.compact_ids if number > batch}
    left = replace(
        names,
        ids=tuple(number for number in names.ids if number <= batch),
        compact_ids=tuple(number for number in names.compact_ids if number <= batch),
    )
    try:
        lacking = lacking_ids(left, batch + 1, interval_of(names))
    except MalformedFile as error:
        return error.message
    if lacking:
        return f"entry {lacking[0]} of its log is only kept in a compact file that would have to go"
    if len(plain) + len(compact) > _SET_ASIDE_AT_MOST:
        return f"{len(plain) + len(compact):,} entries of its log would have to go, which no query leaves"
    steps: list[Step] = []
    for number in sorted({*plain, *compact}, reverse=True):
        for name in filter(None, (compact.get(number), plain.get(number))):
            why = (
                f"the sink skips every batch up to the last one in its log. Readers forget the files of batch {number}"
            )
            steps.extend(set_aside(scene.root, of_sink(f"{sink.path.rstrip('/')}/{LOG}/{name}"), why))
    if with_data:
        data = _data_of(scene, sink, sorted({*plain, *compact}, reverse=True))
        if isinstance(data, str):
            return data
        steps.extend(data)
        return Rewound(tuple(steps), (replace(lowered(sink, batch), names=left),), (_NO_OTHER_READERS,))
    told = "all readers go by its log: its data files of those batches stay until somebody removes them"
    readers = Condition("readers-go-by-log", told, "ckpt")
    return Rewound(tuple(steps), (replace(lowered(sink, batch), names=left),), (readers,))


def _data_of(scene: Scene, sink: SinkEvidence, batches: Iterable[int]) -> tuple[Step, ...] | str:
    root, written = sink.path.rstrip("/"), {write.batch_id: write for write in sink.writes}
    steps: list[Step] = []
    for batch in batches:
        files = written[batch].files if batch in written else None
        if files is None:
            return f"which files batch {batch} wrote is not known, or they lie elsewhere"
        for name in files:
            steps.extend(set_aside(scene.root, of_sink(f"{root}/{name}"), f"batch {batch} wrote it", within=root))
            if len(steps) > _SET_ASIDE_AT_MOST:
                return "more files were written than one plan sets aside"
    return tuple(dict.fromkeys(steps))


def _rewound_iceberg(sink: SinkEvidence, batch: int) -> Rewound | str:
    write = sink.write_of(sink.key, batch)
    if write is None:
        return f"its history does not show the snapshot of batch {batch} any more"
    after = sink.writes[sink.writes.index(write) + 1 :]
    if others := [other for other in after if other.app_id != sink.key and other.changes_rows]:
        return f"rolling it back would undo what others did since: {listed(other.place for other in others)}"
    if write.version is None:
        return f"its history does not number the snapshot of batch {batch}"
    step = Spark(
        program=rollback_sql(sink.path, write.version, by_place=sink.by_place),
        why="takes the rows and the record of the batches above out together",
        check=Check("iceberg", sink.path, write.version, sink.writes[-1].version),
        shell=_rolling_back(sink, write.version),
    )
    return Rewound((step,), (lowered(sink, batch),), (QUIET,))


def rollback_sql(table: str, snapshot: int, *, by_place: bool, procedure: str = "rollback_to_snapshot") -> str:
    """Which catalog has a table, and under which name, its path does not tell; one that is found by its place is in the
    catalog that `_rolling_back` makes of the directory two above."""
    parts = [spark_identifier(part) for part in plain(table).split("/")[-2:]]
    if not by_place or None in parts or "'" in table or "\\" in table:
        return f"CALL CATALOG.system.{procedure}('NAMESPACE.TABLE', {snapshot})"
    return f"CALL ckpt.system.{procedure}('{'.'.join(filter(None, parts))}', {snapshot})"


def _rolling_back(sink: SinkEvidence, snapshot: int) -> str:
    sql = rollback_sql(sink.path, snapshot, by_place=sink.by_place)
    warehouse = plain(sink.path).rpartition("/")[0].rpartition("/")[0]
    if "CALL ckpt." not in sql or not warehouse:
        return f"false  # until it is rolled back by hand, with {sql}; then go on with what follows"
    catalog = "spark.sql.catalog.ckpt"
    return (
        "spark-sql --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        f" --conf {catalog}=org.apache.iceberg.spark.SparkCatalog --conf {catalog}.type=hadoop"
        f" --conf {shell_word(f'{catalog}.warehouse={warehouse}')} -e {shell_word(sql)}"
    )


def _without_rows(sink: SinkEvidence, batch: int) -> SinkEvidence:
    """Its record stays, and the rows of later batches are gone."""
    return replace(sink, writes=tuple(_taken_out(write, sink.key, batch) for write in sink.writes))


def _taken_out(write: SinkWrite, key: str | None, batch: int) -> SinkWrite:
    is_later = write.app_id == key and (write.batch_id or 0) > batch
    return replace(write, rows_lost=write.rows_lost or "a restore takes its rows out") if is_later else write


def lowered(sink: SinkEvidence, batch: int) -> SinkEvidence:
    """Its record ends at `batch`, and the rows of later batches are gone."""
    others = tuple(entry for entry in sink.ledger if entry.app_id != sink.key)
    own = (LedgerEntry(sink.key, batch),) if batch >= 0 else ()
    writes = tuple(write for write in sink.writes if write.app_id != sink.key or (write.batch_id or 0) <= batch)
    return replace(sink, ledger=(*others, *own), writes=writes)
