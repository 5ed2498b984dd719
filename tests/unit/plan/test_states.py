"""The state's files in a plan, by their names: what goes with a rewind, and what a later load would take up again."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.plan.states import has_later_base, later_versions, listing, obstacle, versions_everywhere, without
from ckpttool.scene.scene import Start
from ckpttool.scene.state_chain import StateFiles, StoreFiles

STORE = "state/0/0"


def files(*names: str, store: str = STORE) -> frozenset[str]:
    return frozenset(f"{store}/{name}" for name in names)


def looked_at(*stores: StoreFiles) -> dict[int, StateFiles]:
    return {3: StateFiles(3, "full", entries=None, stores=stores)}


def store(*names: str, partition: int = 0, **more: Any) -> StoreFiles:
    return StoreFiles(0, partition, "default", f"state/0/{partition}", "hdfs", frozenset(names), **more)


def test_later_versions_go_newest_first_and_snapshots_before_what_they_were_made_from() -> None:
    sound = files("2.delta", "3.delta", "4.delta", "4.snapshot", "4_abc.changelog", "note.txt")
    names = sound | files("3.delta.crc", ".5.delta.crc")
    assert later_versions(names, 2) == [
        f"{STORE}/{name}"
        for name in (".5.delta.crc", "4.snapshot", "4.delta", "4_abc.changelog", "3.delta", "3.delta.crc")
    ]
    assert later_versions(names, 5) == []
    assert later_versions(files("7.zip", store="state/1/3/left-keyToNumValues"), 2), "stores of a join lie deeper"
    assert later_versions(files("7.delta", store="elsewhere/0/0"), 2) == []


@pytest.mark.parametrize(
    ("name", "is_base"),
    [
        ("4.snapshot", True),
        ("4.zip", True),
        ("3.snapshot", False),
        ("4.delta", False),
        ("4_abc.zip", False),
        (f"{2**63}.zip", False),
    ],
)
def test_a_later_load_takes_up_whole_copies_under_their_plain_number(name: str, is_base: bool) -> None:
    assert has_later_base(files("1.delta", name), 3) is is_base


def test_a_version_is_kept_where_every_store_has_a_file_of_it() -> None:
    both = files("1.delta", "2.delta", "3.delta") | files("2.delta", "3.delta.crc", store="state/0/1")
    assert versions_everywhere(both, 0) == {2}
    assert versions_everywhere(both | files("9.delta", store="state/7/0"), 0) == {2}, "of this operator"
    assert versions_everywhere(both, 1) == frozenset()


def test_what_is_set_aside_is_not_there_any_more() -> None:
    one = store("2.delta", "3.delta", opened=frozenset({"3.delta"}), blocked="3.delta")
    other = store("3.delta", partition=1)
    left = without(looked_at(one, other), {f"{STORE}/3.delta"})
    assert listing(left) == files("2.delta") | files("3.delta", store="state/0/1")
    assert (left[3].stores[0].opened, left[3].stores[0].blocked) == (frozenset(), None)
    assert left[3].stores[1] == other


def test_nothing_of_the_state_is_left_without_its_directory() -> None:
    assert listing(without(looked_at(store("3.delta")), {"state"})) == frozenset()


def test_nobody_looked_at_a_version_that_is_not_there() -> None:
    assert listing({}) is None
    assert obstacle({}, 3, Start((4, 2, 0))) is None
