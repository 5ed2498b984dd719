"""The pytest plugin without a Spark: which tests there are, what they tell. With one: tests/crash/test_plugin.py."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.harness.judge import judge_case
from ckpttool.pytest_plugin import CrashAt
from tests.history_builders import Shape, sound_history
from tests.unit.cli.test_check_change import saved
from tests.unit.laws.changes.queries import QUERY, held

pytest_plugins = ["pytester"]

TEST = """
import pytest

@pytest.mark.ckpt_crash("orders.py")
def test_sound(crash):
    crash.check()

def test_of_something_else():
    pass
"""


def test_a_marked_test_becomes_one_for_each_point(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    listed = pytester.runpytest("--collect-only", "-q", "-p", "no:cacheprovider")
    listed.stdout.fnmatch_lines(["*::test_sound[[]offset-log-begin[]]", "*::test_sound[[]commit-log-end[]]"])
    assert sum("test_of_something_else" in line for line in listed.outlines) == 1


@pytest.mark.parametrize(("options", "is_told"), [((), False), (("--ckpt-seed", "7"), True)])
def test_a_seed_of_the_users_own_is_in_the_header(
    pytester: pytest.Pytester, options: tuple[str, ...], is_told: bool
) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    ran = pytester.runpytest("-p", "no:cacheprovider", *options)
    ran.assert_outcomes(passed=1)
    assert ("ckpt: seed 7" in ran.outlines) == is_told


def test_every_crash_at_the_point_has_to_be_sound() -> None:
    history = sound_history(Shape())
    sound = judge_case(history.run, history.case)
    CrashAt("offset-log-end", 1, [sound, sound]).check()
    rows = history.case.after.visible or ()
    lost = judge_case(history.run, replace(history.case, after=replace(history.case.after, visible=rows[1:])))
    with pytest.raises(AssertionError, match=r"^invalid: .*seed 5, image /images/9\)") as failed:
        CrashAt("offset-log-end", 5, [sound, replace(lost, case=replace(lost.case, image="/images/9"))]).check()
    assert lost.anomalies[0].message in str(failed.value)


DEPLOY = """
import pytest

@pytest.mark.ckpt_queries("jobs.json")
def test_it_may_be_deployed(ckpt_query, check_change):
    check_change(ckpt_query, was="jobs.json", accept=["query-renamed"])
"""


def test_each_query_of_a_job_is_held_against_what_is_deployed(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("deployed")
    saved(folder / "orders.json", held(), form="checkpoint")
    saved(pytester.path / "jobs.json", QUERY)
    pytester.makepyfile(DEPLOY)
    pytester.runpytest("--ckpt-deployed", "deployed", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    saved(folder / "orders.json", replace(held(), operators=()), form="checkpoint")
    ran = pytester.runpytest("--ckpt-deployed", "deployed", "-p", "no:cacheprovider")
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["Spark 4.3.0 will refuse this query in the batch that comes next: *"])
