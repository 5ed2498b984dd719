"""How the entries of a table become rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ckpttool.formats.limits import check
from ckpttool.formats.state.layouts import ValueSchemas, bare_row, rocksdb_key, rocksdb_value, split_values
from ckpttool.state.tables import TRANSFORM, StateConf, StateTable

# What an entry, a key and a value, says: none, one or several rows of the table's columns.
Decode = Callable[[bytes, bytes], Iterator[tuple[Any, ...]]]


def row_decoder(table: StateTable, conf: StateConf) -> Decode:
    if table.shape == "raw":
        return _bytes
    schemas = ValueSchemas(table.value, table.value_schemas)
    if table.provider == "hdfs":
        key_of, value_of = bare_row(table.key), bare_row(table.value)
    else:
        encoding = conf.encoding if table.operator_name in TRANSFORM else "unsaferow"
        key_of, value_of = rocksdb_key(table.key, table.encoder, encoding), rocksdb_value(schemas, encoding)
    if table.is_multi_valued:
        return _several(key_of, value_of, conf.delimiter)
    if table.shape == "map":
        return lambda key, value: iter([(*key_of(key), value_of(value))])
    if table.shape == "timers":
        return lambda key, _: iter([key_of(key)])
    return lambda key, value: iter([(key_of(key), value_of(value))])


def _bytes(key: bytes, value: bytes) -> Iterator[tuple[bytes, bytes]]:
    check("row", max(len(key), len(value)))
    yield key, value


def _several(key_of: Callable[[bytes], Any], value_of: Callable[[bytes], Any], delimiter: bytes) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[tuple[Any, ...]]:
        columns = key_of(key)
        for one in split_values(value, delimiter):
            yield columns, value_of(one)

    return decode
