"""What every `Store` promises, tried on the local disk, in memory, in a zip archive, over HTTP, and on real servers of
objects: S3, Azure, Google Cloud Storage."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ckpttool.api import inspect_checkpoint
from ckpttool.errors import CkptError, MalformedFile, NotFound
from ckpttool.formats import limits
from ckpttool.formats.limits import OverLimit
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.report.views.inspect import inspection_document
from ckpttool.storage import store as storage
from ckpttool.storage.store import Store, open_store
from tests.conftest import AT_LENGTH, HEAVY
from tests.parts.stores import SERVERS

SAMPLE = "4.2.0-file-to-parquet-sound"  # has an output directory beside it, with the sink's record of batches
TREE: dict[str, bytes | None] = {
    "top/ck/metadata": b'{"id":"x"}',
    "top/ck/offsets/0": b"v1\nzero",
    "top/ck/offsets/1": b"v1\none",
    "top/ck/offsets/10": b"v1\nten",
    "top/ck/offsets/.1.crc": b"crc\0",
    "top/ck/offsets/empty": b"",
    "top/ck/odd names/100% & <b>.txt": b"percent",
    "top/ck/odd names/a b#c?d": b"hash",
    "top/ck/odd names/größe": b"umlaut",
    "top/ck/a/b/c/deep": b"deep",
    "top/ck/nothing": None,  # an empty directory
    "top/beside/file": b"beside",
}


@dataclass(frozen=True)
class Place:
    """A kind of storage: how a tree gets there, its URL, and everything that reading could have changed."""

    put: Callable[[Path], str]
    snapshot: Callable[[], Mapping[str, object]]
    options: Mapping[str, str] = field(default_factory=dict)

    def open(self, url: str, path: str) -> Store:
        """The way a user would spell it."""
        return open_store(below(url, path), self.options)


def files_below(root: Path) -> dict[str, object]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in [root, *root.rglob("*")]
    }


def put_in_memory(tree: Path) -> str:
    fs = MemoryFileSystem(skip_instance_cache=True)
    for path in sorted(tree.rglob("*")):
        target = f"/tree/{path.relative_to(tree)}"
        if path.is_dir():
            fs.makedirs(target, exist_ok=True)
        else:
            fs.pipe_file(target, path.read_bytes())
    return "memory://tree"


def put_in_zip(archive: Path, tree: Path) -> str:
    with zipfile.ZipFile(archive, "w") as made:
        for path in sorted(tree.rglob("*")):
            made.write(path, str(path.relative_to(tree)))
    return f"zip://::{archive}"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Tests have nothing to say."""


@pytest.fixture
def memory() -> Iterator[None]:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def web_server(tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(served)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


HEAVIER = [pytest.param(kind, marks=AT_LENGTH) for kind in HEAVY]
KINDS = ["local", "file-url", "memory", "zip", "http", *SERVERS, *HEAVIER]


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """One kind of storage; what it does not need is not started."""
    if request.param in (*SERVERS, *HEAVY):
        server = request.getfixturevalue("object_server")(request.param)
        bucket = f"b{uuid4().hex}"
        return Place(partial(server.put, bucket=bucket), partial(server.fingerprints, bucket), server.options)
    store = tmp_path / "store"
    on_disk = partial(files_below, tmp_path)

    def copy_to(target: Path, url: str, tree: Path) -> str:
        shutil.copytree(tree, target, dirs_exist_ok=True)
        return url

    if request.param == "memory":
        request.getfixturevalue("memory")
        return Place(put_in_memory, lambda: {path: file.getvalue() for path, file in MemoryFileSystem.store.items()})
    if request.param == "zip":
        return Place(partial(put_in_zip, tmp_path / "tree.zip"), on_disk)
    if request.param == "http":
        url = request.getfixturevalue("web_server")
        return Place(partial(copy_to, tmp_path / "served", url), on_disk)
    return Place(partial(copy_to, store, str(store) if request.param == "local" else f"file://{store}"), on_disk)


@pytest.fixture
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name, content in TREE.items():
        path = root / name
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content)
    return root


@pytest.fixture
def store(place: Place, tree: Path) -> Store:
    return place.open(place.put(tree), "top/ck")


def below(url: str, path: str) -> str:
    if url.startswith("zip://"):
        return url.replace("zip://", f"zip://{path}")
    return f"{url}/{path}"


# -- list --------------------------------------------------------------------------------------------------------------


def test_a_file_of_any_size_is_read_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.list("a/b/c")
    monkeypatch.setattr(storage, "PIECE_BYTES", 3)
    # A web server tells no sizes, and may ignore ranges.
    pieces = [b"deep"] if store.url.startswith("http") else [b"dee", b"p"]
    assert list(storage.read_pieces(store, "a/b/c/deep")) == pieces
    with pytest.raises(NotFound):
        list(storage.read_pieces(store, "a/b/c/nothing"))


def test_lists_the_names_in_a_directory(store: Store) -> None:
    assert sorted(store.list("offsets")) == [".1.crc", "0", "1", "10", "empty"]


def test_lists_the_root(store: Store) -> None:
    assert sorted(store.list()) == ["a", "metadata", "nothing", "odd names", "offsets"]


def test_names_come_as_they_are_and_lead_back_to_the_files(store: Store) -> None:
    names = store.list("odd names")
    assert sorted(names) == ["100% & <b>.txt", "a b#c?d", "größe"]
    assert sorted(store.read(f"odd names/{name}") for name in names) == [b"hash", b"percent", b"umlaut"]


def test_an_empty_directory_is_empty(store: Store) -> None:
    assert store.list("nothing") == []


@pytest.mark.parametrize("path", ["missing", "missing/deeper", "offsets/missing"])
def test_a_missing_directory_is_not_found(store: Store, path: str) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        store.list(path)


