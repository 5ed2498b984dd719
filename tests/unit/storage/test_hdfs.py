"""HDFS over WebHDFS, with a name node and a data node that are played: what is asked, and asked again.

Real ones are asked in tests/contract, where Hadoop is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from ckpttool.errors import CkptError, LeftUnread, NotFound, Unavailable
from ckpttool.formats import limits
from ckpttool.storage import hdfs
from ckpttool.storage.buckets import TRIES
from ckpttool.storage.store import Store, open_store
from tests.unit.storage.servers import Compressed, Endless, Handler, Serve

pytestmark = pytest.mark.extras
LIST, OPEN, BODY = "LISTSTATUS", "OPEN", "body"


@dataclass
class Cluster:
    """`files`: by their paths. `faults`: by what is asked for, how the next answers go wrong; the last stays."""

    files: dict[str, bytes]
    faults: Mapping[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def fault(self, operation: str, path: str) -> str:
        self.asked.append(f"{operation} {path.removeprefix('/ck').lstrip('/')}")
        waiting = self.faults.get(operation, [])
        return waiting.pop(0) if waiting else ""

    def statuses(self, folder: str) -> list[dict[str, Any]] | None:
        below = {
            path.removeprefix(f"{folder}/"): body for path, body in self.files.items() if path.startswith(f"{folder}/")
        }
        names = {name.partition("/")[0]: (None if "/" in name else body) for name, body in below.items()}
        return [
            {
                "pathSuffix": name,
                "type": "DIRECTORY" if body is None else "FILE",
                "length": len(body or b""),
                "modificationTime": 1,
            }
            for name, body in names.items()
        ] or None


def nodes(cluster: Cluster) -> Handler:
    """The name node, which sends whoever wants a body on to the data node: itself, under another path."""

    class Node(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            options = {key: values[0] for key, values in parse_qs(url.query).items()}
            if url.path.startswith("/data"):
                self.body(url.path.removeprefix("/data"), options)
            else:
                self.name(unquote(url.path.removeprefix("/webhdfs/v1")), options)

        def name(self, path: str, options: dict[str, str]) -> None:
            fault = cluster.fault(options["op"], path)
            if fault.isdecimal():
                return self.answer(int(fault), b"{}")
            if fault:
                words = {"RemoteException": {"exception": fault, "message": "no"}}
                return self.answer(403, json.dumps(words).encode())
            if options["op"] == OPEN:
                where = f"http://{self.headers['Host']}/data{path}?{url_of(options)}"
                return self.answer(307, b"", Location=where)
            statuses = cluster.statuses(path)
            if statuses is None:
                words = {"RemoteException": {"exception": "FileNotFoundException", "message": "none"}}
                return self.answer(404, json.dumps(words).encode())
            return self.answer(200, json.dumps({"FileStatuses": {"FileStatus": statuses}}).encode())

        def body(self, path: str, options: dict[str, str]) -> None:
            fault = cluster.fault(BODY, path)
            if fault.isdecimal():
                return self.answer(int(fault), b"{}")
            whole = cluster.files.get(path)
            if whole is None:
                return self.answer(404, b"{}")
            start = int(options["offset"])
            return self.answer(200, whole[start : start + int(options["length"])], is_cut=fault == "cut")

        def answer(self, status: int, content: bytes, is_cut: bool = False, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) + is_cut))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Tests have nothing to say."""

    return Node


def url_of(options: Mapping[str, str]) -> str:
    return "&".join(f"{name}={options[name]}" for name in ("offset", "length"))


FILES = {
    "/ck/metadata": b"{}",
    "/ck/offsets/0": b"first",
    "/ck/offsets/1": b"second",
    "/ck/state/0/0/1.delta": b"delta",
}
Made = Callable[..., tuple[Store, Cluster]]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda *_: 0.0)


@pytest.fixture
def made(serve: Serve) -> Made:
    def make(**faults: list[str]) -> tuple[Store, Cluster]:
        cluster = Cluster(dict(FILES), faults)
        return open_store(f"webhdfs://{serve(nodes(cluster))}/ck"), cluster

    return make


