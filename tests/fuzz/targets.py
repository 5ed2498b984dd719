"""What foreign bytes are handed to first, by name: each takes any bytes, and makes a value of them or `MalformedFile`.

State is taken further than its parsers: what a schema file says is compiled, and rows are read and shown by it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ckpttool.connectors import ALL, recognise_offset
from ckpttool.connectors.base import Offset
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats.delta_log import parse_checksum, parse_commit, parse_last_checkpoint, parse_transaction
from ckpttool.formats.dstreams import parse_dstream_names, parse_wal_names, sniff_codec
from ckpttool.formats.hudi import parse_commit as parse_hudi_commit
from ckpttool.formats.iceberg import current_metadata, parse_history
from ckpttool.formats.layout import kind_of
from ckpttool.formats.names import holes, parse_log_names
from ckpttool.formats.paimon import parse_snapshot
from ckpttool.formats.state.compression import MAGICS, decompress
from ckpttool.formats.state.ddl import parse_given_schema
from ckpttool.formats.state.entries import changelog_entries, delta_entries, snapshot_entries
from ckpttool.formats.state.hdfs import count_rows_of_one_size
from ckpttool.formats.state.names import parse_state_versions, provider_of
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.records import PLAIN, frame_records
from ckpttool.formats.state.rocksdb import check_sst, read_zip_entries
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.formats.state.unsafe import Variant
from ckpttool.formats.state.variant import variant_text
from ckpttool.harness.history_json import parse_histories
from ckpttool.kafka.earlier import parse_earlier
from ckpttool.laws.recognise import causes_of
from ckpttool.logs.driver_log import read_log
from ckpttool.model import Operator, OperatorMetadata, OperatorStore, StateSchema
from ckpttool.query.saved import BadDescription
from ckpttool.query.texts import describe_text
from ckpttool.report.layout import printable
from ckpttool.report.renderers import render
from ckpttool.report.state_rows import cell_names, cell_renderer, line_renderer
from ckpttool.report.style import plain
from ckpttool.report.views.explain import ExplainedFailure, explain_document
from ckpttool.report.views.query import query_document
from ckpttool.state.decoding import row_decoder
from ckpttool.state.framing import frame
from ckpttool.state.reader import Row
from ckpttool.state.rocksdb import Database, count, pairs
from ckpttool.state.tables import JOIN, TRANSFORM, Schemas, StateConf, StateTable, tables_of
from ckpttool.storage.remote import linked_names
from ckpttool.storage.urls import parse_url, redact_url
from tests.property.strategies import java_chunks, java_utf
from tests.property.test_format_laws import FORMATS

Target = Callable[[bytes], object]

_SIZE = struct.Struct(">H")
_MOST_TABLES = 3  # of an input: each costs what the others cost
KEPT_TEXTS = ("key", "value", "encoder", "user key")


def every_log(data: bytes) -> None:
    """Whatever is pasted, it is read, recognised or not, and shown."""
    log = read_log([data])
    failure = log.failures[0] if log.failures else None
    explained = ExplainedFailure(log, failure, causes_of(failure.text if failure else log.text))
    for form in ("text", "json"):
        list(render(explain_document(explained, ()), form, plain))


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# -- logs and names ----------------------------------------------------------------------------------------------------


def every_offset(data: bytes) -> None:
    """Whatever an offset is taken for, it can be asked everything."""
    texts = text_of(data).splitlines() or [""]
    for hint in (None, *(connector.KIND for connector in ALL)):
        before: Offset | None = None
        for text in texts[:5]:
            offset = recognise_offset(text, hint)
            offset.summary(), offset.details(), offset.problems(), offset.step_from(None)
            if before is not None:
                offset.order(before), offset.step_from(before)
            before = offset


def every_described_text(data: bytes) -> None:
    """What is taken for a plan, for progress or for a description is told and shown."""
    with suppress(BadDescription):
        description = describe_text(data, "text")
        if description is not None:
            "".join(render(query_document(description), "text", plain))


def every_name(data: bytes) -> None:
    names = text_of(data).splitlines()
    found = parse_log_names(names)
    assert list(found.ids) == sorted(set(found.ids))
    holes(found.ids), parse_state_versions(names), provider_of(names), parse_dstream_names(names)
    parse_wal_names(names), [kind_of(name) for name in names]
    with suppress(MalformedFile):
        current_metadata(names, data[:20])
    assert all(printable(name).isprintable() for name in names)


def every_url(data: bytes) -> None:
    url = text_of(data)[:500]
    redact_url(url)
    try:
        parse_url(url)
    except MalformedFile:
        raise AssertionError("a URL is no file") from None
    except CkptError:
        return


def every_page(data: bytes) -> None:
    list(linked_names(text_of(data), "https://host/checkpoint/"))


# -- state -------------------------------------------------------------------------------------------------------------


def every_codec(data: bytes) -> None:
    for codec in MAGICS:
        with suppress(MalformedFile):
            for _ in decompress(data, codec):
                pass


def every_framing(data: bytes) -> None:
    """Two ways lead to the records of a file, and to the same ones."""
    found = frame(data)
    with suppress(MalformedFile):
        framed = frame_records(iter([data]), PLAIN)
        assert found is not None
        assert len(found.keys) == framed.total
    count_rows_of_one_size(data)


def every_entry(data: bytes) -> None:
    for entries in (delta_entries, snapshot_entries, changelog_entries):
        with suppress(MalformedFile):
            for _ in entries(data):
                pass


class Answers:
    """A jail that answers what it likes; and that it is done when it is asked again."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = [memoryview(one) for one in parts]

    def ask(self, *_: object) -> list[memoryview]:
        parts, self.parts = self.parts, [memoryview(b"")] * 3
        return parts