def test_a_file_is_not_listed_as_a_directory(store: Store) -> None:
    with pytest.raises(NotFound):
        store.list("metadata")


def test_a_missing_root_is_not_found(place: Place, tree: Path) -> None:
    with pytest.raises(NotFound):
        place.open(place.put(tree), "nowhere").list()


# -- stat --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [False, True], ids=["not listed before", "listed before"])
def test_stat_tells_files_from_directories_and_from_nothing(store: Store, listed: bool) -> None:
    if listed:
        store.list()
        store.list("offsets")
    directory, file = store.stat("offsets"), store.stat("offsets/1")
    assert directory is not None
    assert directory.is_directory
    assert file is not None
    assert not file.is_directory
    assert file.size_bytes in (6, None)  # a web server's listing does not tell
    assert store.stat("offsets/2") is None
    assert store.stat("missing/1") is None


# -- read --------------------------------------------------------------------------------------------------------------


def listed(store: Store) -> Store:
    store.list()
    store.list("offsets")
    return store


@pytest.fixture(params=[lambda store: store, listed], ids=["not listed before", "listed before"])
def read_from(request: pytest.FixtureRequest, store: Store) -> Store:
    """Sizes known from a listing change how remote files are read, never what is read."""
    opened: Store = request.param(store)
    return opened


def test_reads_a_file(read_from: Store) -> None:
    assert read_from.read("offsets/10") == b"v1\nten"


def test_reads_a_part_of_a_file(read_from: Store) -> None:
    assert read_from.read_range("offsets/10", 3, 5) == b"te"


def test_reads_an_empty_file(read_from: Store) -> None:
    assert read_from.read("offsets/empty") == b""


def test_a_missing_file_is_not_found(read_from: Store) -> None:
    with pytest.raises(NotFound, match="offsets/2 does not exist"):
        read_from.read("offsets/2")


def test_a_directory_is_no_file(read_from: Store) -> None:
    """Before a listing some stores cannot know that it is one; they may say that there is no such file."""
    with pytest.raises((MalformedFile, NotFound)):
        read_from.read("offsets")


def test_a_file_over_the_limit_is_not_read(read_from: Store) -> None:
    with limits.changed({"offsets": 5}), pytest.raises(OverLimit, match="--read-limit offsets="):
        read_from.read("offsets/10")


def test_many_files_come_in_order_with_their_errors_in_place(read_from: Store) -> None:
    paths = ["offsets/10", "offsets/2", "offsets/0", "offsets", "offsets/empty", "offsets/1"]
    bodies = list(read_from.read_all(paths))
    assert [path for path, _ in bodies] == paths
    assert [body for _, body in bodies if isinstance(body, bytes)] == [b"v1\nten", b"v1\nzero", b"", b"v1\none"]
    assert isinstance(bodies[1][1], NotFound)
    assert isinstance(bodies[3][1], CkptError)


def test_one_file_over_the_limit_does_not_keep_the_others_from_being_read(
    read_from: Store,
) -> None:
    with limits.changed({"offsets": 6}):
        bodies = dict(read_from.read_all(["offsets/1", "offsets/0", "offsets/10"]))
    assert isinstance(bodies["offsets/0"], OverLimit)
    assert bodies["offsets/1"] == b"v1\none"
    assert bodies["offsets/10"] == b"v1\nten"


# -- at ----------------------------------------------------------------------------------------------------------------


def test_at_goes_down_and_up(store: Store) -> None:
    assert store.at("a/b").list() == ["c"]
    assert store.at("a/b").read("c/deep") == b"deep"
    assert sorted(store.above().list()) == ["beside", "ck"]
    assert store.above().at("ck").url == store.url
    assert store.above().at("beside").read("file") == b"beside"
    assert store.above(2).list() == ["top"]
    assert store.at("a/b").at("../..").url == store.url


def test_far_above_the_top_is_nothing_or_the_top(store: Store) -> None:
    above = store.above(50)
    assert above.stat("metadata") is None
    assert [type(body) for _, body in above.read_all(["metadata"])] == [NotFound]
    with pytest.raises(NotFound):
        above.read("metadata")


# -- reading only reads, and reads the same everywhere -----------------------------------------------------------------


def inspected(store: Store) -> dict[str, Any]:
    """Without the clock, and so without `looks-alive`; no other field of the JSON needs times of change, which a web
    server and an archive do not tell."""
    fields = inspection_document(inspect_checkpoint(load_checkpoint(store))).fields()
    del fields["checkpoint"]
    return fields


def test_reading_changes_nothing(place: Place, sample: Callable[[str], Path]) -> None:
    url = place.put(sample(SAMPLE))
    before = place.snapshot()
    inspected(place.open(url, "checkpoint"))
    assert place.snapshot() == before


def test_every_store_gives_the_same_inspection(place: Place, sample: Callable[[str], Path]) -> None:
    local = inspected(open_store(str(sample(SAMPLE) / "checkpoint")))
    assert local["sinks"]  # the directories above and beside the checkpoint were looked into
    assert inspected(place.open(place.put(sample(SAMPLE)), "checkpoint")) == local


# -- requests are few --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("memory")
def test_nothing_is_asked_for_before_it_is_listed_or_read(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def record(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            asked.append(name)
            return method(*args, **kwargs)

        return recorded

    for name in ("ls", "info", "exists", "isdir", "isfile", "cat_file", "open", "find", "glob"):
        monkeypatch.setattr(MemoryFileSystem, name, record(name, getattr(MemoryFileSystem, name)))
    url = put_in_memory(sample(SAMPLE))
    asked.clear()
    load_checkpoint(open_store(below(url, "checkpoint")))
    assert set(asked) == {"ls", "cat_file"}
