"""What we say a restart does, before it, and what real Spark then does.

Each sample is put back where it was made, its source gets something new, and its query is started again by the Spark
that wrote it. "Unknown" is the one answer that is never wrong; a batch that Spark fails in is not told by Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.samples.place import about, sample_names
from tests.samples.restart import Restart, restart_all
from tests.test_samples import inspect

pytestmark = pytest.mark.spark

STARTABLE = [name for name in sample_names() if about(name)["restart"]]


@cache
def restarted() -> dict[str, Restart]:
    first = {done.name: done for done in restart_all(STARTABLE)}
    # A query that was stopped before it ran anything, on a busy machine, tells nothing: it is started once more.
    silent = [name for name, done in first.items() if done.outcome == "unknown"]
    return first | {done.name: done for done in restart_all(silent)}


@pytest.mark.parametrize("name", STARTABLE)
def test_restart_does_what_we_said(name: str, sample: Callable[[str], Path]) -> None:
    said = inspect(name, sample).prediction
    done = restarted()[name]
    if said.outcome == "unknown":
        assert done.outcome == "error", "where Spark goes on, we should be able to tell"
    else:
        assert said.outcome == done.outcome, done.error
        assert said.outcome == "error" or said.batch_id == done.batch_id


# Errors with a condition got classes of their own in 4.0; before, Spark raised their superclass.
SUPERCLASSES = {"org.apache.spark.SparkIllegalStateException": "java.lang.IllegalStateException"}
# Which release raises what is decided by the prediction per release; the finding names the newest release's error.
OTHER_ERROR_BEFORE_4_2 = {"offset-log-lost", "state-directory-missing"}


@pytest.mark.parametrize(
    "name", [name for name in STARTABLE if about(name)["expect"]["next_batch"]["outcome"] == "error"]
)
def test_a_finding_names_the_error_that_spark_raises(name: str, sample: Callable[[str], Path]) -> None:
    findings = inspect(name, sample).findings
    named = {finding.spark.class_name for finding in findings if finding.spark and finding.severity != "info"}
    error = restarted()[name].error
    assert error is not None
    if about(name)["spark"] < "4.2" and OTHER_ERROR_BEFORE_4_2 & {finding.id for finding in findings}:
        return
    assert error["cause"] in named | {SUPERCLASSES.get(class_name) for class_name in named}