def every_answer(data: bytes) -> None:
    """In three parts, the first two behind their sizes: sizes of pieces, the pieces, and how it ended."""
    sizes, rest = _part(data)
    content, ended = _part(rest)
    with suppress(MalformedFile):
        list(pairs(cast("Database", Answers(sizes, content, ended))))
    with suppress(MalformedFile):
        count(cast("Database", Answers(sizes, content, ended)))


def every_variant(data: bytes) -> None:
    split = data[0] if data else 0
    variant_text(Variant(data[1 + split :], data[1 : 1 + split]))


@dataclass(frozen=True)
class Kept:
    """Who has kept the rows that a schema tells of."""

    operator: str | None
    properties: Mapping[str, Any]
    conf: StateConf


_NAMES = ("timers", "list", "map")
_VARIABLES = {
    "stateVariables": [
        {"stateName": name, "stateVariableType": kind}
        for name, kind in zip(_NAMES, ("TimerState", "ListState", "MapState"), strict=True)
    ]
}
KEEPERS = (
    Kept(None, {}, StateConf()),
    Kept("stateStoreSave", {}, StateConf(provider="rocksdb")),
    Kept(JOIN, {}, StateConf(provider="rocksdb")),
    Kept(TRANSFORM[0], _VARIABLES, StateConf(provider="rocksdb")),
    Kept(TRANSFORM[0], _VARIABLES, StateConf(provider="rocksdb", encoding="avro")),
)


def every_row(data: bytes) -> None:
    """What schema files say, each text in a line, as `KEPT_TEXTS` has them; then a key behind its size, and a value."""
    *texts, rest = data.split(b"\n", len(KEPT_TEXTS))
    parsed = parse_state_schema(schema_file(*(one.decode(errors="replace") for one in texts)))
    for keeper in KEEPERS:
        with suppress(MalformedFile):
            for table in list(_tables(parsed, keeper))[:_MOST_TABLES]:
                _show(table, keeper, *_part(rest))


def schema_file(*texts: str) -> bytes:
    """Of three column families which differ in their names only."""
    body = b"".join(map(java_chunks, texts))
    return java_utf("v3") + struct.pack(">i", len(_NAMES)) + b"".join(java_utf(name) + body for name in _NAMES)


def given_row(data: bytes) -> None:
    """A schema as a user types it, in one line, and the same."""
    schema, _, rest = data.partition(b"\n")
    for table in _tables(parse_given_schema(schema), KEEPERS[0]):
        _show(table, KEEPERS[0], *_part(rest))


def _tables(schema: StateSchema, keeper: Kept) -> Iterator[StateTable]:
    metadata = OperatorMetadata(2, 0, keeper.operator, (), keeper.properties) if keeper.operator else None
    operator = Operator(0, keeper.operator, (OperatorStore("default", 1, None),), metadata)
    return tables_of(operator, keeper.conf, {"default": Schemas(schema)})


def _show(table: StateTable, keeper: Kept, key: bytes, value: bytes) -> None:
    line, cells, names = line_renderer(table), cell_renderer(table), cell_names(table)
    with suppress(MalformedFile):
        for values in row_decoder(table, keeper.conf)(key, value):
            row = Row(0, values)
            json.loads(line(row))
            assert len(cells(row)) == len(names)


def _part(data: bytes) -> tuple[bytes, bytes]:
    size = int.from_bytes(data[: _SIZE.size], "big")
    return data[_SIZE.size : _SIZE.size + size], data[_SIZE.size + size :]


def sized(key: bytes, value: bytes) -> bytes:
    """What `_part` takes apart."""
    return _SIZE.pack(len(key)) + key + value


TARGETS: Mapping[str, Target] = {
    **{form.name: form.parse for form in FORMATS},
    "Delta log": lambda data: parse_transaction(data, "x"),
    "Delta commit": partial(parse_commit, version=7),
    "Delta checksum": parse_checksum,
    "Delta's last checkpoint": parse_last_checkpoint,
    "Iceberg": parse_history,
    "Hudi": parse_hudi_commit,
    "Paimon": parse_snapshot,
    "codec": sniff_codec,
    "codecs": every_codec,
    "framing": every_framing,
    "entries": every_entry,
    "rows": every_row,
    "given schema": given_row,
    "variant": every_variant,
    "answers of the jail": every_answer,
    "zip": read_zip_entries,
    "table": check_sst,
    "operator": parse_operator_metadata,
    "histories": lambda data: parse_histories(data.decode(errors="replace")),
    "earlier look": parse_earlier,
    "offsets": every_offset,
    "names": every_name,
    "logs": every_log,
    "described texts": every_described_text,
    "URLs": every_url,
    "pages": every_page,
}
