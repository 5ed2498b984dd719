"""A store of objects: directories out of names, in pages; and nothing asked for that a listing has told.

What all stores have to do is in tests/contract; here is what only objects can do.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ckpttool.errors import CkptError, LeftUnread, NotFound, Unavailable
from ckpttool.formats import limits
from ckpttool.storage.bodies import TooLong
from ckpttool.storage.objects import ObjectStore
from ckpttool.storage.remote import Backend
from tests.parts.bucket import ManyObjects

FILES = {
    "ck/commits/0": b"c0",
    "ck/metadata": b"{}",
    "ck/offsets/0": b"o0",
    "ck/offsets/1": b"o1",
    "ck/state/0/0/1.delta": b"delta",
    "ckx/other": b"beside it",
}


def bucket(more: Mapping[str, bytes] | None = None, page_size: int = 1000) -> ManyObjects:
    return ManyObjects(FILES | dict(more or {}), page_size)


def store_of(objects: ManyObjects) -> ObjectStore:
    return ObjectStore("s3://bucket/ck", Backend(), objects, ["ck"])


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_size", [1, 2, 3, 1000])
@pytest.mark.parametrize("parts", [(), ("commits", "offsets", "state")])
def test_directories_are_what_names_spell_whatever_a_page_holds(page_size: int, parts: tuple[str, ...]) -> None:
    store = store_of(bucket(page_size=page_size))
    store.survey(parts=parts)
    assert sorted(store.list()) == ["commits", "metadata", "offsets", "state"]
    assert (store.list("offsets"), store.list("state"), store.list("state/0/0")) == (["0", "1"], ["0"], ["1.delta"])


def test_after_a_survey_that_came_to_the_end_nothing_is_asked() -> None:
    objects = bucket()
    store = store_of(objects)
    store.survey()
    objects.asked.clear()
    assert store.list("state/0/0") == ["1.delta"]
    assert store.stat("offsets/7") is None
    with pytest.raises(NotFound):
        store.list("offsets/none")
    assert [type(body) for _, body in store.read_all(["commits/9", "sources/0/0"])] == [NotFound, NotFound]
    assert not objects.asked


def test_the_mark_of_a_directory_is_no_name_in_it() -> None:
    objects = bucket({"ck/": b"", "ck/empty/": b"", "ck/offsets/": b""})
    for look in (store_of(objects), store_of(objects)):
        assert look.list("empty") == []
        assert look.list("offsets") == ["0", "1"]
        assert "empty" in look.list()
        look.survey()


def test_marks_of_other_file_systems_are_not_shown() -> None:
    marks = {"ck/offsets_$folder$": b"", "ck/offsets/deeper_$folder$": b""}
    listed, surveyed = store_of(bucket(marks)), store_of(bucket(marks))
    surveyed.survey()
    for store in (listed, surveyed):
        assert sorted(store.list()) == ["commits", "metadata", "offsets", "state"]
        assert store.list("offsets") == ["0", "1"]


@pytest.mark.parametrize("page_size", [2, 1000])
def test_names_that_begin_alike_are_asked_for_by_their_beginning(page_size: int) -> None:
    """Where the first page is full of what one of them holds, the others are told all the same."""
    runs = {f"ck/run-{number}/{name}": b"" for number in range(1, 6) for name in "ab"}
    store = store_of(bucket({**runs, "ck/run-6": b"", "ck/run.log": b""}, page_size))
    assert sorted(store.list_starting("run-")) == [f"run-{number}" for number in range(1, 7)]
    assert store.list("run-2") == ["a", "b"]


def test_a_listing_that_does_not_end_is_cut_off() -> None:
    with limits.changed({"pages": 2}), pytest.raises(LeftUnread, match="pages of a listing"):
        store_of(bucket(page_size=1)).list()


def test_a_short_log_is_listed_whole() -> None:
    log = store_of(bucket()).list_log("offsets")
    assert (log.names, log.complete) == (["0", "1"], True)


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_what_a_listing_tells_of_a_body_is_not_asked_for() -> None:
    objects = bucket({"ck/offsets/2": b"", "ck/offsets/3": b"x" * 50})
    store = store_of(objects)
    store.list("offsets")
    objects.asked.clear()
    with limits.changed({"offsets": 49}):
        bodies = dict(store.read_all(["offsets/2", "offsets/3", "offsets/9"]))
    assert bodies["offsets/2"] == b""
    assert isinstance(bodies["offsets/3"], LeftUnread)
    assert isinstance(bodies["offsets/9"], NotFound)
    assert not objects.asked


def test_a_body_is_asked_for_once_however_often_it_is_named() -> None:
    objects = bucket()
    bodies = list(store_of(objects).read_all(["offsets/0", "metadata", "offsets/0"]))
    assert bodies == [("offsets/0", b"o0"), ("metadata", b"{}"), ("offsets/0", b"o0")]
    assert objects.asked == ["GET"] * 2


def test_what_was_fetched_before_is_given_out_once() -> None:
    objects = bucket()
    store = store_of(objects)
    store.prefetch(lambda: ["offsets/0"])
    objects.asked.clear()
    assert (store.read("offsets/0"), objects.asked) == (b"o0", [])
    assert (store.read("offsets/0"), objects.asked) == (b"o0", ["GET"])


def test_a_file_that_grew_beyond_the_limit_is_given_up() -> None:
    with limits.changed({"offsets": 1}), pytest.raises(LeftUnread):
        store_of(bucket()).read("offsets/0")


def test_a_part_of_a_file_is_that_part() -> None:
    assert store_of(bucket()).read_range("state/0/0/1.delta", 1, 4) == b"elt"


def test_files_that_changed_after_they_were_listed_are_told() -> None:
    objects = bucket()
    store = store_of(objects)
    store.survey()
    objects.bodies |= {"ck/offsets/0": b"OO", "ck/offsets/1": b"longer"}
    del objects.bodies["ck/commits/0"]
    bodies = dict(store.read_all(["offsets/0", "offsets/1", "commits/0", "metadata"]))
    assert store.changed == {"offsets/0", "offsets/1", "commits/0"}
    assert isinstance(bodies["commits/0"], NotFound)
    assert bodies["offsets/0"] == b"OO"


def test_where_a_store_tells_no_versions_another_size_is_a_change() -> None:
    objects = bucket()
    objects.sizes = {key: (size, "") for key, (size, _) in objects.sizes.items()}
    store = store_of(objects)
    store.survey()
    objects.bodies |= {"ck/offsets/0": b"OO", "ck/offsets/1": b"longer"}
    assert len(list(store.read_all(["offsets/0", "offsets/1"]))) == 2
    assert store.changed == {"offsets/1"}


class Refusing(ManyObjects):
    async def get(self, key: str, most: int, span: tuple[int, int] | None = None) -> tuple[bytes, str]:
        if key.endswith("offsets/0"):
            raise PermissionError("AccessDenied")
        return await super().get(key, most, span)


def test_a_body_that_may_not_be_read_stands_in_its_place_among_the_others() -> None:
    bodies = dict(store_of(Refusing(FILES)).read_all(["offsets/0", "offsets/1"]))
    assert bodies["offsets/1"] == b"o1"
    assert isinstance(bodies["offsets/0"], Unavailable)
    assert bodies["offsets/0"].message == "offsets/0 cannot be read: AccessDenied"


class Crowded(ManyObjects):
    """What has grown since it was listed does not fit beside the others."""

    async def get(self, key: str, most: int, span: tuple[int, int] | None = None) -> tuple[bytes, str]:
        found = await super().get(key, most, span)
        if key.endswith("offsets/0") and self.asked.count("GET") <= 2:
            raise TooLong
        return found


@pytest.mark.parametrize("is_announced", [False, True])
def test_a_body_that_does_not_fit_beside_the_others_is_fetched_alone(is_announced: bool) -> None:
    paths = [path.removeprefix("ck/") for path in FILES if path.startswith("ck/offsets/")]
    store = store_of(Crowded(FILES))
    if is_announced:
        store.prefetch(lambda: paths)
    bodies = dict(store.read_all(paths))
    assert bodies["offsets/0"] == FILES["ck/offsets/0"]
    assert not [body for body in bodies.values() if isinstance(body, Exception)]


# -- the way up --------------------------------------------------------------------------------------------------------


def test_above_the_bucket_is_nothing() -> None:
    store = store_of(bucket())
    assert sorted(store.at("..").list()) == ["ck", "ckx"]
    with pytest.raises(CkptError):
        store.at("../..").list()
