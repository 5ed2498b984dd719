"""The rows of a partition as batches of Arrow: whole columns at a time where that is possible, else row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from ckpttool.state import bulk
from ckpttool.state.arrow import record_batch, table_schema
from ckpttool.state.columns import rows_of, struct_column
from ckpttool.state.decoding import row_decoder
from ckpttool.state.framing import Rows
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import TRANSFORM, StateTable

_BATCH_ROWS = 65_536


def partition_batches(reader: StateReader, table: StateTable, partition: int) -> Iterator[pa.RecordBatch]:
    """Raises what is wrong with the partition's files."""
    schema = table_schema(table)
    if table.parts:
        rows = (Row(partition, values) for values in reader.values(table, partition))
        while chunk := list(islice(rows, _BATCH_ROWS)):
            yield record_batch(table, schema, chunk)
        return
    files = reader.files(table.operator, partition, table.store)
    if table.provider == "hdfs" and table.shape == "pairs" and not reader.conf.row_checksums:
        whole = reader.stores.whole_files(files)
        records = bulk.newest_records(*whole) if whole else None
        del whole
        if records is not None:
            batch = _columns(table, schema, partition, *records)
            del records  # they hold on to all that was read
            if batch is not None:
                yield batch
                return
    with reader.stores.entries(files, table.family) as pairs:
        while found := list(islice(pairs, _BATCH_ROWS)):
            yield _chunk(reader, table, schema, partition, found)


def _chunk(
    reader: StateReader, table: StateTable, schema: pa.Schema, partition: int, pairs: Sequence[tuple[bytes, bytes]]
) -> pa.RecordBatch:
    skipped = 0 if table.provider == "hdfs" else 1
    if table.shape == "pairs" and _is_plain(reader, table):
        keys, values = rows_of([key for key, _ in pairs], skipped), rows_of([value for _, value in pairs], skipped)
        batch = _columns(table, schema, partition, keys, values)
        if batch is not None:
            return batch
    decode = row_decoder(table, reader.conf)
    return record_batch(table, schema, [Row(partition, row) for key, value in pairs for row in decode(key, value)])


def _is_plain(reader: StateReader, table: StateTable) -> bool:
    """Whether keys and values are rows as a whole."""
    if table.provider == "hdfs":
        return True
    kind = str((table.encoder or {}).get("keyStateEncoderType", "NoPrefix"))
    avro = reader.conf.encoding == "avro" and table.operator_name in TRANSFORM
    return kind.startswith("NoPrefix") and not avro and not table.is_multi_valued


def _columns(
    table: StateTable, schema: pa.Schema, partition: int, keys: Rows | None, values: Rows | None
) -> pa.RecordBatch | None:
    if keys is None or values is None:
        return None
    key, value = struct_column(table.key, keys), struct_column(table.value, values)
    if key is None or value is None:
        return None
    partitions = pa.array(np.full(len(key), partition, np.int32))
    return pa.RecordBatch.from_arrays([partitions, key, value], schema=schema)
