"""Looks for keys of two shapes in one table: windows that are not of one length, or rows that another schema than the
recorded one has made. Spark finds what it keeps of a key by the key's bytes, and never meets those of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats.state.layouts import bare_row, rocksdb_key
from ckpttool.formats.state.types import has_one_size
from ckpttool.formats.state.unsafe import told_size
from ckpttool.model import Checkpoint
from ckpttool.scene.around import TwoShapes
from ckpttool.state.reader import StateReader
from ckpttool.state.tables import TRANSFORM, StateTable
from ckpttool.state.windows import window_in
from ckpttool.storage.store import Store
from ckpttool.words import spell_span

_COUNTED = 100_000  # keys of a table
_OTHER = "of another schema than the recorded one"

ShapeOf = Callable[[bytes], str]


def two_shapes(store: Store, checkpoint: Checkpoint, batch: int) -> Iterator[TwoShapes]:
    """After `batch`. What cannot be read tells nothing here: whoever looks at the state says so."""
    reader = StateReader(store, checkpoint, batch)
    for table in reader.tables:
        try:
            shape_of = _shape_of(table, reader)
            found = _shapes(reader, table, shape_of) if shape_of else None
        except CkptError:
            continue
        if shape_of and found and len(found[1]) > 1:
            path, shapes = found
            since = _since(reader, table, shape_of)
            yield TwoShapes(table.operator, path, tuple(shapes.most_common()), since)


def _shape_of(table: StateTable, reader: StateReader) -> ShapeOf | None:
    if table.shape != "pairs" or table.is_internal or table.parts or not table.key.fields:
        return None
    in_value, place = window_in(table)
    told = told_size(table.key)
    encoding = reader.conf.encoding if table.operator_name in TRANSFORM else "unsaferow"
    kind = str((table.encoder or {}).get("keyStateEncoderType", "NoPrefix"))
    is_row = table.provider == "hdfs" or (encoding == "unsaferow" and kind.startswith("NoPrefix"))
    before = 0 if table.provider == "hdfs" else 1  # a byte, the version of the encoding
    if not is_row and (in_value or place is None):
        return None
    decode = bare_row(table.key) if table.provider == "hdfs" else rocksdb_key(table.key, table.encoder, encoding)
    usual = "of one size" if has_one_size(table.key) else "of the recorded schema"

    def shape(key: bytes) -> str:
        row = key[before:]
        if is_row and told and told(row) != len(row):
            return _OTHER
        try:
            values = decode(key)
        except MalformedFile:
            return _OTHER
        window = values[place] if place is not None and not in_value else None
        if window is None or None in window:
            return usual
        return f"of windows of {spell_span((window[1] - window[0]) // 1_000)}"

    return shape


def _shapes(reader: StateReader, table: StateTable, shape_of: ShapeOf) -> tuple[str, Counter[str]] | None:
    """And the first store that has two, or of which one has another than those before."""
    every: Counter[str] = Counter()
    path = None
    left = _COUNTED
    for partition in reader.ahead(table, reader.partitions(table.operator)):
        files = reader.files(table.operator, partition, table.store)
        with reader.stores.entries(files, table.family) as pairs:
            every.update(shape_of(key) for key, _ in islice(pairs, left))
        path = path or (files.path if len(every) > 1 else None)
        left = _COUNTED - every.total()
        if left <= 0:
            break
    return (path, every) if path else None


def _since(reader: StateReader, table: StateTable, shape_of: ShapeOf) -> int | None:
    """The first batch whose state has two, by halves; None where nothing older can be read."""
    batches = [one for one in sorted(reader.checkpoint.commits) if one < reader.batch]
    low, high = 0, len(batches)
    had_one = set()
    while low < high:
        middle = (low + high) // 2
        try:
            if _shapes(reader.at(batches[middle]), table, shape_of):
                high = middle
                continue
            had_one.add(middle)
        except CkptError:
            pass  # too old to be read
        low = middle + 1
    if low - 1 not in had_one:
        return None
    return batches[low] if low < len(batches) else reader.batch
