"""A query of Databricks, which runs a Spark of its own, and Auto Loader, which exists nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.auto_loader import KIND as AUTO_LOADER
from ckpttool.formats import layout
from ckpttool.laws.base import Law, reads
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.scene import Failure, Scene

_NOT_FOUND, _RUNTIME = "auto-loader-elsewhere", "databricks-runtime"
_CLASS_NOT_FOUND = "java.lang.ClassNotFoundException"


def _source_not_found(scene: Scene) -> Failure | None:
    """Asked where a release of Apache Spark is named; else the query goes on where it came from."""
    if AUTO_LOADER not in scene.kinds or scene.is_on_databricks:
        return None
    condition = "DATA_SOURCE_NOT_FOUND" if scene.release >= since.SOURCE_NOT_FOUND else None
    why = "Auto Loader (cloudFiles) exists on Databricks only"
    return Failure("start", _CLASS_NOT_FOUND, condition, "Failed to find", why, path=layout.SOURCES)


def _runtime(scene: Scene) -> Iterator[Finding]:
    runtime = scene.evidence.databricks
    newest = scene.evidence.newest
    if runtime is None:
        return
    built_on = "" if runtime.built_on is None else ", built on Spark {}.{},".format(*runtime.built_on)
    more = ". Under Apache Spark it ends with [DATA_SOURCE_NOT_FOUND]" if AUTO_LOADER in scene.kinds else ""
    message = f"{runtime.name}{built_on} has written this: what is said of a restart is not checked there{more}"
    yield Finding(_RUNTIME, "info", layout.offsets(newest.id) if newest else layout.OFFSETS, message)


def _rocksdb_of_files(scene: Scene) -> Iterator[Finding]:
    for log in scene.checkpoint.source_logs:
        if log.kind == AUTO_LOADER:
            message = (
                "Auto Loader keeps the files that it has seen in a RocksDB of its own: no plan of ckpt changes that"
            )
            yield Finding("auto-loader", "info", layout.source(log.name), message)


HEALTH = (
    Law(
        "auto-loader",
        "the input is Auto Loader's",
        look=_rocksdb_of_files,
        severities=("info",),
        applies=reads(AUTO_LOADER),
    ),
)
STARTED = (
    Law(
        _NOT_FOUND,
        "Auto Loader is a source that Apache Spark does not have.",
        "DataSource.lookupDataSource",
        _source_not_found,
        symptom="a query of Auto Loader is to be started with Apache Spark",
        next_step="start it on Databricks, or read the files with a file source and a new checkpoint",
        errors=("DATA_SOURCE_NOT_FOUND…cloudFiles", "Failed to find data source: cloudFiles"),
    ),
)
TOLD = (Law(_RUNTIME, "Databricks has written this", look=_runtime, severities=("info",)),)
