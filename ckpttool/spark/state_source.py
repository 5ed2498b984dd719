"""State as a data source of PySpark (4.0 and later), for state that is larger than one machine.

    spark.dataSource.register(StateSource)
    spark.read.format("ckpt-state").option("store", "default").load("/data/checkpoints/orders")

A partition of the state is a partition of the data, read by a Python worker with the same decoder as `ckpt state`. The
schema is known before the job, from the state's own schema files. Workers must have ckpttool and its extra `state`.

Options: `batch`, `operator`, `store` as of `ckpt state rows`, `partitions` (`0,3,7`), what begins with `storage.` for
the storage (`storage.key=…`), and limits of what is read (`limit.state=…`). From Spark 4.1 on, `partition = 3` and
`partition IN (…)` are pushed down where `spark.sql.python.filterPushdown.enabled` is set.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ckpttool.errors import CkptError, NotFound
from ckpttool.formats import limits
from ckpttool.formats.state.types import DataType
from ckpttool.state.reader import StateReader, open_state
from ckpttool.state.tables import StateTable
from ckpttool.storage.store import open_store

NAME = "ckpt-state"
STORAGE_PREFIX, LIMIT_PREFIX = "storage.", "limit."
PARTITION = "partition"


class Request(Struct, frozen=True):
    """What of which checkpoint; it goes to the workers."""

    path: str
    batch: int | None
    operator: int
    store: str | None
    partitions: tuple[int, ...] | None
    storage: tuple[tuple[str, str], ...]
    read_limits: tuple[tuple[str, int], ...]

    def limited(self) -> AbstractContextManager[None]:
        """What is opened is read in here."""
        return limits.changed(dict(self.read_limits))

    def open(self) -> tuple[StateReader, StateTable]:
        reader = open_state(open_store(self.path, dict(self.storage)), self.batch)
        there = [table for table in reader.tables if table.operator == self.operator]
        found = [one for one in there if one.name == self.store or (self.store is None and not one.is_internal)]
        if len(found) != 1:
            names = ", ".join(table.name for table in there) or "none"
            raise NotFound(f"operator {self.operator} has no single store {self.store or ''}", f"there are: {names}")
        return reader, found[0]


class StateSource(DataSource):
    """`ckpt-state`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        request = _request(self.options)
        with request.limited():
            _, table = request.open()
        fields = [_field(PARTITION, "integer"), *(_field(one.name, spark_type(one.type)) for one in table.columns)]
        return StructType.fromJson({"type": "struct", "fields": fields})

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark passes what `schema` gave
        request = _request(self.options)
        return ChoosyReader(request) if _asks_for_filters() else StateSourceReader(request)


class OnePartition(InputPartition):
    """One partition of the state, and the batch it is read at: the same for all, whatever is committed meanwhile."""

    def __init__(self, partition: int, batch: int) -> None:
        super().__init__(partition)
        self.partition = partition
        self.batch = batch


class StateSourceReader(DataSourceReader):
    def __init__(self, request: Request) -> None:
        self.request = request
        self.wanted: set[int] | None = None if request.partitions is None else set(request.partitions)

    def partitions(self) -> Sequence[InputPartition]:
        with self.request.limited():
            reader, table = self.request.open()
            there = reader.partitions(table.operator)
        return [OnePartition(one, reader.batch) for one in there if self.wanted is None or one in self.wanted]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from msgspec.structs import replace

        from ckpttool.state.batches import partition_batches

        assert isinstance(partition, OnePartition)
        with self.request.limited():
            reader, table = replace(self.request, batch=partition.batch).open()
            yield from partition_batches(reader, table, partition.partition)


class ChoosyReader(StateSourceReader):
    """Reads only the partitions that conditions let through."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Takes what names partitions; the rest is Spark's."""
        for one in filters:
            numbers = _numbers(one)
            if numbers is None:
                yield one
            else:
                self.wanted = numbers if self.wanted is None else self.wanted & numbers


def _asks_for_filters() -> bool:
    """Spark refuses a reader that takes filters, unless `spark.sql.python.filterPushdown.enabled` is set. Then it plans
    in a worker that runs another module; nothing else tells."""
    names = (*sys.modules, getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", None))
    return "pyspark.sql.worker.data_source_pushdown_filters" in names


def _numbers(condition: Any) -> set[int] | None:
    """The partitions that an `=` or `IN` on the partition lets through; None for any other condition."""
    if tuple(getattr(condition, "attribute", ())) != (PARTITION,):
        return None
    kind = type(condition).__name__
    if kind in ("EqualTo", "EqualNullSafe") and isinstance(condition.value, int):
        return {condition.value}
    return {int(one) for one in condition.value if one is not None} if kind == "In" else None


def _request(options: Any) -> Request:
    path = options.get("path")
    if not path:
        raise CkptError("no path", "load(PATH)")
    batch, partitions = options.get("batch"), options.get("partitions")
    storage, read_limits = (
        {name[len(prefix) :]: value for name, value in options.items() if name.startswith(prefix)}
        for prefix in (STORAGE_PREFIX, LIMIT_PREFIX)
    )
    unknown = next((kind for kind in read_limits if kind not in limits.TABLE), None)
    if unknown is not None:
        raise CkptError(f"no limit is called {unknown}", f"there are: {', '.join(limits.TABLE)}")
    return Request(
        path=path,
        batch=None if batch is None else int(batch),
        operator=int(options.get("operator", 0)),
        store=options.get("store"),
        partitions=None if partitions is None else tuple(int(one) for one in partitions.split(",") if one.strip()),
        storage=tuple(sorted(storage.items())),
        read_limits=tuple((kind, int(most)) for kind, most in sorted(read_limits.items())),
    )


# -- types -------------------------------------------------------------------------------------------------------------

_AS_TEXT = ("calendar", "year-month", "variant")
_SPELLED = {"void": "void", "unknown": "binary", "timestamp-nanos": "string", "timestamp_ntz-nanos": "string"}


def spark_type(kind: DataType) -> Any:
    """Spark's JSON of the type; what Arrow has no type for is text, as in an export."""
    if kind.kind == "struct":
        from ckpttool.state.arrow import field_names

        names = field_names(kind.fields)
        fields = [_field(name, spark_type(one.type)) for name, one in zip(names, kind.fields, strict=True)]
        return {"type": "struct", "fields": fields}
    if kind.kind == "array":
        assert kind.element
        return {"type": "array", "elementType": spark_type(kind.element), "containsNull": True}
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        inner = {"keyType": spark_type(kind.element), "valueType": spark_type(kind.value)}
        return {"type": "map", **inner, "valueContainsNull": True}
    if kind.kind in _AS_TEXT or kind.kind == "string":
        return "string"
    if kind.kind == "day-time":
        return "interval day to second"
    return _SPELLED.get(kind.kind, kind.name)


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}
