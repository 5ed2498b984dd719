"""Any command, on trial by its specification: a script that starts its own Spark, and knows nothing of us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.parts.spark import ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
JOBS = Path(__file__).with_name("jobs")


def test_a_script_that_starts_its_own_spark(tmp_path: Path) -> None:
    """Every point of its second batch; and one case again from its image. The checkpoint lies in the sink."""
    spec = specification(tmp_path, "by_itself.py", checkpoint="{scratch}/out/_checkpoint")
    scratch = tmp_path / "scratch"
    ran = run_ckpt("crash-test", "run", "--spec", str(spec), "--scratch", str(scratch), "--format", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["spark_version"]) == (0, SPARK), ran.err
    points = report["points"]
    assert {point["window"] for point in points} >= {"rebuilt", "replayed", "doubled", "done"}
    assert {point["batch_id"] for point in points if point["mode"] == "image"} == {1}
    assert report["summary"]["predictions"]["differ"] == 0
    # Points at which the same lies on the disk share one run of the command.
    runs = [point for point in points if point["seconds"]]
    assert 4 <= len(runs) < len(points) / 2
    assert [row["id"] for row in read(scratch / "work" / "orders" / "out")] == list(range(6))

    image = next(path for path in (scratch / "images" / "orders").iterdir() if "commit-log-begin" in path.name)
    again = run_ckpt("crash-test", "replay", str(image), "--format", "json")
    assert [point["verdict"] for point in json.loads(again.out)["points"]] == ["valid"]


def test_a_script_that_doubles_rows_is_made_small(tmp_path: Path) -> None:
    """Two files of three lines; one line of one file is enough to show it."""
    spec, scratch = specification(tmp_path, "appends_by_itself.py", checkpoint="{scratch}/checkpoint"), tmp_path / "s"
    ran = run_ckpt("crash-test", "run", "--spec", str(spec), "--scratch", str(scratch), "--format", "json")
    assert ran.code == 1, ran.err
    (smallest,) = json.loads(ran.out)["smallest"]
    assert smallest["anomaly"] == "row-duplicated"
    assert (smallest["batches"], smallest["rows"]) == (1, 1)
    again = run_ckpt("crash-test", "replay", smallest["image"], "--format", "json")
    assert again.code == 1
    (point,) = json.loads(again.out)["points"]
    assert [(one["anomaly"], one["rows"]) for one in point["witnesses"]] == [("row-duplicated", [{"id": 0}])]


def specification(folder: Path, script: str, checkpoint: str) -> Path:
    """Of a script that reads two files of three rows."""
    (folder / "rows").mkdir()
    for batch in range(2):
        lines = (json.dumps({"id": 3 * batch + number}) for number in range(3))
        (folder / "rows" / f"{batch}.json").write_text("\n".join(lines))
    fields = {
        "command": [str(ensure_spark(SPARK)), str(JOBS / script), "{scratch}"],
        "checkpoint": checkpoint,
        "sink": {"kind": "file", "path": "{scratch}/out"},
        "identity": ["id"],
        "input": "rows",
        "timeout_s": 120,
    }
    spec = folder / "orders.json"
    spec.write_text(json.dumps(fields))
    return spec


def read(sink: Path) -> list[dict[str, int]]:
    """What the last recovery left, by hand: the files that its manifests list."""
    manifests = [path.read_text().splitlines()[1:] for path in (sink / "_spark_metadata").glob("[0-9]")]
    files = {json.loads(line)["path"].rpartition("/")[2] for lines in manifests for line in lines}
    rows = [json.loads(line) for name in files for line in (sink / name).read_text().splitlines()]
    return sorted(rows, key=lambda row: row["id"])
