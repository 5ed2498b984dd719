"""No line tells to give an option that was given, whichever it was: those that not every checkpoint can be given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coherence.laws import given_again
from tests.coherence.tables import PENDING, Record, delta_table, stateful_query
from tests.coherence.told import Told

Sample = Callable[[str], Path]
NOBODY = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "0.1")


@pytest.mark.parametrize("name", ["4.2.0-file-to-parquet-sound", "4.2.0-windowed-agg-hdfs-state-directory-missing"])
@pytest.mark.parametrize("wish", [("--to-batch", "3"), ("--to-time", "2026-11-18T12:01:42Z")], ids=["batch", "time"])
def test_where_to_go_back_to(name: str, wish: tuple[str, str], sample: Sample) -> None:
    assert list(given_again(Told(sample(name) / "checkpoint"), "plan-recovery", *wish)) == []


@pytest.mark.parametrize("command", ["plan-recovery", "kafka diff"])
def test_a_broker(command: str, sample: Sample) -> None:
    told = Told(sample("4.2.0-kafka-to-kafka-sound") / "checkpoint")
    assert list(given_again(told, command, *NOBODY)) == []


def test_a_sinks_id_of_an_application(tmp_path: Path) -> None:
    checkpoint = stateful_query(tmp_path)
    table = delta_table(checkpoint, Record(PENDING))
    options = ("--sink", str(table), "--txn-app-id", "another")
    assert list(given_again(Told(checkpoint), "plan-recovery", *options)) == []
