"""From a wish to the restart after it, as somebody types it: `plan`, `apply`, what is predicted then, `undo`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.apply.stages import sampled, story, tree_of
from tests.apply.typed import QUIET, told
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID
from tests.conftest import Outcome, run_ckpt

COPIED = "4.2.0-file-to-parquet"


@dataclass(frozen=True)
class Asked:
    """`make`: puts a checkpoint below a directory. `sink`: beside it, or what keeps no record. `batch`: which the
    restart then runs. `accepts`: what the plan asks, and nothing but that."""

    words: tuple[str, ...]
    make: Callable[[Path], Path]
    batch: int
    sink: str = "noop"
    accepts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.words)


FILES = "f0 c | f1 c | f2 c"
TEMPORARY = "offsets/.2.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp"


def taken_back(folder: Path) -> Path:
    """The logs are those of a backup: the sink is two batches ahead."""
    root = sampled(f"{COPIED}-sound")(folder)
    for batch in (3, 4):
        for path in (root / "commits" / str(batch), root / "offsets" / str(batch)):
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink()
    return root


def told_and_torn(folder: Path) -> Path:
    root = story(FILES)(folder)
    (root / "offsets" / "2").write_bytes(b"v1\n{")
    (folder / "progress.json").write_text(json.dumps(told_in_progress(2)))
    return root


def told_in_progress(batch: int) -> dict[str, Any]:
    source = {"startOffset": {"logOffset": batch - 1}, "endOffset": {"logOffset": batch}}
    planned = datetime.fromtimestamp((EPOCH_MS + batch * MINUTE_MS) / 1000, UTC).isoformat(timespec="milliseconds")
    return {"id": QUERY_ID, "batchId": batch, "timestamp": planned, "durationMs": {"addBatch": 1}, "sources": [source]}


def not_renamed(folder: Path) -> Path:
    root = story(FILES)(folder)
    (root / "offsets" / "2").rename(root / TEMPORARY)
    return root


def littered(folder: Path) -> Path:
    root = story(FILES)(folder)
    (root / TEMPORARY).write_bytes(b"v1")
    os.utime(root / TEMPORARY, (1, 1))
    return root


ASKED = (
    Asked(("rewind", "--to-batch", "2"), sampled(f"{COPIED}-sound"), 3, "output"),
    Asked(("drop-batch",), story("f0 c | f1 c | f2"), 2),
    Asked(("source", "add", "0"), story("f0 k0-10 c | f1 k10-30 c"), 2, accepts=("source-order",)),
    Asked(("source", "drop", "0", "--order", "1"), story("f0 k0-10 c | f1 k10-30 c"), 2, accepts=("rows-lost",)),
    Asked(("source", "move", "0", "1"), story("f0 k0-10 c | f1 k10-30 c"), 2, accepts=("source-order",)),
    Asked(("source", "reset", "1"), story("f0 k0-10 c | f1 k10-30 c"), 2, accepts=("rows-lost", "rows-twice")),
    Asked(("skip-batch",), sampled(f"{COPIED}-crashed-after-sink-commit"), 3, "output"),
    Asked(("query-id", "--new"), sampled(f"{COPIED}-sound"), 5, "output"),
    Asked(("query-id", "--set", "11111111-2222-4333-8444-555555555555"), story("f0 c | f1 c"), 2),
    Asked(("renumber", "--above-sink"), taken_back, 5, "output", ("rows-twice",)),
    Asked(("watermark", "--set", "2026-01-01T00:00:00Z"), sampled("4.2.0-windowed-agg-hdfs-sound"), 5, "noop",
          ("rows-lost",)),
    Asked(("watermark", "--set", "2026-01-01T00:00:00Z", "--close"), sampled("4.2.0-windowed-agg-hdfs-sound"), 5,
          "noop", ("rows-lost",)),
    Asked(("watermark", "--set", "1999-01-01T00:00:00Z"), sampled("4.2.0-windowed-agg-hdfs-sound"), 5, "noop",
          ("rows-twice", "windows-twice")),
    Asked(("restore-offsets", "2", "--progress", "{folder}/progress.json"), told_and_torn, 3),
    Asked(("rename-found",), not_renamed, 3),
    Asked(("gc",), littered, 3),
)  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_is_planned_is_carried_out_and_taken_back(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "at").mkdir()
    checkpoint = asked.make(tmp_path / "at")
    sink = asked.sink if asked.sink == "noop" else str(checkpoint.parent / asked.sink)
    old, plan = tree_of(tmp_path / "at"), str(tmp_path / "plan.json")
    verb, *rest = (word.format(folder=tmp_path / "at") for word in asked.words)
    planned = told("plan", verb, str(checkpoint), *rest, "--sink", sink, "--out", plan)
    assert (planned["exit"], planned["restart"]["batch_id"]) == (0, asked.batch), planned
    asks = [one["id"] for one in planned["option"]["conditions"] if one["who"] == "you"]
    assert sorted(asks) == sorted(asked.accepts)
    kept = json.loads(Path(plan).read_text())
    assert kept["wish"] == planned["wish"]
    assert kept["wish"]["verb"] == verb
    for condition in asks:
        refused = told("apply", plan, *QUIET, *(part for one in asks if one != condition for part in ("--accept", one)))
        assert (refused["exit"], [one["id"] for one in refused["reasons"]]) == (6, ["condition-not-accepted"])
        assert f"--accept {condition}" in refused["reasons"][0]["next_step"]
    done = told("apply", plan, *QUIET, *(part for one in asks for part in ("--accept", one)))
    assert (done["exit"], done["state"], done["kept"]) == (0, "applied", True), done
    after = told("plan-recovery", str(checkpoint), "--sink", sink)["restart"]
    assert {name: after[name] for name in ("outcome", "batch_id", "watermark_ms")} == {
        name: planned["restart"][name] for name in ("outcome", "batch_id", "watermark_ms")
    }
    assert [(one["start"], one["end"]) for one in after["sources"]] == [
        (one["start"], one["end"]) for one in planned["restart"]["sources"]
    ]
    undone = told("undo", str(checkpoint), *QUIET)
    assert (undone["exit"], undone["identical"]) == (0, True)
    assert tree_of(tmp_path / "at") == old


def test_a_plan_that_does_not_fit_any_more_is_made_anew_by_the_same_wish(tmp_path: Path) -> None:
    checkpoint, plan = story("f0 c | f1 c | f2")(tmp_path), str(tmp_path / "plan.json")
    assert told("plan", "drop-batch", str(checkpoint), "--sink", "noop", "--out", plan)["exit"] == 0
    (checkpoint / "commits" / "2").write_bytes((checkpoint / "commits" / "1").read_bytes())
    done = told("apply", plan, *QUIET)
    assert (done["exit"], done["state"]) == (6, "refused")
    assert f"ckpt plan drop-batch {checkpoint} …" in done["reasons"][0]["next_step"]


def refusal(*words: str) -> Outcome:
    done = run_ckpt(*words)
    assert not done.err
    return done


def test_what_is_refused_is_not_saved(tmp_path: Path) -> None:
    checkpoint, plan = story("f0 c | f1 c")(tmp_path), tmp_path / "plan.json"
    done = refusal("plan", "drop-batch", str(checkpoint), "--sink", "noop", "--out", str(plan))
    assert done.code == 6
    assert "  drop-planned-batch\n    there is no batch" in done.out
    assert not plan.exists()


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    checkpoint = story("f0 c | f1 c")(tmp_path)
    assert refusal("plan", "rewind", str(checkpoint), "--sink", "noop", "--to-batch", "7").code == 4


@pytest.mark.parametrize("verb", ["sink-log", "source-log", "reset-state", "repartition", "downgrade"])
def test_what_nobody_grants_yet_says_why(verb: str, tmp_path: Path) -> None:
    checkpoint = str(story("f0 c | f1 c")(tmp_path))
    done = refusal("plan", verb, checkpoint, "3", "--to", "3.5")
    assert done.code == 6
    assert f"  {verb}\n    not yet: " in done.out
    assert verb in run_ckpt("plan", "--help").out


def test_nothing_is_wished_of_what_is_half_done(tmp_path: Path) -> None:
    checkpoint = story("f0 c | f1 c | f2")(tmp_path)
    (checkpoint / "metadata").write_text('{"id":"unfinished: run ckpt apply --resume"}')
    done = told("plan", "drop-batch", str(checkpoint), "--sink", "noop")
    assert done["exit"] == 6
    assert "the fence of an apply" in done["refused"][0]["why"]


@pytest.mark.extras
def test_a_record_that_a_restore_left_high_is_lowered_and_raised_again(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    checkpoint, plan = sampled("3.5.7-delta-to-delta-sound")(tmp_path), str(tmp_path / "plan.json")
    path = str(checkpoint.parent / "table")
    app_id = json.loads((checkpoint / "metadata").read_text())["id"]
    lower = ("plan", "sink-ledger", str(checkpoint), "--sink", path, "--set", "1")
    assert "has rows of batch 2" in told(*lower)["refused"][0]["why"]
    DeltaTable(path).restore(1)
    assert DeltaTable(path).transaction_version(app_id) == 3
    assert told(*lower, "--out", plan)["exit"] in (0, 1), "rows of committed batches are missing, whatever the record"
    done = told("apply", plan, *QUIET)
    assert (done["exit"], done["state"]) == (0, "applied"), done
    assert DeltaTable(path).transaction_version(app_id) == 1
    assert told("undo", str(checkpoint), *QUIET)["exit"] == 0
    assert DeltaTable(path).transaction_version(app_id) == 3