def test_names_and_bodies_are_what_the_nodes_tell(made: Made) -> None:
    store, _ = made()
    assert sorted(store.list()) == ["metadata", "offsets", "state"]
    bodies = dict(store.read_all(["offsets/0", "offsets/1", "offsets/7"]))
    assert (bodies["offsets/0"], bodies["offsets/1"]) == (b"first", b"second")
    assert isinstance(bodies["offsets/7"], NotFound)
    assert store.read_range("offsets/1", 1, 4) == b"eco"
    with pytest.raises(NotFound):
        store.list("commits")


def test_what_was_surveyed_or_listed_is_not_asked_for_again(made: Made) -> None:
    store, cluster = made()
    store.list()
    store.survey(parts=["offsets", "state"])
    assert sorted(cluster.asked) == [f"{LIST} ", f"{LIST} offsets"], "state may be large: it is asked for by itself"
    store.survey("state")
    cluster.asked.clear()
    assert (sorted(store.list("offsets")), store.list("state/0/0")) == (["0", "1"], ["1.delta"])
    assert not cluster.asked


def test_a_directory_that_may_not_be_listed_is_told_when_it_is_asked_for(made: Made) -> None:
    store, _ = made(LISTSTATUS=["AccessControlException", "AccessControlException"])
    store.survey(parts=["offsets"])
    with pytest.raises(Unavailable, match="cannot be read"):
        store.list("offsets")
    assert sorted(store.list("offsets")) == ["0", "1"]


def test_what_was_fetched_before_is_given_out_once(made: Made) -> None:
    store, cluster = made()
    store.list("offsets")
    store.prefetch(lambda: ["offsets/0"])
    cluster.asked.clear()
    assert (store.read("offsets/0"), cluster.asked) == (b"first", [])
    assert store.read("offsets/0") == b"first"
    assert cluster.asked == [f"{OPEN} offsets/0", f"{BODY} offsets/0"]


@pytest.mark.parametrize(
    "faults", [{"body": ["cut"]}, {"body": ["503"]}, {"OPEN": ["429"]}, {"body": ["cut"] * 3}], ids=str
)
def test_what_passes_is_asked_for_again(made: Made, faults: dict[str, list[str]]) -> None:
    store, _ = made(**faults)
    store.list("offsets")
    assert store.read("offsets/0") == b"first"


def test_a_body_that_breaks_off_each_time_is_given_up(made: Made) -> None:
    store, cluster = made(body=["cut"] * 9)
    store.list("offsets")
    bodies = dict(store.read_all(["offsets/0"]))
    assert isinstance(bodies["offsets/0"], Unavailable)
    assert cluster.asked.count(f"{BODY} offsets/0") == TRIES


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_body_that_may_not_be_read_is_not_asked_for_again(made: Made, status: str) -> None:
    store, cluster = made(body=[status] * 9)
    store.list("offsets")
    with pytest.raises(Unavailable, match="AccessDenied"):
        store.read("offsets/0")
    assert cluster.asked.count(f"{BODY} offsets/0") == 1


def test_files_that_changed_after_they_were_listed_are_told(made: Made) -> None:
    store, cluster = made()
    store.list("offsets")
    cluster.files["/ck/offsets/0"] = b"first, and more"
    del cluster.files["/ck/offsets/1"]
    bodies = dict(store.read_all(["offsets/0", "offsets/1"]))
    assert bodies["offsets/0"] == b"first, and more"
    assert isinstance(bodies["offsets/1"], NotFound)
    assert store.changed == {"offsets/0", "offsets/1"}


def test_a_file_beyond_the_limit_is_left(made: Made) -> None:
    store, _ = made()
    with limits.changed({"offsets": 4}), pytest.raises(LeftUnread):
        store.read("offsets/0")


# -- answers that hurt -------------------------------------------------------------------------------------------------


def refuses(store: Store) -> bool:
    for look in (lambda: store.read("offsets/1"), lambda: store.list("offsets")):
        with pytest.raises(CkptError) as raised:
            look()
        assert isinstance(raised.value, Unavailable)
    return True


def test_an_answer_of_a_name_node_that_never_ends_is_cut_off(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs, "largest_file", lambda: 2**20)
    assert refuses(open_store(f"webhdfs://{serve(Endless)}/ck"))


def test_an_answer_that_is_compressed_unasked_is_not_unpacked(serve: Serve) -> None:
    assert refuses(open_store(f"webhdfs://{serve(Compressed)}/ck"))
