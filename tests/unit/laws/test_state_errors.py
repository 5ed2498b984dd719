"""What each release raises for each thing that can be wrong with a state file."""

from __future__ import annotations

import pytest

from ckpttool.laws.state_errors import RAISED, UNCATEGORIZED, what_is_raised
from ckpttool.model import SparkError
from ckpttool.releases import Release, parse_release
from ckpttool.scene.state_chain import NO_FILE, NOT_A_FILE, Fault

RELEASES = [parse_release(text) for text in ("3.3.4", "3.5.7", "4.0.4", "4.1.3", "4.2.0", "4.3.0")]
NEW: Release = (4, 2, 0)
LOAD = "CANNOT_LOAD_STATE_STORE."


def test_each_table_covers_every_release_once() -> None:
    for table in (*RAISED.values(), UNCATEGORIZED):
        for release in [(2, 0, 0), (3, 2, 0), (3, 4, 0), *RELEASES]:
            assert sum(one.since <= release < one.until for one in table) == 1


@pytest.mark.parametrize(
    ("release", "condition"),
    [
        ((3, 3, 4), None),
        ((3, 4, 0), "_LEGACY_ERROR_TEMP_2258"),
        ((3, 5, 7), "_LEGACY_ERROR_TEMP_2258"),
        ((4, 0, 0), f"{LOAD}CANNOT_READ_DELTA_FILE_KEY_SIZE"),
    ],
)
def test_an_error_that_got_a_provisional_name_first(release: Release, condition: str | None) -> None:
    said, message = what_is_raised(Fault("key-size", "no"), "state/0/0/2.delta", release)
    assert (said.condition, message) == (condition, "key size cannot be")


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        ("state/0/0/2.delta", "CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
        ("state/0/0/2.changelog", "CANNOT_READ_STREAMING_STATE_FILE"),
        ("state/0/0/2.zip", "UNCATEGORIZED"),
        ("state/0/0/other", "UNCATEGORIZED"),
    ],
)
def test_the_same_trouble_goes_by_the_kind_of_file(path: str, condition: str) -> None:
    assert what_is_raised(NO_FILE, path, NEW)[0] == SparkError("java.io.FileNotFoundException", f"{LOAD}{condition}")


def test_a_directory_in_the_place_of_a_file_is_missed_as_a_file() -> None:
    path = "state/0/0/2.delta"
    assert what_is_raised(NOT_A_FILE, path, NEW) == what_is_raised(NO_FILE, path, NEW)


def test_where_spark_has_no_words_the_library_below_is_heard() -> None:
    fault = Fault("stream", "no", spark=SparkError("java.lang.NumberFormatException"))
    said, message = what_is_raised(fault, "state/0/0/2.delta", NEW)
    assert said == SparkError("java.lang.NumberFormatException", f"{LOAD}UNCATEGORIZED")
    assert message == "For input string:"


def test_what_spark_meets_may_be_another_thing_than_what_is_wrong() -> None:
    met = what_is_raised(NO_FILE, "state/0/0/2_a.changelog", (4, 1, 3), "no-base")[0]
    assert met.condition == f"{LOAD}CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT"


def test_what_is_wrong_with_a_file_of_the_driver_keeps_the_condition_that_it_has() -> None:
    malformed = SparkError("org.apache.spark.SparkIllegalStateException", "MALFORMED_LOG_FILE")
    fault = Fault("stream", "no version", spark=malformed)
    assert what_is_raised(fault, "state/0/_metadata/v2/0", NEW, "metadata")[0] == malformed
    assert what_is_raised(fault, "state/0/0/2.delta", NEW)[0].condition == f"{LOAD}UNCATEGORIZED"


@pytest.mark.parametrize(
    ("release", "class_name"),
    [((4, 0, 4), "java.lang.AssertionError"), ((4, 1, 3), "java.io.EOFException"), (NEW, "java.io.EOFException")],
)
def test_only_4_0_asks_a_changelog_that_has_none_for_its_lineage(release: Release, class_name: str) -> None:
    fault = Fault("stream", "no", spark=SparkError("java.io.EOFException"))
    said, _ = what_is_raised(fault, "state/0/0/2_d0153d13.changelog", release, "no-lineage")
    assert said == SparkError(class_name, f"{LOAD}UNCATEGORIZED")
