"""Stores behind a network or an archive: how long we wait, how much we take, which names we believe."""

from __future__ import annotations

import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ckpttool.errors import CkptError, LeftUnread, NotACheckpoint, NotFound, Unavailable
from ckpttool.formats import limits
from ckpttool.storage import remote
from ckpttool.storage.remote import Backend, FsspecStore, HttpStore
from ckpttool.storage.store import FileStat, open_store
from tests.conftest import run_ckpt
from tests.unit.storage.failing import Failing
from tests.unit.storage.servers import Compressed, Endless, Serve

# -- no access ---------------------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@pytest.mark.extras
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_do_not_appear_in_what_the_command_says(form: str) -> None:
    url = f"http://user:hunter2@127.0.0.1:{closed_port()}/ck?sig=hunter2"
    outcome = run_ckpt("inspect", url, "--format", form, "--storage-option", "http:headers={}")
    assert outcome.code == 5
    assert "hunter2" not in outcome.out + outcome.err


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


@pytest.mark.parametrize("protocol", ["s3", ("s3", "s3a"), "abfs", ("gs", "gcs")])
def test_nothing_is_asked_about_what_is_above_a_bucket(protocol: str | tuple[str, ...]) -> None:
    """Listing the buckets needs a right of its own, and would tell nothing."""
    asked = Failing(AssertionError("asked"))
    asked.protocol = protocol
    above = FsspecStore("s3://bucket", Backend(asked), "", ["bucket"]).at("..")
    with pytest.raises(NotFound):
        above.list()


# -- archives ----------------------------------------------------------------------------------------------------------


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


# -- web servers -------------------------------------------------------------------------------------------------------


APACHE = """<html><a href="?C=N;O=D">Name</a> <a href="/data/">Parent Directory</a>
<a href="0">0</a> <a href='./1'>1</a> <A CLASS="x" HREF="a%20b&amp;c">…</A> <a href="sub/">sub/</a>
<a href="http://host/data/ck/2">2</a> <a href="/data/ck/3">3</a> <a href="http://elsewhere/x">x</a>
<a href="//elsewhere/x">x</a> <a href="../../etc/passwd">x</a> <a href="sub/deeper">x</a> <a href="#top">top</a>
<a href="mailto:a@b">m</a> <a href="..">up</a> <a href="%2e%2e">up</a> http://host/data/ck/in-text"""


def test_only_links_one_step_down_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HttpStore("http://host/data/ck", Backend(), "http://host/", ["data", "ck"])
    monkeypatch.setattr(store, "_get", lambda _addresses: [("text/html; charset=utf-8", APACHE.encode())])
    assert sorted(store.list()) == ["0", "1", "2", "3", "a b&c", "sub"]
    assert store.stat("sub") == FileStat(None, None, True)


def test_the_signature_of_a_web_address_goes_with_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HttpStore("https://host/ck", Backend(), "https://host/?sig=x", ["c k"])
    asked: list[str] = []

    def get(addresses: list[tuple[str, int]]) -> list[Exception]:
        asked.extend(address for address, _ in addresses)
        return [FileNotFoundError()] * len(addresses)

    monkeypatch.setattr(store, "_get", get)
    with pytest.raises(NotFound):
        store.read("offsets/1")
    with pytest.raises(NotFound):
        store.list("offsets")
    assert asked == ["https://host/c%20k/offsets/1?sig=x", "https://host/c%20k/offsets/?sig=x"]


@pytest.fixture
def endless_server(serve: Serve) -> str:
    return f"http://{serve(Endless)}/ck"


@pytest.mark.extras
def test_an_answer_that_never_ends_is_cut_off(endless_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PIECE_BYTES", 2**20)
    monkeypatch.setattr(remote, "PATIENCE_S", 5.0)
    store = open_store(endless_server)
    with limits.changed({"offsets": 2**20}), pytest.raises(LeftUnread):
        store.read("offsets/1")
    with pytest.raises(LeftUnread):
        store.list("offsets")


@pytest.mark.extras
def test_an_answer_that_is_compressed_unasked_is_not_unpacked(serve: Serve) -> None:
    store = open_store(f"http://{serve(Compressed)}/ck")
    for look in (lambda: store.read("offsets/1"), lambda: store.list("offsets")):
        with pytest.raises(Unavailable):
            look()
