"""A Spark that dies is told with the end of its log, and one that hung is there again at the next request."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Died, Late, Session
from tests.unit.harness.sessions import spark_in


def test_death_is_told_with_the_end_of_the_log(scratch: Scratch) -> None:
    program = "import sys; sys.exit('no Spark here')"
    with (
        scratch,
        Session(scratch, [sys.executable, "-c", program], os.environ) as session,
        pytest.raises(Died, match="no Spark here"),
    ):
        session.answer(30)


def test_the_next_request_after_a_hang_has_a_new_process(scratch: Scratch) -> None:
    with scratch, spark_in(scratch) as spark:
        first = spark.ask({}, 30)["pid"]
        assert spark.ask({}, 30)["pid"] == first
        with pytest.raises(Late):
            spark.ask({"hang": True}, 0.2)
        second = spark.ask({}, 30)["pid"]
        assert second != first
        assert not Path(f"/proc/{first}").exists()
        with pytest.raises(Died, match="out of memory"):
            spark.ask({"end": True}, 30)
        assert spark.ask({}, 30)["pid"] != second
