"""A cause stands above the findings that come of it, in text and in JSON."""

from __future__ import annotations

from pathlib import Path

from ckpttool.report.views.causes import causes_fields
from tests.conftest import run_ckpt
from tests.samples.place import place_sample
from tests.unit.causes.happenings import ms, remove_older_than
from tests.unit.checkup.checkups import checked


def aged(root: Path) -> Path:
    place = place_sample("4.2.0-file-to-parquet-sound", root)
    remove_older_than(place, ms(place / "commits" / "0"))
    return place


def test_json_names_the_findings_that_a_cause_explains(tmp_path: Path) -> None:
    (fields,) = causes_fields(checked(aged(tmp_path)).diagnosis.causes)
    assert (fields["id"], fields["sure"]) == ("deleted-by-age", "likely")
    assert {"id": "metadata-missing", "path": "metadata"} in fields["explains"]
    assert fields["would_tell"]


def test_what_is_below_a_cause_stands_deeper(tmp_path: Path) -> None:
    lines = run_ckpt("doctor", str(aged(tmp_path))).out.splitlines()
    at = lines.index("cause    deleted-by-age  (likely)")
    assert any(line.startswith("  error    metadata-missing") for line in lines[at:])
    assert any(line.startswith("warning  temporary-location") for line in lines[at:])
