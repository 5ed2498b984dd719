"""Where things are in a checkpoint: names in, paths out, relative to its root.

    metadata
    offsets/<batch>  commits/<batch>
    sources/<source>/<entry>[.compact]
    state/<operator>/_metadata/metadata                         of version 1; of version 2 _metadata/v2/<batch>
    state/<operator>/_stateSchema/<store>/<batch>_<uuid>        of version 3; before 0/[<store>/]_metadata/schema
    state/<operator>/<partition>/[<store>/]<version>.<suffix>   `state.names` tells what the names of these files mean

The store `default` has no directory of its own. Which names count as batches of a log is in `names`.
"""

from __future__ import annotations

METADATA, OFFSETS, COMMITS, SOURCES, STATE = "metadata", "offsets", "commits", "sources", "state"
PARTS = (METADATA, OFFSETS, COMMITS, SOURCES, STATE)
LOGS = (OFFSETS, COMMITS)

# What `ckpt apply` keeps in a checkpoint: Spark does not look at it.
OWN_DIRECTORY = "_ckpt"
OWN_LOCK = f"{OWN_DIRECTORY}/lock"

# Beside a checkpoint, in the place that a sink writes to.
FILE_SINK_LOG = "_spark_metadata"
DELTA_LOG = "_delta_log"

# -- logs --------------------------------------------------------------------------------------------------------------

COMPACT_SUFFIX = ".compact"


def offsets(batch: int | str) -> str:
    """A batch is a number; a name that merely counts as one, like `+5`, is a file as well."""
    return f"{OFFSETS}/{batch}"


def commits(batch: int | str) -> str:
    return f"{COMMITS}/{batch}"


def source(name: str | int) -> str:
    """A source's own directory. Sources are numbered, or since 4.2 may have names."""
    return f"{SOURCES}/{name}"


def source_entry(name: str | int, entry: int | str) -> str:
    """An entry of a source's own log. Entry 0 of most sources is where the source begins."""
    return f"{SOURCES}/{name}/{entry}"


def source_of(directory: str) -> str | None:
    """The name of the source whose own directory this is."""
    return directory.removeprefix(f"{SOURCES}/") if directory.startswith(f"{SOURCES}/") else None


def iceberg_beginning(name: str) -> str:
    """Where an Iceberg source keeps what others keep as entry 0."""
    return f"{SOURCES}/{name}/{OFFSETS}/0"


def compact(entry: int) -> str:
    """What an entry of a log is called that repeats those before it."""
    return f"{entry}{COMPACT_SUFFIX}"


def number_of(path: str) -> int:
    """The batch or entry that a file of a log is about."""
    return int(path.rpartition("/")[2].removesuffix(COMPACT_SUFFIX))


# -- state -------------------------------------------------------------------------------------------------------------

DEFAULT_STORE = "default"
JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
OPERATOR_METADATA, RUNS, SCHEMAS, SCHEMA = "_metadata", "v2", "_stateSchema", "schema"


def operator(number: int) -> str:
    return f"{STATE}/{number}"


def store(number: int, partition: int, name: str = DEFAULT_STORE) -> str:
    """The directory of one store of one partition of an operator."""
    return f"{STATE}/{number}/{partition}" + ("" if name == DEFAULT_STORE else f"/{name}")


def is_join_store(name: str) -> bool:
    """Of a directory in a partition: all others hold no store of their own."""
    return name.startswith(("left-", "right-"))


def operator_metadata(number: int) -> str:
    """The directory of what an operator says of itself, and of version 1 of it the only file."""
    return f"{STATE}/{number}/{OPERATOR_METADATA}"


def operator_metadata_file(number: int) -> str:
    return f"{operator_metadata(number)}/{METADATA}"


def operator_runs(number: int) -> str:
    """The directory of version 2 of it, with a file for each run of the query, called by the batch it began with."""
    return f"{operator_metadata(number)}/{RUNS}"


def operator_run(number: int, batch: int) -> str:
    return f"{operator_runs(number)}/{batch}"


def version_of_operator_metadata(path: str) -> int:
    return 2 if path.split("/")[-2] == RUNS else 1


def schema_directory(number: int, name: str = DEFAULT_STORE) -> str:
    return f"{store(number, 0, name)}/{OPERATOR_METADATA}"


def schema_file(number: int, name: str = DEFAULT_STORE) -> str:
    return f"{schema_directory(number, name)}/{SCHEMA}"


def schema_versions(number: int, name: str) -> str:
    """The directory of schemas of version 3, a file for each change."""
    return f"{STATE}/{number}/{SCHEMAS}/{name}"


# -- of Delta ----------------------------------------------------------------------------------------------------------


def is_schema_log(directory: str) -> bool:
    """In which a Delta source keeps the schemas that it came by, if its location is the checkpoint's own."""
    return directory.startswith("_schema_log_")


# -- checksums ---------------------------------------------------------------------------------------------------------

CRC_SUFFIX = ".crc"


def hadoop_crc(path: str) -> str:
    """`.<name>.crc`: of any file on a local file system, by Hadoop."""
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}.{name}{CRC_SUFFIX}"


def is_hadoop_crc(name: str) -> bool:
    """Hadoop shows nobody such a file where it keeps them."""
    return name.startswith(".") and name.endswith(CRC_SUFFIX)


def sidecar(path: str) -> str:
    """`<name>.crc`: of a file of state, by Spark."""
    return f"{path}{CRC_SUFFIX}"


# -- what a file is ----------------------------------------------------------------------------------------------------

_WITHIN = {
    FILE_SINK_LOG: "sink-log",
    DELTA_LOG: "delta-log",
    OPERATOR_METADATA: "schemas",
    SCHEMAS: "schemas",
}


def kind_of(path: str) -> str:
    """By which of `limits.TABLE` a file is read: told by its path below a checkpoint, a sink or a table."""
    top, *others = path.split("/")
    for step in (top, *others[:-1]):
        if step in _WITHIN:
            return _WITHIN[step]
    if top == METADATA:
        return "iceberg" if others else "metadata"
    return top if others and top in PARTS else "other"
