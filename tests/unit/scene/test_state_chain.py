"""What a version of the state rests on: bases, the changes on top of them, and what is still to be opened."""

from __future__ import annotations

import pytest

from ckpttool.scene.state_chain import (
    NO_FILE,
    Chain,
    Provider,
    StoreFiles,
    base_versions,
    chains,
    is_doubtful,
    loadable_versions,
    next_change,
    wanted_names,
)


def store(*names: str, provider: Provider = "hdfs", **more: object) -> StoreFiles:
    return StoreFiles(0, 0, "default", "state/0/0", provider, frozenset(names), **more)  # type: ignore[arg-type]


def test_the_newest_base_comes_first_and_the_empty_state_last() -> None:
    files = store("1.delta", "2.delta", "2.snapshot", "3.delta", "4.snapshot")
    assert base_versions(files, 3) == [2, 0]
    assert list(chains(files, 3)) == [
        Chain(2, "2.snapshot", ("3.delta",)),
        Chain(0, None, ("1.delta", "2.delta", "3.delta")),
    ]


def test_the_first_change_that_is_not_there_ends_a_chain() -> None:
    assert list(chains(store("1.delta", "3.delta"), 3)) == [Chain(0, None, ("1.delta",), missing="2.delta")]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (store("1.delta", "2.delta", "4.delta", "6.snapshot", "7.delta"), {1, 2, 6, 7}),
        (store("2.delta", "3.delta"), set()),
        (store("2.zip", "3.changelog", "5.changelog", provider="rocksdb"), {2, 3}),
        (store("1.delta", "2.snapshot.tmp", ".3.delta.crc", "_metadata"), {1}),
        (store(), set()),
    ],
)
def test_versions_whose_files_are_all_there_are_those_that_some_chain_reaches(
    files: StoreFiles, expected: set[int]
) -> None:
    assert loadable_versions(files) == frozenset(expected)
    assert expected == {version for version in range(1, 10) if any(not one.missing for one in chains(files, version))}


def test_which_versions_there_are_is_not_known_from_names_with_ids() -> None:
    assert loadable_versions(store("1_a.zip", provider="rocksdb", unique_id="a")) is None


def test_version_0_rests_on_nothing() -> None:
    assert list(chains(store(), 0)) == [Chain(0, None)]


def test_ids_are_followed_only_as_far_as_a_changelog_was_opened() -> None:
    names = ("1_a.zip", "2_b.changelog", "3_c.changelog", "3_other.changelog")
    closed = store(*names, provider="rocksdb", unique_id="c")
    assert list(chains(closed, 3)) == [Chain(0, None, ("3_c.changelog",))]
    assert wanted_names(closed, 3) == ("3_c.changelog",)
    opened = store(*names, provider="rocksdb", unique_id="c", lineage=((1, "a"), (2, "b")))
    assert next(chains(opened, 3)) == Chain(1, "1_a.zip", ("2_b.changelog", "3_c.changelog"))


def test_what_is_opened_is_not_wanted_again() -> None:
    names = ("1.delta", "2.snapshot", "3.delta")
    assert set(wanted_names(store(*names), 3)) == {"2.snapshot", "3.delta"}
    opened = frozenset({"2.snapshot", "3.delta"})
    assert wanted_names(store(*names, opened=opened), 3) == ()
    doubtful = store(*names, opened=opened, faults={"2.snapshot": NO_FILE})
    assert is_doubtful(doubtful, "2.snapshot")
    assert wanted_names(doubtful, 3) == ("1.delta",)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (store("3.delta"), "4.delta"),
        (store("3.zip", provider="rocksdb"), "4.zip"),
        (store("2.zip", "3.changelog", provider="rocksdb"), "4.changelog"),
    ],
)
def test_the_next_batch_writes_as_the_last_did(files: StoreFiles, name: str) -> None:
    assert next_change(files, 3) == name
