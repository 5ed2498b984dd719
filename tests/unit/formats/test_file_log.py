"""The file source's and the file sink's log, against lines written by Spark 2.1 to 4.3."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.file_log import (
    NO_FILES,
    compact_interval,
    is_compaction_id,
    live_log_ids,
    parse_sink_log,
    parse_source_log,
)
from ckpttool.model import FileLogEntry, SinkFileEntry
from tests.encoders import encode_sink_log, encode_source_log

SOURCE = b'v1\n{"path":"file:///data/in/a%20b%251.json","timestamp":1794985132204,"batchId":0}'
SOURCE_ENTRY = FileLogEntry("file:///data/in/a%20b%251.json", 1794985132204, 0)

SINK = (
    b'v1\n{"path":"file:///out%20dir/part-00000.json","size":39,"isDir":false,'
    b'"modificationTime":1794985196412,"blockReplication":1,"blockSize":33554432,"action":"add"}'
)
SINK_ENTRY = SinkFileEntry("file:///out%20dir/part-00000.json", 39, 1794985196412, False, 1, 33554432, "add")

SOURCE_2_1_COMPACT = (
    b'v1\n{"path":"/a/b/0","timestamp":1480730949000,"batchId":0}\n'
    b'{"path":"/a/b/1","timestamp":1480730950000,"batchId":1}\n'
    b'{"path":"/a/b/2","timestamp":1480730950000,"batchId":2}\n'
)


def test_source_log_line() -> None:
    assert parse_source_log(SOURCE) == (SOURCE_ENTRY,)


def test_source_log_is_encoded_as_spark_writes_it() -> None:
    assert encode_source_log([SOURCE_ENTRY]) == SOURCE


def test_compact_file_of_spark_2_1_repeats_earlier_entries() -> None:
    assert [(entry.path, entry.batch_id) for entry in parse_source_log(SOURCE_2_1_COMPACT)] == [
        ("/a/b/0", 0),
        ("/a/b/1", 1),
        ("/a/b/2", 2),
    ]


def test_sink_log_line() -> None:
    assert parse_sink_log(SINK) == (SINK_ENTRY,)


def test_sink_log_is_encoded_as_spark_writes_it() -> None:
    assert encode_sink_log([SINK_ENTRY]) == SINK


def test_directory_and_delete_action_survive() -> None:
    line = SINK.replace(b'"isDir":false', b'"isDir":true').replace(b'"add"', b'"delete"')
    (entry,) = parse_sink_log(line)
    assert (entry.is_directory, entry.action) == (True, "delete")
    assert encode_sink_log([entry]) == line


def test_version_line_alone_is_a_log_without_files() -> None:
    assert parse_source_log(NO_FILES) == ()
    assert encode_source_log([]) == NO_FILES


def test_letters_outside_ascii_stay_raw() -> None:
    data = 'v1\n{"path":"file:///données/é","timestamp":1,"batchId":2}'.encode()
    assert encode_source_log(parse_source_log(data)) == data


def test_control_characters_are_escaped_as_jackson_does() -> None:
    entry = FileLogEntry('a"b\\c\n\x1f/\x7f', 1, 2)
    assert encode_source_log([entry]) == (b'v1\n{"path":"a\\"b\\\\c\\n\\u001F/\x7f","timestamp":1,"batchId":2}')


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "ends too early"),
        (b'{"path":"a","timestamp":1,"batchId":', "ends too early"),
        (b"[]", "a JSON array stands where an object belongs"),
        (b'{"timestamp":1,"batchId":0}', "`path` is missing, not a string"),
        (b'{"path":7,"timestamp":1,"batchId":0}', "`path` is `7`, not a string"),
        (b'{"path":"\\ud800","timestamp":1,"batchId":0}', "not valid Unicode"),
        (b'{"path":"a","timestamp":true,"batchId":0}', "`timestamp` is a JSON boolean"),
        (b'{"path":"a","timestamp":null,"batchId":0}', "`timestamp` is a JSON null"),
        (b'{"path":"a","timestamp":1e300,"batchId":0}', "`timestamp` is `1e+300`"),
        (b'{"path":"a","timestamp":1,"batchId":9223372036854775808}', "`batchId` is `9223372036854775808`"),
    ],
)
def test_broken_line_is_reported_with_its_number(line: bytes, complaint: str) -> None:
    good = b'{"path":"a","timestamp":1,"batchId":0}'
    with pytest.raises(MalformedFile) as caught:
        parse_source_log(b"v1\n" + good + b"\n" + line + b"\n" + good)
    assert complaint in caught.value.message
    assert caught.value.position is not None
    assert caught.value.position.line == 3


def test_the_largest_long_is_read() -> None:
    assert parse_source_log(b'v1\n{"path":"a","timestamp":1,"batchId":9223372036854775807}')[0].batch_id == 2**63 - 1


def test_replication_is_a_java_int() -> None:
    with pytest.raises(MalformedFile, match="blockReplication"):
        parse_sink_log(SINK.replace(b'"blockReplication":1', b'"blockReplication":2147483648'))


def test_sink_line_in_a_source_log_is_malformed() -> None:
    with pytest.raises(MalformedFile, match="timestamp"):
        parse_source_log(SINK)


def test_a_newer_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_sink_log(SINK.replace(b"v1", b"v2", 1))


@pytest.mark.parametrize(
    ("compact_ids", "default", "interval"),
    [
        ([], 10, 10),
        ([9, 19], 10, 10),
        ([2, 5, 8, 11], 10, 3),
        ([17, 11, 5, 14], 4, 3),  # the two largest count, in any order
        ([1], 10, 2),  # id + 1 not above the setting
        ([9], 10, 10),
        ([11], 5, 6),  # Spark's own example: 6 is the smallest divisor of 12 that is at least 5
        ([11], 2, 2),
        ([11], 6, 12),  # 6 is not below 12 / 2
        ([11], 7, 12),
        ([12], 3, 13),  # 13 is prime
        ([14], 6, 15),  # no divisor of 15 from 6 to 7
        ([20], 4, 7),
    ],
)
def test_compact_interval_follows_the_files(compact_ids: list[int], default: int, interval: int) -> None:
    assert compact_interval(compact_ids, default) == interval


def test_interval_equals_the_rule_spelled_out_slowly() -> None:
    for count in range(1, 200):
        for default in range(1, 40):
            if count <= default or not default < count // 2:
                expected = count
            else:
                expected = next((n for n in range(default, count // 2 + 1) if count % n == 0), count)
            assert compact_interval([count - 1], default) == expected, (count, default)


@pytest.mark.parametrize("compact_ids", [[5, 5], [2**31 - 1], [2**40 + 7, 7], [0, 2**31]])
def test_interval_spark_asserts_against_is_malformed(compact_ids: list[int]) -> None:
    with pytest.raises(MalformedFile, match="compact interval"):
        compact_interval(compact_ids, 10)


def test_a_stray_huge_compact_name_does_not_take_long() -> None:
    assert compact_interval([2**31 - 2], 10) == 2**31 - 1  # a prime


@pytest.mark.parametrize(("log_id", "expected"), [(0, False), (1, False), (2, True), (3, False), (5, True)])
def test_compaction_ids_with_interval_3(log_id: int, expected: bool) -> None:
    assert is_compaction_id(log_id, 3) is expected


@pytest.mark.parametrize(
    ("latest", "interval", "ids"),
    [
        (0, 10, [0]),
        (8, 10, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (9, 10, [9]),
        (11, 10, [9, 10, 11]),
        (4, 3, [2, 3, 4]),
        (5, 3, [5]),
        (2, 1, [2]),
    ],
)
def test_live_ids_begin_at_the_latest_compaction(latest: int, interval: int, ids: list[int]) -> None:
    assert list(live_log_ids(latest, interval)) == ids
