"""Who is asked for a URL, and where a file may lead: only to what was typed, however it is spelled."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ckpttool.errors import NotPointedAt, Refused
from ckpttool.storage.authority import Below, Named, Remote, Typed, authority_of, refuse_what_is_not_followed, way_to

ACCOUNT = {"AZURE_STORAGE_ACCOUNT_NAME": "acc"}


def way(named: str, *typed: str, options: Mapping[str, str] = {}, environ: Mapping[str, str] = {}) -> Below | Remote:
    authorities = {found for one in typed if (found := authority_of(one, options, environ))}
    directories = tuple((one, one) for one in typed if one.startswith("/"))
    return way_to(Named(named), Typed(frozenset(authorities), directories, frozenset({"s3"})), options, environ)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("s3://b/ck", "s3a://b/in/day=1"),
        ("s3n://b/ck", "s3:b/in"),
        ("gcs://b/ck", "gs://b/in"),
        ("abfss://c@acc.dfs.core.windows.net/ck", "wasbs://c@acc.blob.core.windows.net/in"),
        ("hdfs://NN:8020/ck", "webhdfs://nn:9870/in"),
        ("webhdfs://nn:9870/ck", "hdfs://nn/in"),
        ("https://user:password@host/ck", "https://HOST:443/in"),
        ("dbfs:/ck", "dbfs:/mnt/in"),
    ],
)
def test_other_spellings_of_the_same_authority_are_followed(typed: str, named: str) -> None:
    assert isinstance(way(named, typed), Remote)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("s3://b/ck", "s3://c/in"),
        ("s3://b/ck", "gs://b/in"),
        ("s3://b/ck", "s3://b@c/in"),
        ("https://host/ck", "http://host/in"),
        ("https://host/ck", "https://host:8443/in"),
        ("https://host/ck", "https://host.evil/in"),
        ("https://host/ck", "https://host@evil/in"),
        ("https://host/ck", "https://host\\@evil/in"),
        ("https://host/ck", "https://evil#@host/in"),
        ("https://host/ck", "https://evil?@host/in"),
        ("https://host/ck", "https://me:own@host/in"),
        ("https://host/ck", "https://host%2eevil/in"),
        ("https://host/ck", "https://host\t/in"),
        ("https://host/ck", "https:///in"),
        ("webhdfs://nn:9870/ck", "webhdfs://nn:9871/in"),
        ("webhdfs://nn:14000/ck", "hdfs://nn:8020/in"),
        ("abfss://c@acc.dfs.core.windows.net/ck", "abfss://d@acc.dfs.core.windows.net/in"),
        ("abfss://c@acc.dfs.core.windows.net/ck", "abfss://c@evil.dfs.core.windows.net/in"),
        ("abfss://c@acc.dfs.core.windows.net/ck", "abfss://c@acc.dfs.evil.net/in"),
        ("/data/ck", "s3://b/in"),
        ("ftp://host/ck", "ftp://host/in"),
        ("sftp://host/ck", "sftp://host/in"),
        ("s3://b/ck", "zip://in::s3://b/in.zip"),
        ("s3://b/ck", "simplecache::s3://b/in"),
        ("/data/ck", "zip://in::file:///data/ck/in.zip"),
    ],
)
def test_nobody_else_is_asked(typed: str, named: str) -> None:
    with pytest.raises(NotPointedAt):
        way(named, typed)


@pytest.mark.parametrize(
    "named",
    [
        *("/data/ck2/x", "/data/ck/../in", "/etc", "/", "file:///etc", "file:/etc", "local:///etc"),
        *("ck/x", "../x", "file:x", "", "//data/ck/x", "file://data/ck/x", r"\\host\share\x", "~/x"),
    ],
)
def test_the_local_disk_ends_at_what_was_typed(named: str) -> None:
    with pytest.raises(Refused if named else Exception):
        way(named, "/data/ck", "s3://b/ck")


def test_a_path_below_what_was_typed_stays_below_it() -> None:
    assert way("file:///data/ck/a/../b", "/data/ck") == Below("/data/ck", "b")
    assert way("/data/ck", "/data/ck") == Below("/data/ck", "")
    assert way("/mnt/real/x", "/mnt") == Below("/mnt", "real/x")


def test_a_directory_that_was_typed_through_a_link_is_known_by_both_names() -> None:
    typed = Typed(directories=(("/link", "/real"),))
    assert way_to(Named("file:/real/x"), typed, {}, {}) == Below("/link", "x")


@pytest.mark.parametrize(
    ("named", "option"),
    [
        ("s3a://other/in/day=1", "s3a://other"),
        ("abfss://c@acc.dfs.core.windows.net/in", "abfss://c@acc.dfs.core.windows.net"),
        ("hdfs://nn:8020/in", "hdfs://nn:8020"),
        ("file:///data/in", "/data/in"),
        ("/data/my in", "'/data/my in'"),
    ],
)
def test_it_says_the_option_that_would_allow_it(named: str, option: str) -> None:
    with pytest.raises(NotPointedAt) as refused:
        way(named, "/data/ck")
    assert refused.value.next_step == f"--look-at {option}"
    assert way(named, option.strip("'"))


def test_the_account_of_a_container_may_stand_elsewhere() -> None:
    named = "abfss://c@acc.dfs.core.windows.net/in"
    assert isinstance(way(named, "abfs://c/ck", environ=ACCOUNT), Remote)
    assert isinstance(way(named, "abfs://c/ck", options={"account_name": "acc"}), Remote)
    with pytest.raises(NotPointedAt):
        way("abfss://c@evil.dfs.core.windows.net/in", "abfs://c/ck", environ=ACCOUNT)


def test_a_port_of_webhdfs_that_was_given_counts() -> None:
    assert isinstance(way("hdfs://nn:8020/in", "webhdfs://nn:14000/ck", options={"http_port": "14000"}), Remote)


def test_options_for_all_go_only_where_the_command_works() -> None:
    options = {"key": "SECRET", "hdfs:user": "spark", "s3:anon": "true"}
    assert way("s3://b/in", "s3://b/ck", options=options) == Remote("s3://b/in", options)
    found = way("hdfs://nn/in", "s3://b/ck", "hdfs://nn", options=options)
    assert isinstance(found, Remote)
    assert "key" not in found.options
    assert found.options["hdfs:user"] == "spark"


@pytest.mark.parametrize("url", ["ftp://host", "zip://x::s3://b/x.zip", "github://a:b@c"])
def test_what_is_never_followed_cannot_be_allowed(url: str) -> None:
    with pytest.raises(Refused, match="no file may lead there"):
        refuse_what_is_not_followed(url)
    refuse_what_is_not_followed("/data/in")
    refuse_what_is_not_followed("s3a://b")
