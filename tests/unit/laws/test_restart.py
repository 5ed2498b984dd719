"""The common rule of restarts, case by case, as Spark's recovery decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.laws.restart import choose_release
from ckpttool.releases import NEWEST, Release
from tests.builders import build
from tests.unit.laws.scenes import next_batch


@pytest.mark.parametrize(
    ("story", "outcome", "batch"),
    [
        ("", "fresh_start", 0),
        ("k0-10", "replay", 0),
        ("k0-10 c", "new_batch", 1),
        ("k0-10 c | k10-20", "replay", 1),
        ("k0-10 c | k10-20 c", "new_batch", 2),
        ("k0-10 c | k10-20 | k20-30", "replay", 2),  # only the newest runs again
        ("k0-10 | k10-20", "replay", 1),  # no commit at all
        ("b7 k0-10 c | k10-20 c", "new_batch", 9),  # older files were purged
        ("k0-10 c | lost c | k20-30 c", "error", None),  # the batch before the newest is needed
        ("k0-10 c | k10-20 c | lost c", "error", 1),  # runs batch 1 again and cannot commit it
        ("lost c | lost c", "error", None),
        ("b1 k0-10 c", "error", None),
        ("k0-10 c | k10-20 - c", "error", None),  # not the same number of sources
    ],
)
def test_next_batch_follows_from_the_two_logs(tmp_path: Path, story: str, outcome: str, batch: int | None) -> None:
    predicted = next_batch(build(tmp_path, story))
    assert (predicted.outcome, predicted.batch_id) == (outcome, batch)
    assert predicted.why


def test_asynchronous_progress_goes_on_across_its_gaps(tmp_path: Path) -> None:
    predicted = next_batch(build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c"))
    assert (predicted.outcome, predicted.batch_id) == ("new_batch", 10)


def test_that_a_query_for_whose_state_a_provider_was_chosen_has_none_is_taken_for_granted(tmp_path: Path) -> None:
    newest = build(tmp_path, "k0-10 c | k10-20 c") / "offsets" / "1"
    assert not any("no state" in one for one in next_batch(tmp_path).assumes)
    newest.write_text(newest.read_text().replace("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider"))
    assert "the query has no state: there is no state/, though offsets/1 pins RocksDBStateStoreProvider for it" in (
        next_batch(tmp_path).assumes
    )


def test_asynchronous_replay_covers_the_gap(tmp_path: Path) -> None:
    predicted = next_batch(build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90"))
    assert (predicted.outcome, predicted.batch_id) == ("replay", 9)


@pytest.mark.parametrize(("spark", "chosen"), [("2.3.4", (NEWEST, "default")), ("2.4.8", ((2, 4, 8), "inferred"))])
def test_a_release_that_no_rule_covers_is_not_said_to_have_written_it(
    tmp_path: Path, spark: str, chosen: tuple[Release, str]
) -> None:
    evidence = gather_evidence(open_checkpoint(str(build(tmp_path, "k0-10 c", spark=spark))))
    assert choose_release(evidence, None) == chosen


@pytest.mark.parametrize(
    ("line", "options", "kind"),
    [
        ('{"t":{"0":20}}', {}, "kafka"),
        ("null", {}, "kafka"),  # as its beginning says
        ('{"hub":{"0":20}}', {"eventhubs.consumerGroup": "g"}, "eventhubs"),
    ],
)
def test_a_range_is_told_with_the_kind_of_its_source_whatever_the_line_looks_like(
    tmp_path: Path, line: str, options: dict[str, str], kind: str
) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    newest = root / "offsets" / "1"
    newest.write_text("\n".join([*newest.read_text().split("\n")[:2], line]))
    said = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0), options=options)))
    assert [source.kind for source in said.prediction.sources] == [kind]
