"""Each law ends in one of five results, and nothing is passed that nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ckpttool.checkup.checkup import RESULTS
from ckpttool.laws.book import every
from tests.builders import build
from tests.unit.checkup.checkups import checked, results

SOUND = "k0-10 c | k10-20 c | k20-30 c"
STATEFUL = "4.2.0-windowed-agg-hdfs-sound"


def test_every_law_has_a_result(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, SOUND))
    assert [check.law.id for check in checkup.checks] == [law.id for law in every()]
    assert sum(checkup.counts[name] for name in RESULTS) == len(every())


def test_what_nobody_pointed_at_is_not_looked_at_and_says_which_option_would(tmp_path: Path) -> None:
    checks = {check.law.id: check for check in checked(build(tmp_path, SOUND)).checks}
    assert (checks["offset-aged-out"].result, checks["offset-aged-out"].look) == (
        "not_looked",
        "--bootstrap-server HOST:PORT",
    )
    assert (checks["txn-expired"].result, checks["txn-expired"].look) == ("not_looked", "--sink URL")
    assert checks["state-file-missing"].result == "not_applicable"


def test_the_inside_of_state_takes_the_longer_profile(sample: Callable[[str], Path]) -> None:
    root = sample(STATEFUL) / "checkpoint"
    quick, full = results(checked(root, profile="quick")), results(checked(root, profile="full"))
    assert (quick["state-file-corrupt"], full["state-file-corrupt"]) == ("not_looked", "passed")
    assert (quick["state-keys-miscounted"], full["state-keys-miscounted"]) == ("not_looked", "passed")
    assert quick["state-file-missing"] == "passed"


def test_what_older_batches_tell_is_not_passed_where_they_were_not_read(sample: Callable[[str], Path]) -> None:
    root = sample(STATEFUL) / "checkpoint"
    quick, full = results(checked(root, profile="quick")), results(checked(root, profile="full"))
    for id in ("watermark-stuck", "two-writers", "foreign-query"):
        assert (quick[id], full[id]) == ("not_looked", "passed")
    assert quick["previous-offset-missing"] == "passed"


def test_a_sink_that_cannot_be_read_passes_nothing(sample: Callable[[str], Path], tmp_path: Path) -> None:
    table = tmp_path / "table"
    (table / "_delta_log").mkdir(parents=True)
    (table / "_delta_log" / f"{0:020}.json").write_text("{")
    found = results(checked(sample("4.2.0-kafka-to-delta-sound") / "table" / "_checkpoint", [str(table)]))
    assert found["txn-expired"] in ("could_not", "found")
    assert "passed" not in {found["txn-expired"], found["sink-behind-checkpoint"]}


def test_where_there_is_no_structured_query_almost_nothing_applies(sample: Callable[[str], Path]) -> None:
    found = results(checked(sample("2.4.8-dstreams-sound") / "checkpoint"))
    assert found["previous-offset-missing"] == "not_applicable"
