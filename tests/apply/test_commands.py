"""`ckpt apply`, `ckpt undo`, `ckpt unlock` as somebody types them: exit codes, JSON, and what is left."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from ckpttool.apply import carry_out, lock
from ckpttool.apply.plan_file import encode_plan, parse_plan, sealed
from ckpttool.apply.run import apply_plan
from ckpttool.apply.work import ApplySettings
from ckpttool.formats import limits
from ckpttool.report.views.apply import head
from tests.apply.dying import System, on
from tests.apply.stages import STAGES, bodies, bury, sampled, tree_of
from tests.apply.test_killed import kill
from tests.apply.typed import ckpt, told
from tests.builders import build
from tests.conftest import run_ckpt

QUIET = ("--settle", "0s")
FILES = "f0 c | f1 c | f2 c | f3 c"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(tmp_path / "q", FILES)


@pytest.fixture
def plan(root: Path, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    done = ckpt("plan-recovery", str(root), "--sink", "noop", "--to-batch", "1", "--out", str(path))
    assert done.code == 0, done.err
    return path


def test_there_and_back(root: Path, plan: Path) -> None:
    old = tree_of(root)
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], done["state"], done["changed"], done["fenced"], done["kept"]) == (
        0,
        "applied",
        True,
        False,
        True,
    )
    assert done["promise"]["batch_id"] == done["found"]["batch_id"] == 2
    assert {step["result"] for step in done["steps"]} == {"done", "was_done"}
    assert (
        json.loads(ckpt("plan-recovery", str(root), "--sink", "noop", "--format", "json").out)["restart"]["batch_id"]
        == 2
    )
    again = told("apply", str(plan), "--yes", *QUIET)
    assert (again["exit"], again["state"], again["changed"]) == (0, "nothing_to_do", False)
    back = told("undo", str(root), "--yes", *QUIET)
    assert (back["exit"], back["state"], back["identical"], back["times_restored"]) == (0, "undone", True, True)
    assert back["undoes"] == done["id"]
    assert tree_of(root) == old


def test_at_once(root: Path) -> None:
    done = told("apply", str(root), "--sink", "noop", "--to-batch", "1", "--take", "rewind-to-batch", "--yes", *QUIET)
    assert (done["exit"], done["state"]) == (0, "applied")


def test_places_may_be_typed_as_they_are_seen_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = sampled("4.2.0-file-to-parquet-sound")(tmp_path)
    monkeypatch.chdir(checkpoint.parent)
    old = bodies(tree_of(checkpoint.parent))
    done = ckpt("plan-recovery", "checkpoint", "--sink", "output", "--to-batch", "2", "--out", "../plan.json")
    assert done.code == 0
    monkeypatch.chdir(tmp_path)
    done = ckpt("apply", "plan.json", "--yes", "--accept", "query-stopped", *QUIET)
    assert done.code == 0, done.out
    assert not (checkpoint.parent / "output" / "_spark_metadata" / "3").exists()
    assert ckpt("undo", str(checkpoint), "--yes", *QUIET).code == 0
    assert bodies(tree_of(checkpoint.parent)) == old


def test_a_plan_lies_in_the_directory_that_is_named_for_it(root: Path, plan: Path) -> None:
    done = told("apply", str(plan), "--yes", *QUIET)
    path = root / "_ckpt" / "applies" / done["id"] / "plan.json"
    path.write_bytes(encode_plan(sealed(replace(parse_plan(path.read_bytes()), id="20200101T000000Z-abcdef"))))
    refused = ckpt("undo", str(root), "--yes", *QUIET)
    assert refused.code == 6
    assert "another than its directory" in refused.err


def test_a_file_that_a_plan_relies_on_is_read_up_to_the_limit_of_its_kind(root: Path, plan: Path) -> None:
    os.truncate(root / "offsets" / "3", 2**40)
    refused = told("apply", str(plan), "--yes", *QUIET)
    assert (refused["exit"], refused["changed"]) == (6, False)
    assert "--read-limit offsets=1099511627776" in json.dumps(refused["reasons"])


def test_what_is_too_large_to_be_ours_is_not_read_whole(root: Path, plan: Path) -> None:
    with limits.changed({"values": 100}):
        assert "larger than any plan" in ckpt("apply", str(plan), "--yes", *QUIET).err
    (root / "_ckpt").mkdir()
    lock = root / "_ckpt" / "lock"
    for content in (bytes(17 * 2**20), b"[" * 2**20):
        lock.write_bytes(content)
        refused = told("apply", str(plan), "--yes", *QUIET)
        assert (refused["exit"], refused["reasons"][0]["id"]) == (6, "locked")
    lock.unlink()
    done = told("apply", str(plan), "--yes", *QUIET)
    journal = root / "_ckpt" / "applies" / done["id"] / "journal"
    (journal / "000099").write_bytes(b"[" * 2**20)
    (journal / "000098").write_bytes(bytes(17 * 2**20))
    assert told("undo", str(root), "--list")["applies"][0]["state"] == "applied"
    assert told("undo", str(root), "--yes", *QUIET)["state"] == "undone"


def test_a_dry_run_writes_nothing(root: Path, plan: Path) -> None:
    with on(System()) as system:
        done = run_ckpt("apply", str(plan), "--dry-run")
    assert done.code == 0
    assert "would be carried out" in done.out
    assert system.calls == 0
    assert not (root / "_ckpt").exists()


def test_without_a_terminal_nothing_is_asked_and_nothing_done(
    root: Path, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    done = ckpt("apply", str(plan))
    assert done.code == 2
    assert "--yes" in done.err
    assert not (root / "_ckpt").exists()


def test_a_plan_is_not_saved_over_another_nor_in_the_checkpoint(root: Path, plan: Path) -> None:
    save = ("plan-recovery", str(root), "--sink", "noop", "--to-batch", "1", "--out")
    assert ckpt(*save, str(plan)).code == 6
    assert ckpt(*save, str(root / "plan.json")).code == 6
    assert not (root / "plan.json").exists()


def test_a_plan_that_was_edited_is_named_so(root: Path, plan: Path) -> None:
    plan.write_text(plan.read_text().replace('"to_batch": 1', '"to_batch": 0'))
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], done["state"], [one["id"] for one in done["reasons"]]) == (6, "refused", ["plan-damaged"])
    assert not (root / "_ckpt").exists()


def test_which_way_out_has_to_be_said_where_there_are_several(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "f0 c | f1 c | f2")
    done = ckpt("plan-recovery", str(root), "--out", str(tmp_path / "plan.json"))
    assert done.code == 2
    assert "skip-batch" in done.err
    assert not (tmp_path / "plan.json").exists()


def test_what_only_a_person_knows_has_to_be_accepted(root: Path) -> None:
    rewind = ("apply", str(root), "--to-batch", "1", "--take", "rewind-to-batch", "--yes", *QUIET)
    done = told(*rewind)
    assert (done["exit"], done["state"]) == (6, "refused")
    assert {one["id"] for one in done["reasons"]} == {"condition-not-accepted"}
    assert "--accept sink-unnamed" in done["reasons"][0]["next_step"]
    assert told(*rewind, "--accept", "sink-unnamed")["state"] == "applied"


def test_a_query_that_seems_to_run_is_left_alone(root: Path, plan: Path) -> None:
    os.utime(root / "commits" / "3")
    plan.unlink()
    ckpt("plan-recovery", str(root), "--sink", "noop", "--to-batch", "1", "--out", str(plan))
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], [one["id"] for one in done["reasons"]]) == (6, ["looks-alive"])
    assert told("apply", str(plan), "--yes", "--accept", "query-stopped", *QUIET)["state"] == "applied"


def test_other_storage_is_refused() -> None:
    done = ckpt("apply", "--resume", "http://nowhere/at/all")
    assert done.code == 6
    assert "not changed in this kind of storage" in done.err


def test_what_brokers_said_is_asked_for_again(plan: Path) -> None:
    made = parse_plan(plan.read_bytes())
    plan.write_bytes(encode_plan(sealed(replace(made, asked=replace(made.asked, kafka=True)))))
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], [one["id"] for one in done["reasons"]]) == (6, ["broker-changed"])


# -- interrupted -------------------------------------------------------------------------------------------------------


def interrupted(root: Path, plan: Path, at: int) -> None:
    assert kill(lambda: run_ckpt("apply", str(plan), "--yes", *QUIET), at, "kill")
    assert "unfinished" in (root / "metadata").read_text()


def test_what_is_half_done_is_gone_on_with_or_taken_back(root: Path, plan: Path, tmp_path: Path) -> None:
    old = bodies(tree_of(root))
    interrupted(root, plan, 120)
    shutil.copytree(root, tmp_path / "half")
    locked = told("apply", "--resume", str(root), "--yes", *QUIET)
    assert (locked["exit"], [one["id"] for one in locked["reasons"]]) == (6, ["locked"]), (
        "its process lives: it is this one"
    )
    bury(root)
    done = told("apply", "--resume", str(root), "--yes", *QUIET)
    assert (done["exit"], done["state"], done["resumed"]) == (0, "applied", True)
    assert "was taken over" in done["err"]
    shutil.rmtree(root)
    shutil.copytree(tmp_path / "half", root)
    bury(root)
    assert told("undo", str(root), "--yes", *QUIET)["state"] == "undone"
    assert bodies(tree_of(root)) == old


@pytest.mark.parametrize("after", [0, 1, 5])
def test_who_is_asked_to_stop_stops_after_what_it_is_at(root: Path, plan: Path, after: int) -> None:
    asked = iter(range(1000))
    made = parse_plan(plan.read_bytes())
    with on(System()):
        outcome = apply_plan(made, ApplySettings(settle=0, interrupted=lambda: next(asked) >= after))
    assert isinstance(outcome.error, KeyboardInterrupt)
    assert (outcome.state, outcome.changed, outcome.fenced) == ("stopped", True, True)
    assert len(outcome.next) == 2
    assert not (root / "_ckpt" / "lock").exists()
    assert told("apply", "--resume", str(root), "--yes", *QUIET)["state"] == "applied"


def test_nobody_begins_anew_where_something_is_half_done(root: Path, plan: Path) -> None:
    interrupted(root, plan, 120)
    bury(root)
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], done["reasons"][0]["id"]) == (6, "apply-unfinished")
    assert "ckpt undo" in done["reasons"][0]["next_step"]


def test_whoever_waited_for_the_lock_looks_once_more(root: Path, plan: Path, tmp_path: Path) -> None:
    """Somebody else, who had it, was killed behind the fence: fence and wires are theirs."""
    shutil.copytree(root, tmp_path / "before")
    interrupted(root, plan, 120)
    shutil.copytree(root, tmp_path / "half")
    shutil.rmtree(root)
    shutil.copytree(tmp_path / "before", root)

    def overtaken(*given: Any, **named: Any) -> Any:
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "half", root)
        (root / "_ckpt" / "lock").unlink()
        return lock.locked(*given, **named)

    other = tmp_path / "other.json"
    ckpt("plan-recovery", str(root), "--sink", "noop", "--to-batch", "0", "--out", str(other))
    with patch.object(carry_out, "locked", overtaken):
        done = told("apply", str(other), "--yes", *QUIET)
    assert (done["exit"], done["reasons"][0]["id"]) == (6, "apply-unfinished")
    assert bodies(tree_of(root)) == bodies(tree_of(tmp_path / "half"))


def test_who_takes_back_does_not_go_on(root: Path, plan: Path) -> None:
    interrupted(root, plan, 150)
    bury(root)
    assert kill(lambda: run_ckpt("undo", str(root), "--yes", *QUIET), 40, "kill")
    bury(root)
    done = told("apply", "--resume", str(root), "--yes", *QUIET)
    assert (done["exit"], done["reasons"][0]["id"]) == (6, "apply-unfinished")
    assert told("undo", str(root), "--yes", *QUIET)["state"] == "undone"


def test_somebody_else_in_the_middle_stops_it_behind_the_fence(root: Path, plan: Path) -> None:
    interrupted(root, plan, 120)
    bury(root)
    (root / "sources" / "0" / "2").write_text("v1\nanother")
    done = told("apply", "--resume", str(root), "--yes", *QUIET)
    assert (done["exit"], done["state"], done["fenced"]) == (1, "stopped", True)
    assert done["next"][0] in done["err"]
    assert "unfinished" in (root / "metadata").read_text()


def test_a_lock_goes_by_its_id(root: Path, plan: Path) -> None:
    interrupted(root, plan, 120)
    lock = json.loads((root / "_ckpt" / "lock").read_text())
    assert ckpt("unlock", str(root), "0000").code == 6
    assert (root / "_ckpt" / "lock").exists()
    assert ckpt("unlock", str(root), lock["id"]).code == 0
    assert not (root / "_ckpt" / "lock").exists()
    assert ckpt("unlock", str(root), lock["id"]).code == 4


# -- taking back -------------------------------------------------------------------------------------------------------


def test_a_query_that_ran_since_keeps_what_it_did(root: Path, plan: Path) -> None:
    assert told("apply", str(plan), "--yes", *QUIET)["state"] == "applied"
    shutil.copy(root / "offsets" / "1", root / "offsets" / "2")
    before = tree_of(root)
    done = told("undo", str(root), "--yes", *QUIET)
    assert (done["exit"], done["changed"]) == (6, False)
    assert {one["id"] for one in done["reasons"]} == {"query-ran-since"}
    assert tree_of(root) == before


def test_a_flipped_byte_in_a_copy_is_noticed_before_anything_is_changed(root: Path, plan: Path) -> None:
    done = told("apply", str(plan), "--yes", *QUIET)
    copy = root / done["backup"]["path"] / "offsets" / "3"
    body = bytearray(copy.read_bytes())
    body[5] ^= 1
    copy.write_bytes(body)
    before = tree_of(root)
    back = told("undo", str(root), "--yes", *QUIET)
    assert (back["exit"], back["reasons"][0]["id"]) == (6, "backup-damaged")
    assert tree_of(root) == before


def test_the_newest_is_taken_back_first(root: Path, plan: Path) -> None:
    assert ckpt("undo", str(root), "--yes", *QUIET).code == 4
    assert ckpt("apply", "--resume", str(root), "--yes", *QUIET).code == 4
    first = told("apply", str(plan), "--yes", *QUIET)["id"]
    words = ("apply", str(root), "--sink", "noop", "--to-batch", "0", "--take", "rewind-to-batch", "--yes", *QUIET)
    second = told(*words)["id"]
    assert first < second or first[:16] == second[:16]
    listed = told("undo", str(root), "--list")["applies"]
    assert {one["id"]: one["undoable"] for one in listed} == {first: False, second: True}
    assert told("undo", str(root), "--id", first, "--yes", *QUIET)["reasons"][0]["id"] == "newer-apply"
    assert told("undo", str(root), "--yes", *QUIET)["undoes"] == second
    assert told("undo", str(root), "--yes", *QUIET)["undoes"] == first
    assert told("undo", str(root), "--yes", *QUIET)["state"] == "nothing_to_do"


def test_what_is_forgotten_is_gone(root: Path, plan: Path) -> None:
    done = told("apply", str(plan), "--yes", *QUIET)
    assert ckpt("undo", str(root), "--forget", done["id"]).code == 0
    assert not list((root / "_ckpt" / "applies").glob("*"))
    assert ckpt("undo", str(root), "--yes", *QUIET).code == 4


def test_without_copies_of_the_state_there_is_no_way_back(tmp_path: Path) -> None:
    """Who chose so was told so; what is left says it again."""
    stage = next(one for one in STAGES if one.name == "rewind-dedup")
    root = stage.set_up(tmp_path / "a")
    words = ("apply", str(root), "--sink", "noop", "--to-batch", "2", "--take", "rewind-to-batch", "--yes", *QUIET)
    done = told(*words, "--backup", "logs", "--accept", "query-stopped")
    assert (done["exit"], done["state"]) == (0, "applied"), done["reasons"]
    assert done["backup"]["state"] is False
    kept = root / done["backup"]["path"]
    assert (kept / "offsets").is_dir()
    assert not (kept / "state").exists()
    before = tree_of(root)
    back = told("undo", str(root), "--yes", *QUIET)
    assert (back["exit"], back["state"], back["reasons"][0]["id"]) == (6, "refused", "backup-damaged")
    assert "--backup logs" in back["reasons"][0]["text"]
    (listed,) = told("undo", str(root), "--list")["applies"]
    assert (listed["undoable"], listed["why_not"]) == (False, back["reasons"][0]["text"])
    assert tree_of(root) == before


@pytest.mark.parametrize("kept", ["full", "logs"])
def test_whether_it_can_be_taken_back_is_said_before_it_is_asked(kept: str, tmp_path: Path) -> None:
    root = next(one for one in STAGES if one.name == "rewind-dedup").set_up(tmp_path / "a")
    plan = tmp_path / "plan.json"
    words = ("plan-recovery", str(root), "--sink", "noop", "--to-batch", "2", "--out", str(plan))
    assert ckpt(*words).code == 0
    said = head(parse_plan(plan.read_bytes()), keeps_state=kept == "full")
    assert said.endswith("undo: yes" if kept == "full" else "undo: no, state is not kept")


def test_what_a_file_sink_wrote_goes_too_and_comes_back(tmp_path: Path) -> None:
    """Who reads the files and not the log sees those rows no more."""
    checkpoint = sampled("4.2.0-file-to-parquet-sound")(tmp_path)
    output, plan, old = checkpoint.parent / "output", tmp_path / "plan.json", bodies(tree_of(tmp_path))
    logged = [json.loads(line)["path"] for batch in (3, 4)
              for line in (output / "_spark_metadata" / str(batch)).read_text().splitlines()[1:]]  # fmt: skip
    words = ("plan", "rewind", str(checkpoint), "--sink", str(output), "--to-batch", "2", "--delete-data")
    assert ckpt(*words, "--out", str(plan)).code == 0
    accept = ("--yes", "--accept", "query-stopped", "--accept", "nobody-reads-the-files", *QUIET)
    done = told("apply", str(plan), *accept)
    assert (done["exit"], done["state"], done["kept"]) == (0, "applied", True), done["reasons"]
    gone = {path for path, body in old.items() if body is not None} - set(bodies(tree_of(tmp_path)))
    assert logged
    assert {Path(path).name for path in logged} <= {Path(path).name for path in gone}
    assert all(f"sample/output/{Path(path).name}" not in tree_of(tmp_path) for path in logged)
    assert told("undo", str(checkpoint), *accept)["identical"]
    plan.unlink()
    assert bodies(tree_of(tmp_path)) == old


def test_data_goes_with_a_rewind_only(root: Path) -> None:
    assert ckpt("plan-recovery", str(root), "--delete-data").code == 2


# -- an odd `_ckpt` ----------------------------------------------------------------------------------------------------


def test_where_a_file_is_in_our_place_nothing_is_done(root: Path, plan: Path) -> None:
    (root / "_ckpt").write_text("")
    before = tree_of(root)
    assert ckpt("apply", str(plan), "--yes", *QUIET).code == 6
    assert tree_of(root) == before


def test_a_lock_of_somebody_else_is_none_of_ours(root: Path, plan: Path) -> None:
    (root / "_ckpt").mkdir()
    (root / "_ckpt" / "lock").write_text("mine")
    done = told("apply", str(plan), "--yes", *QUIET)
    assert (done["exit"], done["reasons"][0]["id"]) == (6, "locked")
    assert (root / "_ckpt" / "lock").read_text() == "mine"


def test_without_its_journal_it_still_leads_back(root: Path, plan: Path) -> None:
    old = bodies(tree_of(root))
    interrupted(root, plan, 150)
    bury(root)
    for record in (root / "_ckpt").glob("applies/*/journal/*"):
        record.unlink()
    assert told("undo", str(root), "--yes", *QUIET)["state"] == "undone"
    assert bodies(tree_of(root)) == old


def test_secrets_appear_nowhere(tmp_path: Path) -> None:
    root = STAGES[0].set_up(tmp_path / "a")
    words = ("apply", str(root), "--sink", "noop", "--to-batch", "1", "--take", "rewind-to-batch", "--yes", *QUIET)
    done = ckpt(
        *words, "--option", "kafka.sasl.jaas.config=hunter2", "--storage-option", "key=hunter2", "--format", "json"
    )
    assert done.code == 0, done.err
    kept = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert b"hunter2" not in kept
    assert "hunter2" not in done.out + done.err


def test_what_is_wrong_with_it_still_is_told_with_what_was_done(root: Path, plan: Path) -> None:
    (root / "sources" / "0" / "1").write_bytes(b"v1\n{")
    done = told("apply", str(root), "--sink", "noop", "--take", "empty-source-log-entry", "--yes", *QUIET,
                "--accept", "files-not-too-old", "--accept", "rows-twice")  # fmt: skip
    assert (done["exit"], done["state"]) == (0, "applied"), done["reasons"]
    assert [one["id"] for one in done["findings"] if one["severity"] == "error"] == ["source-log-entry-empty"]
    assert told("apply", str(plan), "--yes", *QUIET)["findings"] == []
