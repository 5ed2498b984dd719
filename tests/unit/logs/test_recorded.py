"""What real Spark logged of queries that failed (`tests/differential/recording_logs.py`), in seven releases: which
query, checkpoint and release it was, and the law that a person who knows the failure names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ckpttool.laws.recognise import causes_of
from ckpttool.logs.driver_log import DriverLog, read_log
from ckpttool.logs.thrown import ThrownChain

LOGS = Path(__file__).parents[2] / "recorded_logs"
FACTS: dict[str, dict[str, Any]] = json.loads((LOGS / "facts.json").read_text())
CODECS = ("zstd", "lz4", "snappy", "lzf")  # of event logs
FORMS = {"log": "log", "json": "json-log", "event-log": "event-log", "txt": "text"} | dict.fromkeys(CODECS, "event-log")
OF_OWN_CODE = {
    "python-function",
    "python-in-a-task",
    "state-in-python",
    "transform-on-hdfs",
    "ansi-cast",
    "mode-changed",
}
AROUND = re.compile(r"Please, fill a bug report in|terminated with exception: (?:Writing job|Job) aborted")
LAWS = {
    "state-file-gone": "state-file-missing",
    "state-directory-gone": "state-directory-missing|state-file-missing",  # up to 3.5 only the file is missed
    "state-file-cut": "state-file-corrupt",
    "rocksdb-file-gone": "state-file-missing",
    "offsets-cut": "newest-offsets-malformed",
    "offsets-empty": "newest-offsets-malformed",
    "offsets-too-new": "log-version-too-new|newest-offsets-malformed",
    "offsets-gone": "previous-offset-missing",
    "offsets-malformed": "replayed-range",
    "commit-empty": "newest-commit-malformed",
    "commit-ahead": "commit-write|two-writers",  # which only the checkpoint tells apart
    "metadata-gone": "metadata-missing",
    "metadata-cut": "metadata-corrupt",
    "source-log-gone": "replayed-range",
    "sink-log-gone": "spark-metadata-missing-or-moved",
    "location-not-empty": "location-not-empty",
    "two-at-once": "commit-write|two-writers",
    "key-changed": "operator-schema-changed",
    "value-changed": "operator-schema-changed",
    "operator-changed": "operator-changed|operator-schema-changed",
    "operator-added": "operator-changed|operator-never-committed",  # up to 3.5 it is looked for like any other
    "source-added": "source-count-changed",
    "memory-sink": "memory-sink",
}


def case_of(name: str) -> str:
    return name.partition("-")[2].partition(".")[0]


def laws_of(name: str) -> set[str]:
    return set(LAWS[case_of(name)].split("|"))


def tells_the_cause(name: str) -> bool:
    """Python's own trace of 3.3 often has only what is around it: `Writing job aborted`."""
    is_short = name.startswith("3.3") and name.endswith(".txt")
    return not (is_short and AROUND.search((LOGS / name).read_text()))


def read(name: str) -> DriverLog:
    return read_log([(LOGS / name).read_bytes()])


def failure_in(name: str) -> ThrownChain:
    return read(name).failures[0]


def test_there_are_enough_of_them() -> None:
    assert {path.name for path in LOGS.iterdir()} == {*FACTS, "facts.json"}
    assert len(FACTS) >= 60
    assert len({fact["release"] for fact in FACTS.values()}) == 7
    assert {case_of(name) for name in FACTS} == LAWS.keys() | OF_OWN_CODE


@pytest.mark.parametrize("name", FACTS)
def test_which_query_it_was(name: str) -> None:
    fact, log = FACTS[name], read(name)
    form = name.rpartition(".")[2]
    assert log.form == FORMS[form]
    if form != "txt":
        assert log.release == fact["release"]
        assert (log.checkpoint or "").removeprefix("file:") in ("", fact["checkpoint"])
    if log.query and fact["id"]:
        assert log.query.id == fact["id"]
    if form in ("log", "json") and fact["id"]:
        assert log.query
        assert log.checkpoint


@pytest.mark.parametrize("codec", CODECS)
def test_an_event_log_that_was_cut_short_is_read_as_far_as_it_goes(codec: str) -> None:
    """Its driver died. What is not there is told."""
    (packed,) = LOGS.glob(f"*.{codec}")
    log = read_log([packed.read_bytes()[:-40]])
    assert log.cut


@pytest.mark.parametrize("name", FACTS)
def test_the_condition_is_that_of_the_cause(name: str) -> None:
    """Python's own exception tells that of what is around it."""
    condition = FACTS[name]["condition"]
    if condition not in (None, "STREAM_FAILED") and not condition.startswith("_LEGACY"):
        assert condition in failure_in(name).conditions


@pytest.mark.parametrize("name", [name for name in FACTS if case_of(name) in LAWS and tells_the_cause(name)])
def test_the_law_is_among_the_first_causes(name: str) -> None:
    named = [cause.law.id for cause in causes_of(failure_in(name).text)]
    assert not laws_of(name).isdisjoint(named[:3])


@pytest.mark.parametrize("name", [name for name in FACTS if case_of(name) in OF_OWN_CODE])
def test_what_is_of_no_checkpoint_is_taken_for_no_law(name: str) -> None:
    assert causes_of(failure_in(name).text) == ()


def test_it_is_nearly_always_the_first() -> None:
    names = [name for name in FACTS if case_of(name) in LAWS and tells_the_cause(name)]
    first = [name for name in names if causes_of(failure_in(name).text)[0].law.id in laws_of(name)]
    assert len(first) / len(names) > 0.9, sorted(set(names) - set(first))


@pytest.mark.parametrize("name", [name for name in FACTS if not tells_the_cause(name)])
def test_of_what_is_around_nothing_is_guessed(name: str) -> None:
    assert causes_of(failure_in(name).text) == ()
