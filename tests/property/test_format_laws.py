"""Laws that hold for the parser of every file: a value or `MalformedFile`, whatever the bytes; encoding undoes parsing.

A new format joins with one line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import MalformedFile
from ckpttool.formats.checksums import parse_hadoop_crc, parse_spark_checksum, verify_hadoop_crc
from ckpttool.formats.commits import encode_commit_log, parse_commit_log
from ckpttool.formats.dstreams import parse_dstream_names, parse_wal_names, sniff_codec
from ckpttool.formats.file_log import (
    compact_interval,
    is_compaction_id,
    live_log_ids,
    parse_sink_log,
    parse_source_log,
)
from ckpttool.formats.initial_offset import initial_offset_hint, parse_initial_offset
from ckpttool.formats.metadata import encode_metadata, parse_metadata
from ckpttool.formats.offsets import encode_offset_log, parse_offset_log
from ckpttool.formats.state.changelog import parse_changelog
from ckpttool.formats.state.hdfs import parse_delta, parse_snapshot
from ckpttool.formats.state.java_io import JavaReader
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.rocksdb import parse_snapshot_metadata, parse_snapshot_zip, read_zip_entries
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.model import FileLogEntry, SinkFileEntry
from tests import state_builders
from tests.encoders import encode_hadoop_crc, encode_initial_offset, encode_sink_log, encode_source_log
from tests.property import strategies as made

pytestmark = pytest.mark.property


@dataclass(frozen=True)
class Format:
    """A parser, bytes as Spark writes them, and the inverse where there is one."""

    name: str
    parse: Callable[[bytes], Any]
    valid: st.SearchStrategy[bytes]
    encode: Callable[[Any], bytes] | None = None


plain_records = st.builds(
    state_builders.plain, st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40)), max_size=200)
)
typed_records = st.builds(
    state_builders.typed, st.lists(st.tuples(st.sampled_from([1, 0x11, 0x20]), st.binary(), st.binary()), max_size=100)
)
lineages = st.builds(
    lambda items: state_builders.lineage(*items), st.lists(st.tuples(st.integers(1, 99), st.text("ab")))
)
changelogs = st.builds(
    lambda parts: state_builders.lz4(b"".join(parts)),
    st.one_of(
        st.tuples(plain_records),
        st.tuples(st.just(state_builders.utf("v2")), typed_records),
        st.tuples(st.just(state_builders.utf("v3")), lineages, plain_records),
        st.tuples(st.just(state_builders.utf("v4")), lineages, typed_records),
    ),
)
tables = st.lists(st.tuples(st.sampled_from(["000008-a.sst", "000009-b.sst"]), st.integers(0, 2**40)), max_size=4)
CODECS = (("LZ4", state_builders.lz4), ("zstd", state_builders.zstd), ("snappy", state_builders.snappy))


def described_tables(ssts: list[tuple[str, int]]) -> bytes:
    return read_zip_entries(state_builders.snapshot_zip(ssts))["metadata"]


FORMATS = (
    Format("metadata", parse_metadata, made.query_metadata, encode_metadata),
    Format("offset log", partial(parse_offset_log, batch_id=7), made.offset_logs, encode_offset_log),
    Format("commit log", partial(parse_commit_log, batch_id=7), made.commit_logs, encode_commit_log),
    Format("source log", parse_source_log, made.source_logs, encode_source_log),
    Format("sink log", parse_sink_log, made.sink_logs, encode_sink_log),
    Format("initial offset", parse_initial_offset, made.initial_offsets, encode_initial_offset),
    Format("Hadoop crc", parse_hadoop_crc, made.hadoop_crcs),
    Format("Spark checksum", parse_spark_checksum, made.spark_checksums),
    Format("operator metadata", parse_operator_metadata, made.operator_metadata),
    Format("state schema", parse_state_schema, made.state_schemas),
    *(Format(f"delta in {codec}", parse_delta, st.builds(codec_of, plain_records)) for codec, codec_of in CODECS),
    Format("state snapshot", parse_snapshot, st.builds(state_builders.lz4, plain_records)),
    Format("changelog", parse_changelog, changelogs),
    Format("RocksDB snapshot", parse_snapshot_zip, st.builds(state_builders.snapshot_zip, tables)),
    Format("RocksDB metadata", parse_snapshot_metadata, st.builds(described_tables, tables)),
)

every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
invertible = pytest.mark.parametrize(
    "form", [form for form in FORMATS if form.encode is not None], ids=lambda form: form.name
)


def parses_or_is_malformed(form: Format, data: bytes) -> None:
    with suppress(MalformedFile):
        form.parse(data)


@every_format
@given(data=st.data())
def test_valid_bytes_parse(form: Format, data: st.DataObject) -> None:
    form.parse(data.draw(form.valid))


@every_format
@given(data=st.data())
def test_every_prefix_parses_or_is_malformed(form: Format, data: st.DataObject) -> None:
    whole = data.draw(form.valid)
    for size in range(len(whole)):
        parses_or_is_malformed(form, whole[:size])


@every_format
@given(data=st.data())
def test_any_changed_byte_parses_or_is_malformed(form: Format, data: st.DataObject) -> None:
    changed = bytearray(data.draw(form.valid))
    flips = data.draw(st.binary(min_size=len(changed), max_size=len(changed)))
    for at, flip in enumerate(flips):
        changed[at] ^= flip
        parses_or_is_malformed(form, bytes(changed))
        changed[at] ^= flip


@every_format
@given(noise=st.binary(max_size=200), data=st.data())
def test_noise_parses_or_is_malformed(form: Format, noise: bytes, data: st.DataObject) -> None:
    whole = data.draw(form.valid)
    at = data.draw(st.integers(0, len(whole)))
    parses_or_is_malformed(form, noise)
    parses_or_is_malformed(form, whole[:at] + noise + whole[at:])


@invertible
@given(data=st.data())
def test_encoding_undoes_parsing(form: Format, data: st.DataObject) -> None:
    whole = data.draw(form.valid)
    assert form.encode is not None
    assert form.encode(form.parse(whole)) == whole


# Each is put where a parser would expect a whole file, a line, and the JSON of a framed text.
BOMBS = {
    "deep array": b"[" * 200_000,
    "deep object": b'{"a":' * 200_000,
    "long number": b"9" * 200_000,
    "not a number": b"NaN",
    "infinity": b"1e999",
    "zero bytes": bytes(200_000),
    "byte order mark": b"\xef\xbb\xbf{}",
    "line feeds": b"\n" * 200_000,
    "highest count": b"\x7f\xff\xff\xff" * 4,
    "negative count": b"\xff\xff\xff\xff" * 4,
}
PLACES = (b"", b"v1\n", b"v2\n", b"\x00v1\n", b"\x00\x02v1", b"\x00\x02v2", b"\x00\x02v3", b"crc\x00", b'v1\n{"path":')


@every_format
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_hostile_bytes_are_malformed_at_once(form: Format, bomb: bytes) -> None:
    for place in PLACES:
        parses_or_is_malformed(form, place + bomb)


@every_format
@given(data=st.data())
def test_nesting_at_the_edge_of_what_python_reads(form: Format, data: st.DataObject) -> None:
    """Values that just decode may be too deep for whatever looks at them next."""
    whole = data.draw(form.valid)
    values = [at for at in range(len(whole)) if whole[at : at + 1] == b":"]
    for at in values[:1] + values[-1:]:
        depth = data.draw(st.integers(800, 1000))
        parses_or_is_malformed(form, whole[: at + 1] + b"[" * depth + b"]" * depth + b"," + whole[at + 1 :])
        parses_or_is_malformed(form, whole[: at + 1] + b"[" * depth + b"]" * depth + b"}" * 3)


# -- laws of one format ------------------------------------------------------------------------------------------------

file_entries = st.builds(FileLogEntry, made.texts, made.longs, made.longs)
sink_entries = st.builds(
    SinkFileEntry,
    path=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    size_bytes=made.longs,
    modified_ms=made.longs,
    is_directory=st.booleans(),
    block_replication=made.ints,
    block_size=made.longs,
    action=made.texts,
)


@given(entries=st.lists(file_entries, max_size=5).map(tuple))
def test_source_entries_survive(entries: tuple[FileLogEntry, ...]) -> None:
    assert parse_source_log(encode_source_log(entries)) == entries


@given(entries=st.lists(sink_entries, max_size=5).map(tuple))
def test_sink_entries_survive_with_any_character(entries: tuple[SinkFileEntry, ...]) -> None:
    assert parse_sink_log(encode_sink_log(entries)) == entries


@given(interval=st.integers(1, 50), latest=st.integers(0, 2000))
def test_live_ids_begin_at_zero_or_a_compaction_and_hold_no_other(interval: int, latest: int) -> None:
    first, *rest = live_log_ids(latest, interval)
    assert first == 0 or is_compaction_id(first, interval)
    assert not any(is_compaction_id(log_id, interval) for log_id in rest)
    assert [first, *rest][-1] == latest


@given(compact_id=st.integers(0, 2**31 - 2), default=st.integers(1, 1000))
def test_the_interval_keeps_the_one_compact_file_a_compaction(compact_id: int, default: int) -> None:
    assert is_compaction_id(compact_id, compact_interval([compact_id], default))


@given(ids=st.lists(made.longs, max_size=4), default=st.integers(1, 2**31 - 1))
def test_any_compact_names_give_a_positive_interval_or_are_malformed(ids: list[int], default: int) -> None:
    try:
        assert compact_interval(ids, default) > 0
    except MalformedFile:
        assert ids


@given(data=made.initial_offsets)
def test_only_a_number_without_a_leading_byte_proves_rate(data: bytes) -> None:
    hint = initial_offset_hint(parse_initial_offset(data))
    assert (hint == "rate") == (data.startswith(b"v1\n") and data[3:].removeprefix(b"-").isdigit())


@given(content=made.contents)
def test_content_agrees_with_its_own_checksums(content: bytes) -> None:
    assert verify_hadoop_crc(parse_hadoop_crc(encode_hadoop_crc(content)), content) is None


@given(content=st.binary(min_size=1, max_size=2000), data=st.data())
def test_any_changed_byte_spoils_its_own_chunk(content: bytes, data: st.DataObject) -> None:
    crc = parse_hadoop_crc(encode_hadoop_crc(content))
    at = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert verify_hadoop_crc(crc, bytes(changed)) == at // 512


@given(text=st.text(max_size=40), size=st.integers(1, 5))
def test_java_texts_survive(text: str, size: int) -> None:
    assert JavaReader(made.java_utf(text)).utf() == text
    assert JavaReader(made.java_chunks(text, size)).chunks() == text


@given(names=st.lists(st.text(max_size=30) | st.from_regex(r"(checkpoint|log)-\d*(-|\.)?\d*(bk)?", fullmatch=True)))
def test_any_names_are_read(names: list[str]) -> None:
    checkpoint = parse_dstream_names(names)
    assert list(checkpoint.times_ms) == sorted(set(checkpoint.times_ms))
    assert set(checkpoint.backup_times_ms) <= set(checkpoint.times_ms)
    for segment in parse_wal_names(names):
        assert segment.start_ms >= 0
        assert segment.stop_ms >= 0


@given(times=st.sets(st.integers(0, 2**63 - 1), max_size=5), backed_up=st.booleans())
def test_checkpoint_times_survive(times: set[int], backed_up: bool) -> None:
    names = [f"checkpoint-{time}{'.bk' if backed_up else ''}" for time in times]
    assert parse_dstream_names(names).times_ms == tuple(sorted(times))


@given(head=st.binary(max_size=20))
def test_any_head_is_sniffed(head: bytes) -> None:
    assert sniff_codec(head) in (None, "lz4", "snappy", "zstd", "lzf", "java")
