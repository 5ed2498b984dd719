"""A job that loses rows is found out, and the crash that shows it is made as small as it can be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.parts.spark import ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
JOB = Path(__file__).with_name("jobs") / "loses.py"


def test_a_loss_is_found_and_made_small(tmp_path: Path) -> None:
    """By its image and by its seed it is there again, each time with the one row that is left."""
    scratch = tmp_path / "scratch"
    options = ["--python", str(ensure_spark(SPARK)), "--scratch", str(scratch), "--seed", "7"]
    ran = run_ckpt("crash-test", "run", "--job", str(JOB), *options)
    assert ran.code == 1, ran.err
    assert "seed 7" in ran.err
    assert "row-lost (P1): 4 rows not in the sink" in ran.out
    smallest = ran.out[ran.out.index("The smallest that still fails with row-lost") :]
    assert "an input of 1 batch, 1 row in each, and 1 partition after a shuffle" in smallest
    (image,) = re.findall(r"again: ckpt crash-test replay (.*)", smallest)
    for words in ([image], ["7", "--scratch", str(scratch)]):
        again = run_ckpt("crash-test", "replay", *words, "--format", "json")
        assert again.code == 1
        (point,) = json.loads(again.out)["points"]
        assert [(one["anomaly"], one["rows"]) for one in point["witnesses"]] == [("row-lost", [{"order": 7000}])]
        assert point["batch_id"] == 0
