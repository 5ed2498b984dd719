"""File names in a store's directory: `<version>.delta|snapshot` (HDFS), `<version>[_<id>].zip|changelog` (RocksDB).

The id stands there with checkpoint format 2 only. Everything else (`SSTs`, `_metadata`, checksums, temporary files)
names no version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SST_DIRECTORY, LOG_DIRECTORY = "SSTs", "logs"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PROVIDERS = {"HDFSBackedStateStoreProvider": "hdfs", "RocksDBStateStoreProvider": "rocksdb"}
SUFFIXES = {"delta": "hdfs", "snapshot": "hdfs", "zip": "rocksdb", "changelog": "rocksdb"}


def parse_state_versions(names: Iterable[str]) -> tuple[int, ...]:
    """The versions that have a file, ascending."""
    versions = set()
    for name in names:
        stem, _, suffix = name.rpartition(".")
        version = stem.partition("_")[0]
        if suffix in SUFFIXES and version.isascii() and version.isdecimal() and len(version) < 19:
            versions.add(int(version))
    return tuple(sorted(versions))


def provider_of(names: Iterable[str]) -> str | None:
    """Which state store provider writes such files; None if no name tells."""
    found = {SUFFIXES.get(name.rpartition(".")[2]) for name in names if not name.startswith(".")} - {None}
    return found.pop() if len(found) == 1 else None


def provider_by_conf(conf: Mapping[str, str]) -> str | None:
    """Which one a batch's offsets pin; a class that is not Spark's by its own name."""
    name = conf.get(PROVIDER, "").rpartition(".")[2]
    return PROVIDERS.get(name, name) or None


def by_batch(name: str) -> tuple[int, str]:
    """The order of schema files, `<batch>_<uuid>`."""
    batch = name.partition("_")[0]
    return (int(batch) if batch.isdecimal() and len(batch) < 19 else -1, name)
