"""The lines of `ckpt scan`: a verdict for each checkpoint, and what is told of one that could not be looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.fleet.scan import Scan, Sighting
from ckpttool.model import Finding
from ckpttool.report.views.scan import scan_document
from tests.documents import shown

NOW, DAY = 1_700_000_000_000, 86_400_000
ROOT = "s3a://lake/checkpoints"
WARNING, NOTE = Finding("offset-regression", "warning", "offsets/2", "no"), Finding("mode-async", "info", ".", "so")
SOUND = Sighting(f"{ROOT}/orders", 0, "0a1b2c3d-4e5f", "microbatch", 12, 11, NOW - 2 * DAY, "replay", 12)
BLIND = Sighting(f"{ROOT}/dark", 5, error="permission denied", next_step="ask for it")


def text(*sightings: Sighting, root: str = ROOT) -> list[str]:
    return shown(scan_document(Scan(root, sightings), NOW)).splitlines()


@pytest.mark.parametrize(
    ("code", "findings", "verdict"),
    [
        (0, (), "sound"),
        (0, (NOTE,), "sound"),
        (0, (NOTE, WARNING), "warning"),
        (1, (WARNING,), "error"),
        (3, (), "unknown"),
        (4, (), "no access"),
        (5, (), "no access"),
        (6, (), "no access"),
    ],
)
def test_the_verdict_of_one(code: int, findings: tuple[Finding, ...], verdict: str) -> None:
    one = Sighting(f"{ROOT}/x", code, findings=findings)
    assert text(one)[0] == f"1 checkpoint: 1 {verdict}."
    assert text(one)[-1].startswith(f"{verdict}  ")
    assert fields(one)[0]["verdict"] == verdict


def fields(*sightings: Sighting) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown(scan_document(Scan(ROOT, sightings), NOW), "jsonl").splitlines()]


def test_the_first_line_counts_the_worst_first() -> None:
    broken = Sighting(f"{ROOT}/broken", 1)
    assert text(SOUND, BLIND, SOUND, broken)[0] == "4 checkpoints: 1 error, 1 no access, 2 sound."


def test_nothing_found_is_one_line_and_no_table() -> None:
    assert text() == [f"No checkpoint below {ROOT}."]


def test_a_row_names_the_place_below_the_root_and_numbers_are_aligned() -> None:
    _, _, head, first, second = text(SOUND, Sighting(f"{ROOT}/a/b", 0, last_commit_batch=1_000, newest_ms=NOW))
    assert first.split()[:4] == ["sound", "orders", "0a1b2c3d", "12"]
    assert second.split()[:4] == ["sound", "a/b", "-", "1000"]
    end = head.index("Last batch") + len("Last batch")
    assert first[:end].endswith("  12")
    assert second[:end].endswith(" 1000")
    assert first[: head.index("Age") + len("Age")].endswith(" 2 d")


def test_the_root_itself_is_a_dot() -> None:
    assert text(SOUND, root=f"{SOUND.url}/")[-1].split()[1] == "."


def test_of_what_was_not_looked_at_the_error_stands_in_the_place_of_findings() -> None:
    assert text(BLIND)[-1].split("  ")[-1].strip() == "permission denied"
    [told] = fields(BLIND)
    assert told["next_batch"] is None
    assert told["error"] == {"message": "permission denied", "next_step": "ask for it"}
    [seen] = fields(SOUND)
    assert seen["error"] is None
    assert seen["next_batch"] == {"outcome": "replay", "batch_id": 12, "not_looked_at": []}


def test_each_finding_is_named_once_and_notes_are_left_to_inspect() -> None:
    one = Sighting(f"{ROOT}/x", 0, findings=(WARNING, WARNING, NOTE))
    assert text(one)[-1].endswith("  offset-regression")
    assert [told["id"] for told in fields(one)[0]["findings"]] == [WARNING.id, WARNING.id, NOTE.id]


def test_a_clock_that_is_behind_makes_no_negative_age() -> None:
    ahead = Sighting(f"{ROOT}/x", 0, newest_ms=NOW + DAY)
    assert (fields(ahead)[0]["age_ms"], fields(BLIND)[0]["age_ms"]) == (0, None)


def test_what_the_scan_left_out_is_said_once() -> None:
    partly = Sighting(f"{ROOT}/x", 0, not_looked_at=("sinks",))
    assert "Not looked at: " in text(partly, partly)[1]
    assert not any("Not looked at" in line for line in text(SOUND, SOUND))


def scan(*sightings: Sighting, **more: Any) -> Scan:
    return Scan(ROOT, sightings, **more)


def test_where_nobody_looked_stands_below_the_count_with_the_first_places() -> None:
    beyond = tuple(f"{ROOT}/a/{number}" for number in range(30))
    document = scan_document(scan(SOUND, depth=4, beyond=beyond, partitions=(ROOT, f"{ROOT}/plain")), NOW)
    lines = shown(document).splitlines()
    assert lines[1] == "Not looked into, since --depth is 4: a/0, a/1, a/2 and 27 more."
    assert lines[2].endswith("which look like partitions of a table, in ., plain.")
    told = json.loads(shown(document, "json"))["not_looked_into"]
    assert (told["beyond_depth"], told["beyond_depth_count"]) == (list(beyond[:20]), 30)
    assert (told["with_partitions"], told["with_partitions_count"]) == ([ROOT, f"{ROOT}/plain"], 2)


def test_nothing_found_is_no_proof_where_nobody_looked() -> None:
    assert shown(scan_document(scan(depth=0, beyond=(f"{ROOT}/a",)), NOW)).splitlines() == [
        f"No checkpoint below {ROOT}.",
        "Not looked into, since --depth is 0: a.",
    ]


def test_deserted_is_what_is_older_and_nobody_knows_of_what_has_no_batch() -> None:
    never = Sighting(f"{ROOT}/never", 0)
    document = scan_document(scan(SOUND, never, BLIND), NOW, 2 * DAY - 1)
    assert shown(document).splitlines()[1] == "1 deserted: no batch for more than 47 h; of 1 nobody knows."
    assert [one["deserted"] for one in json.loads(shown(document, "json"))["checkpoints"]] == [True, None, None]
    assert [SOUND.is_deserted(NOW, after) for after in (2 * DAY - 1, 2 * DAY)] == [True, False]


def test_groups_are_told_with_three_of_their_checkpoints_and_twenty_of_them() -> None:
    many = [
        Sighting(f"{ROOT}/q{number}", 0, sources=tuple(("kafka", f"t{topic:02}") for topic in range(22)))
        for number in range(5)
    ]
    text = shown(scan_document(scan(*many), NOW))
    assert "\nShared\n  source kafka t00: q0, q1, q2 and 2 more\n" in text
    assert text.endswith("\n  … 2 more; all with --format json\n")
    assert "query id" not in text, "and nothing is said of copies where there are none"
