"""The pytest plugin, in a pytest of its own: one test per point, the seed, and a failure that says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parts.spark import ensure_spark

pytest_plugins = ["pytester"]

SPARK = "4.2.0"
JOBS = Path(__file__).with_name("jobs")
TEST = """
import pytest

@pytest.mark.ckpt_crash("sound.py")
def test_sound(crash):
    crash.check()
"""


@pytest.mark.spark
@pytest.mark.crash
def test_points_are_crashed_and_judged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    (pytester.path / "sound.py").write_text((JOBS / "sound.py").read_text())
    ran = pytester.runpytest(
        "-p", "no:cacheprovider",
        "--ckpt-seed", "7",
        "--ckpt-python", str(ensure_spark(SPARK)),
        "--junit-xml", "report.xml",
        "-k", "commit-log-begin or sink-log-end or kafka-task",
    )  # fmt: skip
    ran.assert_outcomes(passed=2, skipped=2)
    report = (pytester.path / "report.xml").read_text()
    assert 'name="test_sound[commit-log-begin]"' in report
    assert "ckpt: seed 7" in ran.stdout.str()
