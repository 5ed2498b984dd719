"""Whole URLs in files of a checkpoint, and the same with others in their place."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.whole_urls import kept_place, moved_url, typed_place, whole_urls, with_urls

ENTRY = 'v1\n{"path":"file:///in/a%20b/grün.json","timestamp":1700000000000,"batchId":3}'
OPERATOR = (
    'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},"stateStoreInfo":[{"storeName":'
    '"default","numColsPrefixKey":0,"numPartitions":2,"stateSchemaFilePaths":["file:/ck/state/0/_stateSchema/default/0_a",'
    '"file:/ck/state/0/_stateSchema/default/4_b"]}],"operatorPropertiesJson":"{\\"path\\":\\"file:/kept\\"}"}'
)
SCHEMA = 'v1\n{"tableId":"t","deltaCommitVersion":1,"dataSchemaJson":"{}","sourceMetadataPath":"s3a://b/ck/sources/0"}'


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        ("v1", ()),
        (ENTRY, ("file:///in/a%20b/grün.json",)),
        (OPERATOR, ("file:/ck/state/0/_stateSchema/default/0_a", "file:/ck/state/0/_stateSchema/default/4_b")),
        (SCHEMA, ("s3a://b/ck/sources/0",)),
    ],
)
def test_each_is_found_and_put_back(body: str, urls: tuple[str, ...]) -> None:
    data = body.encode()
    assert whole_urls(data) == urls
    assert with_urls(data, lambda url: url) == data
    changed = with_urls(data, lambda url: f"{url}!")
    assert whole_urls(changed) == tuple(f"{url}!" for url in urls)
    assert with_urls(changed, lambda url: url.removesuffix("!")) == data


def test_what_spark_reads_besides_is_as_it_was() -> None:
    (before,), (after,) = (
        parse_source_log(body) for body in (ENTRY.encode(), with_urls(ENTRY.encode(), lambda _: "x"))
    )
    assert (after.path, after.timestamp_ms, after.batch_id) == ("x", before.timestamp_ms, before.batch_id)


def test_with_nothing_to_change_not_even_the_end_of_a_line_is_another() -> None:
    assert with_urls(b"v1\r\n{ }\r\n", str.upper) == b"v1\r\n{ }\r\n"


@pytest.mark.parametrize("body", [b"", b"\xff", b"v1\nnot json", b"v1\n[]"])
def test_what_is_no_such_file_is_said(body: bytes) -> None:
    with pytest.raises(MalformedFile):
        with_urls(body, str.upper)


@pytest.mark.parametrize(
    ("url", "old", "new", "becomes"),
    [
        ("file:///in/x.json", "/in", "/mnt/new in", "file:///mnt/new%20in/x.json"),
        ("file:/in/x.json", "/in", "/mnt", "file:/mnt/x.json"),
        ("file:///a%20b/50%25.json", "/a b", "/c", "file:///c/50%25.json"),
        ("file:///in/grün.json", "/in", "/möbel", "file:///möbel/grün.json"),
        ("s3a://b/in/d=1/x", "s3a://b/in/", "s3a://c/other", "s3a://c/other/d=1/x"),
        ("hdfs://n:8020/in/x", "hdfs://n:8020/in", "file:/in", "file:///in/x"),
        ("abfss://c@a.dfs.core.windows.net/in/x", "abfss://c@a.dfs.core.windows.net/", "gs://b", "gs://b/in/x"),
    ],
)
def test_a_place_becomes_another(url: str, old: str, new: str, becomes: str) -> None:
    assert typed_place(old).holds(kept_place(url))
    assert moved_url(url, typed_place(old), typed_place(new)) == becomes


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("/in", "file:///input/x"),
        ("/in/a", "file:///in/b"),
        ("s3a://b/in", "s3://b/in/x"),
        ("s3a://b/in", "s3a://c/in/x"),
        ("/in/%20", "file:///in/%20/x"),  # typed as it is called, where a URL has it escaped
    ],
)
def test_and_holds_nothing_else(place: str, url: str) -> None:
    assert not typed_place(place).holds(kept_place(url))


@pytest.mark.parametrize("text", ["", "in/x", "./in", ":x", "a/b:c"])
def test_what_is_no_whole_url(text: str) -> None:
    with pytest.raises(MalformedFile):
        kept_place(text)
