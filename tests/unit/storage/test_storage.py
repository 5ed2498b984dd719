"""Where a path or URL leads, what is refused and why, what is never shown, and how long we wait."""

from __future__ import annotations

import socket
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from fsspec.registry import _registry

from ckpttool.errors import CkptError, LeftUnread, NotACheckpoint, NotFound, Refused, Unavailable
from ckpttool.storage import remote
from ckpttool.storage import store as storage
from ckpttool.storage.remote import Backend, FsspecStore, HttpStore
from ckpttool.storage.remote_errors import remote_error
from ckpttool.storage.store import LocalStore, open_store
from ckpttool.storage.urls import options_for, over_http, parse_url, protocol_of, redact_url
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


@pytest.mark.parametrize("path", ["/data/\0ck", "s3://bucket/\0", "\0", ""])
def test_impossible_paths_are_not_found(path: str) -> None:
    assert run_ckpt("inspect", path).code == 4


def test_a_path_that_is_too_long_is_not_found_and_not_repeated_in_full() -> None:
    outcome = run_ckpt("inspect", "/" + "x" * 300)
    assert outcome.code == 4
    assert len(outcome.err) < 300
    assert run_ckpt("inspect", "/" + "x/" * 5000).code == 4


def test_an_unknown_scheme_is_refused() -> None:
    outcome = run_ckpt("inspect", "ftps4://host/ck")
    assert outcome.code == 6
    assert "ftps4:// is not a file system that fsspec knows" in outcome.err
    assert "ftps4://" in run_ckpt("inspect", "ftps4://x::/tmp/y").err


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("s3fs", "adlfs", "gcsfs"):
        monkeypatch.setitem(sys.modules, package, None)
    for protocol in ("s3", "abfs", "gs", "gcs"):
        monkeypatch.delitem(_registry, protocol, raising=False)


@pytest.mark.usefixtures("no_extras")
def test_a_missing_extra_is_refused_with_what_to_install() -> None:
    outcome = run_ckpt("inspect", "s3a://bucket/ck")
    assert outcome.code == 6
    assert "pip install 'ckpttool[s3]'" in outcome.err


@pytest.mark.usefixtures("no_extras")
@pytest.mark.parametrize(("url", "extra"), [("abfss://c@a.dfs.core.windows.net/p", "azure"), ("gs://b/p", "gcs")])
def test_every_object_store_names_its_own_extra(url: str, extra: str) -> None:
    with pytest.raises(Refused) as refused:
        open_store(url)
    assert refused.value.next_step == f"pip install 'ckpttool[{extra}]'"


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
    "zip://ck::s3://key:secret@bucket/a.zip": "zip://ck::s3://key:***@bucket/a.zip",
    "abfss://container@acct.dfs.core.windows.net/p": "abfss://container@acct.dfs.core.windows.net/p",
    "hdfs://nn:8020/a@b": "hdfs://nn:8020/a@b",
    "/data/user:pass@x": "/data/user:pass@x",
}


@pytest.mark.parametrize(("url", "shown"), REDACTED.items())
def test_secrets_in_urls_are_not_shown(url: str, shown: str) -> None:
    assert redact_url(url) == shown


@pytest.mark.extras
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_do_not_appear_in_what_the_command_says(form: str) -> None:
    url = f"http://user:hunter2@127.0.0.1:{closed_port()}/ck?sig=hunter2"
    outcome = run_ckpt("inspect", url, "--format", form, "--storage-option", "http:headers={}")
    assert outcome.code == 5
    assert "hunter2" not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "text",
    ["https://b.s3.amazonaws.com/?X-Amz-Signature=hunter2", "bad secret hunter2", "https://u:hunter2@h/", "x" * 300],
)
def test_secrets_do_not_appear_in_the_errors_of_a_backend(text: str) -> None:
    error = remote_error(OSError(text), "offsets/1")
    assert "hunter2" not in error.message
    assert len(error.message) < 250


