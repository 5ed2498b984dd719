"""Commit logs of versions 1 to 3: the next watermark, the ids of state, the sinks by name."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.commits import encode_commit_log, parse_commit_log

SINK = '{"sinkName":"out","commitOffset":"","providerName":"p","apiVersion":"V2","isActive":true}'


@pytest.mark.parametrize(
    ("data", "watermark"), [(b"v1\n{}", None), (b"v1", None), (b" v1 \n", None), (b'v1\n{"nextBatchWatermarkMs":5}', 5)]
)
def test_version_1_may_lack_its_second_line(data: bytes, watermark: int | None) -> None:
    entry = parse_commit_log(data, 4)
    assert (entry.batch_id, entry.version, entry.next_watermark_ms) == (4, 1, watermark)


def test_version_2_has_an_id_for_each_store_of_each_partition() -> None:
    entry = parse_commit_log(b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"],["b"]]}}', 0)
    assert entry.state_unique_ids == {0: (("a",), ("b",))}


def test_version_3_has_one_active_sink() -> None:
    assert parse_commit_log(f'v3\n{{"sinkMetadataMap":{{"out":{SINK}}}}}'.encode(), 0).sinks[0].name == "out"
    inactive = SINK.replace("true", "false")
    for sinks in ("", f',"sinkMetadataMap":{{"out":{inactive}}}', f',"sinkMetadataMap":{{"a":{SINK},"b":{SINK}}}'):
        with pytest.raises(MalformedFile):
            parse_commit_log(f'v3\n{{"nextBatchWatermarkMs":0{sinks}}}'.encode(), 0)


@pytest.mark.parametrize("ids", ["[]", '{"x":[]}', '{"0":{}}', '{"0":["a"]}', '{"0":[[1]]}'])
def test_ids_of_another_shape_are_malformed(ids: str) -> None:
    with pytest.raises(MalformedFile, match="stateUniqueIds"):
        parse_commit_log(f'v2\n{{"stateUniqueIds":{ids}}}'.encode(), 0)


@pytest.mark.parametrize(
    "data",
    [
        "v1\n{}",
        'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}',
        f'v3\n{{"nextBatchWatermarkMs":0,"sinkMetadataMap":{{"out":{SINK}}}}}',
    ],
)
def test_an_entry_is_written_as_it_was_read(data: str) -> None:
    assert encode_commit_log(parse_commit_log(data.encode(), 0)) == data.encode()
