"""What every `WritableStore` promises, tried on the local disk and on real servers: S3, Azure, HDFS, and a Google Cloud
Storage that keeps generations (a fake, see `tests.parts.generations`)."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest

from ckpttool.apply.stores.base import AlreadyThere, Bearing, Changed, WritableStore
from ckpttool.apply.stores.opening import open_tree
from ckpttool.errors import CkptError, Refused
from tests.conftest import AT_LENGTH, CHANGEABLE
from tests.parts.hdfs import HdfsServer
from tests.parts.stores import ObjectServer

OBJECTS = [*CHANGEABLE, pytest.param("versity", marks=AT_LENGTH)]
EVERY = ["local", *OBJECTS, pytest.param("hdfs", marks=AT_LENGTH)]
STAGING = "_ckpt/staging"
TREE = {"metadata": b"old", "offsets/0": b"zero", "offsets/1": b"one", "state/0/0/1.delta": b"delta", "empty": b""}

Open = Callable[[], WritableStore]


def options_of(server: ObjectServer) -> dict[str, str]:
    """HDFS believes who one says one is."""
    return {**server.options, **({"user": getpass.getuser()} if isinstance(server, HdfsServer) else {})}


def place(tree: Path) -> None:
    for path, body in TREE.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(body)


@pytest.fixture
def opened(request: pytest.FixtureRequest, object_server: Callable[[str], ObjectServer], tmp_path: Path) -> Open:
    """The same tree each time, by somebody who has seen nothing of it yet."""
    place(tmp_path / "top" / "ck")
    kind = getattr(request, "param", "s3")
    if kind == "local":
        return lambda: open_tree(str(tmp_path / "top" / "ck"), STAGING, {})
    server = object_server(kind)
    url = f"{server.put(tmp_path / 'top', f'b{uuid4().hex}')}/ck"
    return lambda: open_tree(url, STAGING, options_of(server))


def body_of(store: WritableStore, path: str) -> bytes | None:
    store.look_anew()
    return None if store.look(path) is None else b"".join(store.pieces(path))


every_store = pytest.mark.parametrize("opened", EVERY, indirect=True)
every_object_store = pytest.mark.parametrize("opened", OBJECTS, indirect=True)


@every_store
def test_what_is_there_is_told(opened: Open) -> None:
    store = opened()
    assert {path: body_of(store, path) for path in TREE} == TREE
    assert store.names("") == {"metadata": False, "empty": False, "offsets": True, "state": True}
    assert store.names("offsets") == {"0": False, "1": False}
    assert store.names("nothing") is None
    assert store.look("nothing") is None
    assert store.sizes_below("state") == {"state/0/0/1.delta": 5}
    assert store.reading().read("offsets/1") == b"one"


@every_store
def test_a_version_is_another_after_each_write(opened: Open) -> None:
    store = opened()
    first = store.look("metadata")
    assert first is not None
    store.replace("metadata", [b"new"], first.version, first.bearing)
    other = opened().look("metadata")
    mine = store.look("metadata")
    assert other is not None
    assert mine is not None
    assert other.version == mine.version != first.version
    assert other.sha256 == mine.sha256 != first.sha256


@every_store
def test_what_is_there_is_not_created(opened: Open) -> None:
    store, other = opened(), opened()
    assert store.look("offsets/2") is None
    other.create("offsets/2", [b"theirs"])
    with pytest.raises(AlreadyThere):
        store.create("offsets/2", [b"ours"])
    assert body_of(store, "offsets/2") == b"theirs"


@every_store
def test_a_file_gets_the_directories_that_it_takes(opened: Open) -> None:
    store = opened()
    store.create("_ckpt/applies/1/new/offsets/0", [b"whole ", b"body"])
    assert body_of(opened(), "_ckpt/applies/1/new/offsets/0") == b"whole body"
    assert (store.names("_ckpt/applies") or {}) == {"1": True}


@every_store
def test_what_was_changed_meanwhile_is_neither_replaced_nor_deleted(opened: Open) -> None:
    store, other = opened(), opened()
    for path in ("offsets/0", "offsets/1"):
        seen, theirs = store.look(path), other.look(path)
        assert seen is not None
        assert theirs is not None
        other.replace(path, [b"theirs"], theirs.version, theirs.bearing)
        with pytest.raises(Changed):
            store.replace(path, [b"ours"], seen.version, seen.bearing)
        with pytest.raises(Changed):
            store.delete(path, seen.version)
        assert body_of(store, path) == b"theirs"


@every_store
def test_what_is_deleted_is_gone(opened: Open) -> None:
    store = opened()
    found = store.look("offsets/0")
    assert found is not None
    store.delete("offsets/0", found.version)
    assert store.look("offsets/0") is None
    assert opened().look("offsets/0") is None
    assert opened().names("offsets") == {"1": False}


@every_store
def test_a_copy_has_the_same_bytes_and_tells_when_it_has_not(opened: Open) -> None:
    store = opened()
    found = store.look("state/0/0/1.delta")
    assert found is not None
    version = store.copy("state/0/0/1.delta", "_ckpt/copy", found)
    assert body_of(opened(), "_ckpt/copy") == b"delta"
    again = opened()
    copy = again.look("_ckpt/copy")
    assert copy is not None
    assert version is None or again.is_still("_ckpt/copy", version)
    again.replace("_ckpt/copy", [b"DELTA"], copy.version, copy.bearing)
    store.look_anew()
    assert version is None or not store.is_still("_ckpt/copy", version)


@every_object_store
def test_the_store_copies_what_was_not_read(opened: Open) -> None:
    """What was read in an earlier look is put there, what was not held is copied without a download."""
    store = opened()
    store.reading().stat("offsets/1")
    found = opened().look("offsets/1")
    assert found is not None
    before = store.requests["read"]
    store.copy("offsets/1", "_ckpt/copy", found)
    assert store.requests["read"] <= before + 1
    assert body_of(opened(), "_ckpt/copy") == b"one"


@every_store
def test_what_is_ours_goes_as_a_whole(opened: Open) -> None:
    store = opened()
    for name in ("a", "b", "below/c"):
        store.create(f"_ckpt/applies/1/{name}", [b"123"])
    assert store.remove_below("_ckpt/applies/1") == 9
    assert not opened().names("_ckpt/applies")
    assert {path: body_of(opened(), path) for path in TREE} == TREE


@every_store
def test_nothing_is_done_to_what_lies_elsewhere(opened: Open) -> None:
    store = opened()
    for path in ("../beside", "offsets/../../beside", "nul\0"):
        with pytest.raises((Refused, CkptError)):
            store.create(path, [b"x"])


@every_store
def test_a_directory_without_anything_goes_and_one_with_something_stays(opened: Open) -> None:
    store = opened()
    store.remove_directory("offsets")
    assert opened().names("offsets") == {"0": False, "1": False}
    for name in ("0", "1"):
        found = store.look(f"offsets/{name}")
        assert found is not None
        store.delete(f"offsets/{name}", found.version)
    store.remove_directory("offsets")
    assert opened().names("offsets") is None
    store.make_directory("made", Bearing(0o755))
    assert "made" in (opened().names("") or {})
    store.look_anew()
    store.remove_directory("made")
    assert "made" not in (opened().names("") or {})


@every_store
def test_the_clock_is_that_of_the_times(opened: Open) -> None:
    store = opened()
    found, clock = store.bearing_of("metadata"), store.clock_s("metadata")
    assert found is not None
    assert found.modified_ns is not None
    assert clock is not None
    assert -2 < clock - found.modified_ns / 1e9 < 300
    assert abs(clock - time.time()) < 300


@every_store
def test_of_many_who_create_one_does(opened: Open) -> None:
    stores, together = [opened() for _ in range(6)], Barrier(6)

    def create(number: int) -> bool:
        together.wait()
        try:
            stores[number].create("_ckpt/lock", [f"{number}".encode()])
        except AlreadyThere:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(create, range(6)))
    assert sum(made) == 1
    assert body_of(opened(), "_ckpt/lock") == f"{made.index(True)}".encode()


@every_object_store
def test_what_was_seen_is_not_asked_for_again_until_the_next_look(opened: Open) -> None:
    store = opened()
    for _ in range(3):
        assert {path: store.look(path) is not None for path in TREE} == dict.fromkeys(TREE, True)
        store.names("offsets")
        store.reading().read("offsets/0")
    assert store.requests["list"] == 1
    assert store.requests["read"] == len(TREE)
    store.look_anew()
    assert store.look("metadata") is not None
    assert (store.requests["list"], store.requests["read"]) == (2, len(TREE))


@pytest.mark.parametrize("opened", ["local", pytest.param("hdfs", marks=AT_LENGTH)], indirect=True)
def test_times_and_modes_can_be_given(opened: Open) -> None:
    store = opened()
    time_ns = 1_700_000_000_123_000_000
    store.create("offsets/2", [b"two"], Bearing(0o640, modified_ns=time_ns))
    found = opened().bearing_of("offsets/2")
    assert found is not None
    assert (found.mode, found.modified_ns) == (0o640, time_ns)
    assert store.set_time("offsets", time_ns)
    around = opened().bearing_of("offsets")
    assert around is not None
    assert around.modified_ns == time_ns