@pytest.mark.extras
@pytest.mark.parametrize(
    ("name", "word"), [("NoRegionError", "AWS_DEFAULT_REGION"), ("NoCredentialsError", "anon=true")]
)
def test_what_the_client_of_s3_misses_is_named(name: str, word: str) -> None:
    from botocore import exceptions

    error = remote_error(getattr(exceptions, name)(), "offsets/1")
    assert word in (error.next_step or "")


# -- no access ---------------------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@pytest.fixture
def silent_address() -> Iterator[str]:
    """Takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/ck"


@pytest.mark.extras
def test_an_unreachable_address_is_exit_5() -> None:
    outcome = run_ckpt("inspect", f"http://127.0.0.1:{closed_port()}/ck")
    assert outcome.code == 5
    assert outcome.err.startswith("ckpt: http://127.0.0.1:")


@pytest.mark.extras
def test_a_silent_server_is_given_up(silent_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "CONNECT_S", 0.05)
    outcome = run_ckpt("inspect", silent_address)
    assert outcome.code == 5


class Stuck:
    """A file system whose every answer waits for ever."""

    protocol = "stuck"

    def __init__(self) -> None:
        self.never = Event()
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        def wait(*_: Any, **__: Any) -> None:
            self.asked += 1
            self.never.wait()

        return wait


def test_a_backend_that_hangs_is_given_up_once_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PATIENCE_S", 0.05)
    stuck = Stuck()
    store = FsspecStore("stuck://x", Backend(stuck), "", ["x"])
    with pytest.raises(Unavailable):
        store.list()
    assert [type(body) for _, body in store.read_all(["a", "b"])] == [Unavailable, Unavailable]
    with pytest.raises(Unavailable):
        store.at("..").list("y")
    assert stuck.asked == 1
    stuck.never.set()


class Failing:
    protocol: str | tuple[str, ...] = "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> None:
            raise self.error

        return fail


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError("Access Denied"), Unavailable),
        (type("NoCredentialsError", (Exception,), {})("Unable to locate credentials"), Unavailable),
        (TimeoutError(), Unavailable),
        (ConnectionResetError("peer"), Unavailable),
        (KeyError("a bug of theirs"), Unavailable),
        (RecursionError("deep"), Unavailable),
        (FileNotFoundError("x"), NotFound),
        (NotADirectoryError("x"), NotFound),
        (ImportError("Install foo"), Refused),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_errors_of_a_backend_become_ours(error: Exception, expected: type[CkptError]) -> None:
    store = FsspecStore("failing://x", Backend(Failing(error)), "", ["x"])
    with pytest.raises(expected):
        store.list()
    with pytest.raises(expected):
        store.read("a")
    assert store.stat("a") is None


# -- archives and web servers ------------------------------------------------------------------------------------------


def test_a_missing_archive_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_store(f"zip://ck::{tmp_path}/none.zip")


def test_a_file_that_is_no_archive_is_not_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_bytes(b"not a zip file")
    with pytest.raises(NotACheckpoint, match="not a zip file"):
        open_store(f"zip://ck::{tmp_path}/text.zip")


def test_a_directory_in_place_of_an_archive_is_not_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint):
        open_store(f"zip://ck::{tmp_path}")


def test_an_archive_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        open_store(f"zip://{tmp_path}/a.zip")
    assert refused.value.next_step == "give both paths: zip://CHECKPOINT::/path/to/the.zip"


def test_names_in_an_archive_do_not_lead_out_of_their_directory(tmp_path: Path) -> None:
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("ck/offsets/0", "ck/offsets/../../evil", "ck/offsets/./1", "/ck/absolute"):
            archive.writestr(name, b"v1")
    assert open_store(f"zip://ck::{path}").list("offsets") == ["0"]


def test_a_damaged_member_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ck/offsets/0", b"A" * 100)
        archive.writestr("ck/offsets/1", b"whole")
    path.write_bytes(path.read_bytes().replace(b"A" * 100, b"B" * 100))
    bodies = dict(open_store(f"zip://ck::{path}").read_all(["offsets/0", "offsets/1"]))
    assert isinstance(bodies["offsets/0"], CkptError)
    assert bodies["offsets/1"] == b"whole"


APACHE = """<html><a href="?C=N;O=D">Name</a> <a href="/data/">Parent Directory</a>
<a href="0">0</a> <a href='./1'>1</a> <A CLASS="x" HREF="a%20b&amp;c">…</A> <a href="sub/">sub/</a>
<a href="http://host/data/ck/2">2</a> <a href="/data/ck/3">3</a> <a href="http://elsewhere/x">x</a>
<a href="//elsewhere/x">x</a> <a href="../../etc/passwd">x</a> <a href="sub/deeper">x</a> <a href="#top">top</a>
<a href="mailto:a@b">m</a> <a href="..">up</a> <a href="%2e%2e">up</a> http://host/data/ck/in-text"""


