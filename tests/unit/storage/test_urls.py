"""Where a URL leads, which options go with it, what is refused and why, and what of it is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.errors import Refused
from ckpttool.storage.store import open_store
from ckpttool.storage.urls import (
    child_url,
    options_for,
    over_http,
    parent_url,
    parse_url,
    protocol_of,
    redact_url,
    walk,
)
from tests.builders import build
from tests.conftest import run_ckpt

# -- spellings ---------------------------------------------------------------------------------------------------------


LOCAL = {
    "/data/ck": "/data/ck",
    "ck": "ck",
    "./a:b/ck": "./a:b/ck",
    "C:/data": "C:/data",  # one letter is a Windows drive, not a scheme
    "file:/data/ck": "/data/ck",
    "file:///data/ck": "/data/ck",
    "FILE:///data/ck": "/data/ck",
    "local:/data/ck": "/data/ck",
    "file:relative": "relative",
    "file:": ".",
    "/data/a::b": "/data/a::b",
}


REMOTE: dict[str, tuple[str, dict[str, str]]] = {
    "s3://bucket/ck": ("s3://bucket/ck", {}),
    "s3a://bucket/ck": ("s3://bucket/ck", {}),
    "S3A://bucket/ck": ("s3://bucket/ck", {}),
    "s3n://bucket/ck": ("s3://bucket/ck", {}),
    "s3a:/bucket/ck": ("s3://bucket/ck", {}),
    "abfss://c@acct.dfs.core.windows.net/p/q": ("abfs://c/p/q", {"account_name": "acct"}),
    "abfs:/c@acct.dfs.core.windows.net/p": ("abfs://c/p", {"account_name": "acct"}),
    "abfs://c/p": ("abfs://c/p", {}),
    "az://c/p": ("abfs://c/p", {}),
    "wasbs://c@acct.blob.core.windows.net/p": ("abfs://c/p", {"account_name": "acct"}),
    "abfss://c@acct.dfs.core.chinacloudapi.cn/p": (
        "abfs://c/p",
        {"account_name": "acct", "account_host": "acct.blob.core.chinacloudapi.cn"},
    ),
    "wasbs://c@acct.blob.core.usgovcloudapi.net/p": (
        "abfs://c/p",
        {"account_name": "acct", "account_host": "acct.blob.core.usgovcloudapi.net"},
    ),
    "abfss://ws@onelake.dfs.fabric.microsoft.com/lake/Files": (
        "abfs://ws/lake/Files",
        {"account_name": "onelake", "account_host": "onelake.blob.fabric.microsoft.com"},
    ),
    "dbfs:/mnt/ck": ("dbfs:///mnt/ck", {}),
    "dbfs:///mnt/ck": ("dbfs:///mnt/ck", {}),
    "hdfs://nn:8020/p": ("hdfs://nn:8020/p", {}),
    "webhdfs://nn:9870/p": ("webhdfs://nn:9870/p", {}),
    "memory:/ck": ("memory://ck", {}),
    "gs://bucket/ck": ("gs://bucket/ck", {}),
    "zip://ck::s3://bucket/a.zip": ("zip://ck::s3://bucket/a.zip", {}),
}


@pytest.mark.parametrize(("url", "path"), LOCAL.items())
def test_local_spellings(url: str, path: str) -> None:
    assert parse_url(url) == (None, {"path": path})


@pytest.mark.parametrize(("url", "expected"), REMOTE.items())
def test_hadoop_spellings_become_those_of_fsspec(url: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_url(url) == expected


def test_webhdfs_has_a_port_of_its_own() -> None:
    """The one in an hdfs:// URL is that of Hadoop's protocol."""
    assert over_http("hdfs://nn:8020/p", {}, has_hadoop=False) == ("webhdfs://nn:9870/p", {})
    options = {"http_port": "14000", "user": "ann"}
    assert over_http("hdfs://nn/p", options, has_hadoop=False) == ("webhdfs://nn:14000/p", {"user": "ann"})
    assert over_http("webhdfs://nn:50070/p", {}, has_hadoop=True) == ("webhdfs://nn:50070/p", {})
    assert over_http("webhdfs://nn/p", {}, has_hadoop=False) == ("webhdfs://nn:9870/p", {})
    assert over_http("hdfs://nn:8020/p", {"user": "ann"}, has_hadoop=True) == ("hdfs://nn:8020/p", {"user": "ann"})


@pytest.mark.parametrize("url", ["hdfs:///p", "hdfs:/p", "hdfs://", "webhdfs:/p"])
def test_hdfs_without_a_name_node_is_refused(url: str) -> None:
    """fsspec would take `hdfs:/p` for a local path."""
    with pytest.raises(Refused, match="name node"):
        parse_url(url)


@pytest.mark.parametrize("url", ["viewfs://cluster/p", "viewfs:/p", "maprfs:///p", "o3fs://b.v/p", "ofs://v/p"])
def test_what_fsspec_cannot_read_is_refused_with_the_reason(url: str) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        parse_url(url)


def test_an_archive_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        open_store(f"zip://{tmp_path}/a.zip")
    assert refused.value.next_step == "give both paths: zip://CHECKPOINT::/path/to/the.zip"


# -- storage options ---------------------------------------------------------------------------------------------------


