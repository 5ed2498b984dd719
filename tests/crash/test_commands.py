"""Any command, on trial by its specification: a script that starts its own Spark, and knows nothing of us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.parts.spark import ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
SCRIPT = Path(__file__).with_name("jobs") / "by_itself.py"


def test_a_script_that_starts_its_own_spark(tmp_path: Path) -> None:
    """Every point of its second batch; and one case again from its image. The checkpoint lies in the sink."""
    (tmp_path / "rows").mkdir()
    for batch in range(2):
        lines = (json.dumps({"id": 3 * batch + number}) for number in range(3))
        (tmp_path / "rows" / f"{batch}.json").write_text("\n".join(lines))
    spec = tmp_path / "orders.json"
    spec.write_text(
        json.dumps(
            {
                "command": [str(ensure_spark(SPARK)), str(SCRIPT), "{scratch}"],
                "checkpoint": "{scratch}/out/_checkpoint",
                "sink": {"kind": "file", "path": "{scratch}/out"},
                "identity": ["id"],
                "input": "rows",
                "timeout_s": 120,
            }
        )
    )
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


def read(sink: Path) -> list[dict[str, int]]:
    """What the last recovery left, by hand: the files that its manifests list."""
    manifests = [path.read_text().splitlines()[1:] for path in (sink / "_spark_metadata").glob("[0-9]")]
    files = {json.loads(line)["path"].rpartition("/")[2] for lines in manifests for line in lines}
    rows = [json.loads(line) for name in files for line in (sink / name).read_text().splitlines()]
    return sorted(rows, key=lambda row: row["id"])
