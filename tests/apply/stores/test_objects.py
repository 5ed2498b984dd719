"""Changes in a store of objects whose answers get lost, and what is remembered of one look."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from threading import Barrier, BrokenBarrierError

import pytest
from fsspec.asyn import get_loop, sync

from ckpttool.apply.stores.base import AlreadyThere, Changed, Whole, together
from ckpttool.apply.stores.objects import ObjectTree, Otherwise
from ckpttool.apply.stores.seen import Seen
from ckpttool.errors import Unavailable
from ckpttool.storage.bodies import TooLong
from ckpttool.storage.buckets import Entry, Page
from ckpttool.storage.remote import Backend

Trouble = Callable[[str], str | None]


class Shelf:
    """A bucket in memory that keeps conditions. `trouble`: told which request it is, says whether it fails before
    (`never`) or after it is done (`lost`), or is refused (`denied`)."""

    def __init__(self, bodies: dict[str, bytes]) -> None:
        self.loop = get_loop()
        self.asked: Counter[str] = Counter()
        self.trouble: Trouble = lambda _: None
        self.is_deaf = False
        self._numbers = count(1)
        self.held = {key: (body, next(self._numbers)) for key, body in bodies.items()}

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:  # noqa: ARG002
        self.asked["page"] += 1
        names = [key for key in sorted(self.held) if key.startswith(prefix) and key > (token or "")]
        shown = names[:3]
        return Page([self._entry(key) for key in shown], [], shown[-1] if len(names) > 3 else None)

    async def get(self, key: str, most: int, span: tuple[int, int] | None = None) -> tuple[bytes, str]:
        self.asked["get"] += 1
        if self.is_deaf:
            raise ConnectionError
        if key not in self.held:
            raise FileNotFoundError
        body, version = self.held[key]
        part = body[slice(*span) if span else slice(None)]
        if len(part) > most:
            raise TooLong
        return part, str(version)

    async def exists(self, key: str) -> bool:
        return key in self.held

    async def head(self, key: str) -> Entry | None:
        self.asked["head"] += 1
        return self._entry(key) if key in self.held else None

    async def clock_s(self, key: str) -> float | None:  # noqa: ARG002
        return None

    async def put(self, key: str, body: Whole, version: str | None) -> str:
        fails = self._begin("put")
        found = self.held.get(key)
        if (str(found[1]) if found else None) != version:
            raise Otherwise
        data = body.anew()
        self.held[key] = (data if isinstance(data, bytes) else data.read(), next(self._numbers))
        self._end(fails)
        return str(self.held[key][1])

    async def delete(self, key: str, version: str) -> None:
        fails = self._begin("delete")
        if key not in self.held or str(self.held[key][1]) != version:
            raise Otherwise
        del self.held[key]
        self._end(fails)

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        fails = self._begin("copy")
        self.held[target] = (self.held[entry.key][0], next(self._numbers))
        self._end(fails)
        return str(self.held[target][1]), True

    def _begin(self, name: str) -> str | None:
        self.asked[name] += 1
        fails = self.trouble(name)
        if fails == "never":
            raise ConnectionError
        if fails == "denied":
            raise PermissionError("ExpiredToken")
        return fails

    @staticmethod
    def _end(fails: str | None) -> None:
        if fails == "lost":
            raise TimeoutError

    def _entry(self, key: str) -> Entry:
        body, version = self.held[key]
        return Entry(key, len(body), 0, key.endswith("/"), str(version))


def first(fails: str, times: int = 1) -> Trouble:
    """Only the first requests."""
    numbers = count()
    return lambda _: fails if next(numbers) < times else None


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckpttool.apply.stores.objects._FIRST_PAUSE_S", 0.0)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf({"q/metadata": b"old", "q/offsets/0": b"zero"})


@pytest.fixture
def tree(shelf: Shelf) -> ObjectTree:
    return ObjectTree("s3://b/q", Backend(), shelf, ["q"])


@pytest.mark.parametrize("fails", ["never", "lost"])
def test_an_answer_that_does_not_come_is_neither_yes_nor_no(shelf: Shelf, tree: ObjectTree, fails: str) -> None:
    found = tree.look("metadata")
    assert found is not None
    shelf.trouble = first(fails)
    tree.replace("metadata", [b"new"], found.version, found.bearing)
    shelf.trouble = first(fails)
    tree.create("offsets/1", [b"one"])
    shelf.trouble = first(fails)
    other = tree.look("offsets/0")
    assert other is not None
    tree.delete("offsets/0", other.version)
    assert {key: body for key, (body, _) in shelf.held.items()} == {"q/metadata": b"new", "q/offsets/1": b"one"}
    assert tree.look("offsets/0") is None
    assert b"".join(tree.pieces("metadata")) == b"new"


def test_a_no_to_what_the_client_repeated_by_itself_is_a_yes(shelf: Shelf, tree: ObjectTree) -> None:
    """Its first try was done, of which we never heard."""
    assert tree.look("lock") is None
    shelf.held["q/lock"] = (b"mine", 77)
    tree.create("lock", [b"mine"])
    with pytest.raises(AlreadyThere):
        tree.create("lock", [b"another"])


def test_what_may_have_been_done_is_not_remembered_as_it_was(shelf: Shelf, tree: ObjectTree) -> None:
    found = tree.look("metadata")
    assert found is not None
    shelf.trouble = lambda name: "lost" if name == "put" else None
    shelf.is_deaf = True
    with pytest.raises(Unavailable):
        tree.replace("metadata", [b"fence"], found.version, found.bearing)
    shelf.is_deaf = False
    assert b"".join(tree.pieces("metadata")) == b"fence"


def test_what_is_refused_is_not_tried_again(shelf: Shelf, tree: ObjectTree) -> None:
    shelf.trouble = lambda _: "denied"
    with pytest.raises(Unavailable, match="cannot be written: ExpiredToken"):
        tree.create("offsets/1", [b"one"])
    assert shelf.asked["put"] == 1


def test_somebody_elses_write_is_not_ours(shelf: Shelf, tree: ObjectTree) -> None:
    found = tree.look("metadata")
    assert found is not None
    shelf.held["q/metadata"] = (b"theirs", 99)
    shelf.trouble = first("never")
    with pytest.raises(Changed):
        tree.replace("metadata", [b"ours"], found.version, found.bearing)
    with pytest.raises(Changed):
        tree.delete("metadata", found.version)
    assert shelf.held["q/metadata"][0] == b"theirs"


def test_what_we_hold_is_put_and_the_rest_is_copied_by_the_store(shelf: Shelf, tree: ObjectTree) -> None:
    held = tree.look("metadata")
    assert held is not None
    tree.copy("metadata", "_ckpt/a", held)
    assert (shelf.asked["put"], shelf.asked["copy"]) == (1, 0)
    other = ObjectTree("s3://b/q", Backend(), shelf, ["q"])
    other.names("")
    other.copy("metadata", "_ckpt/b", held)
    assert shelf.asked["copy"] == 1
    assert shelf.held["q/_ckpt/b"][0] == b"old"


# -- one look ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def many() -> tuple[Shelf, Seen]:
    shelf = Shelf({f"q/{folder}/{number}": b"x" for folder in ("a", "b") for number in range(4)})
    return shelf, Seen(shelf, shelf.head, "q/", Counter())


def ask(seen: Seen, key: str) -> Entry | None:
    found: Entry | None = sync(seen.loop, seen.entry, key)
    return found


def test_what_a_page_did_not_get_to_is_asked_for_by_itself(many: tuple[Shelf, Seen]) -> None:
    shelf, seen = many
    assert ask(seen, "q/a/1") is not None
    assert ask(seen, "q/b/3") is not None
    assert ask(seen, "q/b/9") is None
    assert ask(seen, "q/b/9") is None
    assert (shelf.asked["page"], shelf.asked["head"]) == (1, 2)


def test_a_surveyed_directory_is_asked_for_at_once(many: tuple[Shelf, Seen]) -> None:
    shelf, seen = many
    sync(seen.loop, seen.survey, "q/b/")
    pages = shelf.asked["page"]
    assert ask(seen, "q/b/3") is not None
    assert ask(seen, "q/b/9") is None
    page = sync(seen.loop, lambda: seen.page("q/b/", flat=False))
    assert [entry.key for entry in page.entries] == ["q/b/0", "q/b/1", "q/b/2", "q/b/3"]
    assert (shelf.asked["page"], shelf.asked["head"]) == (pages, 0)


def test_a_body_is_read_once_in_a_version(many: tuple[Shelf, Seen]) -> None:
    shelf, seen = many

    async def twice() -> None:
        await seen.entry("q/a/1")
        for _ in range(2):
            await seen.get("q/a/1", 10)

    for _ in range(2):
        sync(seen.loop, twice)
        seen.look_anew()
    assert shelf.asked["get"] == 1
    shelf.held["q/a/1"] = (b"other", 99)
    sync(seen.loop, twice)
    assert shelf.asked["get"] == 2
    with pytest.raises(TooLong):
        sync(seen.loop, lambda: asyncio.wait_for(seen.get("q/a/1", 2), 10))


def test_what_we_did_ourselves_is_known(many: tuple[Shelf, Seen]) -> None:
    shelf, seen = many
    seen.note(Entry("q/new", 3, None, False, "7"), b"new")
    seen.note_gone("q/a/0")
    assert ask(seen, "q/a/0") is None
    assert ask(seen, "q/new") is not None
    assert sync(seen.loop, lambda: seen.get("q/new", 10)) == (b"new", "7")
    assert (shelf.asked["head"], shelf.asked["get"]) == (0, 0)


def test_of_large_bodies_one_is_laid_down_at_a_time(tree: ObjectTree, shelf: Shelf) -> None:
    """However many are copied at once from elsewhere: each is sent as a whole, and more than once if need be."""
    together_on_disk = Barrier(2)

    def large() -> Iterator[bytes]:
        yield bytes(5 * 2**20)
        with suppress(BrokenBarrierError):
            together_on_disk.wait(0.3)
            raise AssertionError("two of them")
        yield b"the rest"

    troubles = iter(["lost", "never"])
    shelf.trouble = lambda name: next(troubles, None) if name == "put" else None
    assert together(tree, lambda name: tree.create(name, large()), ["a", "b"]) == [None, None]
    assert {len(body) for key, (body, _) in shelf.held.items() if key in ("q/a", "q/b")} == {5 * 2**20 + 8}


def test_what_is_looked_at_is_not_held(tree: ObjectTree, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece at a time; and of one version."""
    monkeypatch.setattr("ckpttool.apply.stores.seen.PIECE_BYTES", 3)
    shelf.held["q/state/0"] = (b"0123456789", 50)
    pieces = tree.pieces("state/0")
    before = shelf.asked["get"]
    assert next(pieces) == b"012"
    assert shelf.asked["get"] == before + 1
    shelf.held["q/state/0"] = (b"abcdefghij", 51)
    with pytest.raises(Changed):
        list(pieces)
    found = tree.look("state/0")
    assert found is not None
    assert found.sha256 == sha256(b"abcdefghij").hexdigest()