def test_options_go_to_their_protocol_and_plain_ones_to_all() -> None:
    given = {"abfs:account_key": "a", "s3:key": "b", "anon": "true", "s3a:client_kwargs": '{"region_name": "x"}'}
    assert options_for("abfs", given) == {"account_key": "a", "anon": True}
    assert options_for("s3", given) == {"key": "b", "anon": True, "client_kwargs": {"region_name": "x"}}
    assert options_for("gs", {"gcs:token": "t", "viewfs:x": "y", ":k": "v"}) == {"token": "t"}


@pytest.mark.parametrize("value", ["{broken", "[" * 100_000, "{'a': 1}"])
def test_a_broken_option_is_refused_without_showing_it(value: str) -> None:
    outcome = run_ckpt("inspect", "memory://x", "--storage-option", f"client_kwargs={value}")
    assert outcome.code == 6
    assert "client_kwargs" in outcome.err
    assert value not in outcome.err


def test_options_of_a_chain_go_to_where_the_bytes_come_from() -> None:
    assert protocol_of("zip://ck::s3://bucket/a.zip") == "s3"
    assert protocol_of("zip://ck::/tmp/a.zip") == "file"


# -- secrets -----------------------------------------------------------------------------------------------------------


REDACTED = {
    "s3://key:secret@bucket/ck": "s3://key:***@bucket/ck",
    "s3://key:se/cr/et@bucket/ck": "s3://key:***@bucket/ck",
    "https://user:pass@host/ck": "https://user:***@host/ck",
    "https://token@host/ck": "https://***@host/ck",
    "https://acct.blob.core.windows.net/c/ck?sv=1&sig=secret": "https://acct.blob.core.windows.net/c/ck",
    "https://host/ck?a=1#access_token=secret": "https://host/ck",
    "https://host/ck#access_token=secret": "https://host/ck",
    "s3://bucket/a#b": "s3://bucket/a#***",
    "abfss://c@acct.dfs.core.windows.net/p?sig=secret": "abfss://c@acct.dfs.core.windows.net/p?***",
    "s3:key:secret@bucket/ck": "s3:key:***@bucket/ck",
    "HTTPS:/user:pass@host/ck": "HTTPS:/user:***@host/ck",
    "file:///data/a#b?c": "file:///data/a#b?c",
    "zip://ck::s3://key:secret@bucket/a.zip": "zip://ck::s3://key:***@bucket/a.zip",
    "abfss://container@acct.dfs.core.windows.net/p": "abfss://container@acct.dfs.core.windows.net/p",
    "hdfs://nn:8020/a@b": "hdfs://nn:8020/a@b",
    "https:user:pass@host/ck?sig=secret": "https:user:***@host/ck",
    "nosuch:user:pass@host": "nosuch:user:***@host",
    "jdbc:db://user:pass@host/db?password=secret": "jdbc:db://user:***@host/db",
    "file:/data/a?b@c": "file:/data/a?b@c",
    "/data/user:pass@x": "/data/user:pass@x",
}


@pytest.mark.parametrize(("url", "shown"), REDACTED.items())
def test_secrets_in_urls_are_not_shown(url: str, shown: str) -> None:
    assert redact_url(url) == shown


# -- up and down -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["s3://bucket/ck", "zip://ck::s3://bucket/a.zip", "hdfs://nn:8020/a/ck"])
def test_a_step_down_and_up_leads_back(url: str) -> None:
    assert parent_url(child_url(url, "offsets")) == url


def test_nobody_walks_above_the_top() -> None:
    assert walk("s3://bucket/a/b", ["bucket", "a", "b"], "../c/./d", top=1) == (
        "s3://bucket/a/c/d",
        ["bucket", "a", "c", "d"],
    )
    assert walk("s3://bucket", ["bucket"], "..", top=1)[1] is None


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "sink",
    [
        *("s3:KEY:hunter2@b/x", "s3a:/KEY:hunter2@b/x", "nosuch:user:hunter2@host", "viewfs://u:hunter2@h/x"),
        *("jdbc:db://u:hunter2@h/db?password=hunter2", "zip://u:hunter2@h", "zip://x::nosuch://u:hunter2@h/x.zip"),
    ],
)
def test_secrets_of_a_sink_are_not_shown_however_it_is_spelled(tmp_path: Path, sink: str, form: str) -> None:
    outcome = run_ckpt("plan-recovery", str(build(tmp_path / "ck", "k0-10 c")), "--sink", sink, "--format", form)
    assert "hunter2" not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "option",
    [
        *(["--storage-option", "=hunter2"], ["--storage-option", "hunter2"]),
        *(["--look-at", "ftp://u:hunter2@h"], ["--look-at", "zip://x::s3://u:hunter2@b"], ["--conf", "hunter2"]),
        *(["-X", "hunter2"], ["-X", "sasl.password"], ["--option", "hunter2"]),
    ],
)
def test_secrets_of_options_that_cannot_be_read_are_not_shown(tmp_path: Path, option: list[str]) -> None:
    outcome = run_ckpt("plan-recovery", str(build(tmp_path / "ck", "k0-10 c")), *option)
    assert outcome.code in (2, 6)
    assert "hunter2" not in outcome.out + outcome.err