def test_only_links_one_step_down_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HttpStore("http://host/data/ck", Backend(), "http://host/", ["data", "ck"])
    monkeypatch.setattr(store, "_get", lambda _addresses: [("text/html; charset=utf-8", APACHE.encode())])
    assert sorted(store.list()) == ["0", "1", "2", "3", "a b&c", "sub"]
    assert store.stat("sub") == storage.FileStat(None, None, True)


def test_the_signature_of_a_web_address_goes_with_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HttpStore("https://host/ck", Backend(), "https://host/?sig=x", ["c k"])
    asked: list[str] = []

    def get(addresses: list[str]) -> list[Exception]:
        asked.extend(addresses)
        return [FileNotFoundError()] * len(addresses)

    monkeypatch.setattr(store, "_get", get)
    with pytest.raises(NotFound):
        store.read("offsets/1")
    with pytest.raises(NotFound):
        store.list("offsets")
    assert asked == ["https://host/c%20k/offsets/1?sig=x", "https://host/c%20k/offsets/?sig=x"]


class Endless(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"<a href='x'>" * 1000)

    def log_message(self, *_: Any) -> None:
        """Tests have nothing to say."""


@pytest.fixture
def endless_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/ck"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.extras
def test_an_answer_that_never_ends_is_cut_off(endless_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "READ_LIMIT_BYTES", 2**20)
    monkeypatch.setattr(remote, "PATIENCE_S", 5.0)
    store = open_store(endless_server)
    with pytest.raises(LeftUnread):
        store.read("offsets/1")
    with pytest.raises(LeftUnread):
        store.list("offsets")


@pytest.mark.parametrize("protocol", ["s3", ("s3", "s3a"), "abfs", ("gs", "gcs")])
def test_nothing_is_asked_about_what_is_above_a_bucket(protocol: str | tuple[str, ...]) -> None:
    """Listing the buckets needs a right of its own, and would tell nothing."""
    asked = Failing(AssertionError("asked"))
    asked.protocol = protocol
    above = FsspecStore("s3://bucket", Backend(asked), "", ["bucket"]).at("..")
    with pytest.raises(NotFound):
        above.list()


# -- the local disk ----------------------------------------------------------------------------------------------------


def test_a_nul_from_a_file_is_no_crash(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    assert store.stat("a\0b") is None
    for ask in (store.list, store.read):
        with pytest.raises(NotFound):
            ask("a\0b")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x"])
def test_paths_with_dots_do_not_leave_the_root(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_bytes(b"outside")
    (tmp_path / "root" / "a").mkdir(parents=True)
    store = LocalStore(str(tmp_path / "root"))
    with pytest.raises(CkptError, match="leads out"):
        store.read(path)
    with pytest.raises(CkptError, match="leads out"):
        store.list(path)


def test_a_socket_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(CkptError, match="device stands where a file belongs"):
            LocalStore(str(tmp_path)).read("s")
