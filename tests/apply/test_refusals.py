"""What is refused before anything is changed: exit status 6, a reason with its id, and a tree as it was.

Plans that are no plans, queries that cannot be rewound, places that are not ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from ckpttool.apply.plan_file import PlannedStep, encode_plan, parse_plan
from ckpttool.apply.stores.base import AlreadyThere
from ckpttool.apply.stores.local import LocalDisk
from ckpttool.apply.work import Work
from ckpttool.connectors.auto_loader import EXAMPLES
from ckpttool.diagnosis import Diagnosis
from ckpttool.formats.metadata import APPLY_FENCE
from tests.apply.dying import System, on
from tests.apply.stages import FENCES, bodies, bury, sampled, tree_of
from tests.apply.test_plans import without
from tests.builders import build
from tests.conftest import run_ckpt
from tests.samples.place import place_sample

QUIET = ("--yes", "--settle", "0s", "--format", "json")
FILES = "f0 c | f1 c | f2 c | f3 c"
BACK = ("--sink", "noop", "--to-batch", "1")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.plan = folder, build(folder / "q", FILES), folder / "plan.json"
        done = run_ckpt("plan-recovery", str(self.root), *BACK, "--out", str(self.plan))
        assert done.code == 0, done.err

    def apply(self, *words: str) -> dict[str, Any]:
        return said("apply", str(self.plan), *words)


def said(*words: str) -> dict[str, Any]:
    with on(System()):
        done = run_ckpt(*words, *QUIET)
    return {"exit": done.code, "err": done.err, **json.loads(done.out)}


def ids(document: dict[str, Any]) -> list[str]:
    return [reason["id"] for reason in document["reasons"]]


def is_refused(document: dict[str, Any], reason: str) -> None:
    assert (document["exit"], document["state"], document["changed"]) == (6, "refused", False)
    assert ids(document)[:1] == [reason], document["reasons"]
    assert document["reasons"][0]["text"]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# -- plans that are no plans -------------------------------------------------------------------------------------------


def led_out(plan: bytes) -> bytes:
    step = {"n": 1, "kind": "set_aside", "target": "logs", "why": "", "reversible": True, "path": "../elsewhere"}
    return without(parse_plan(plan), steps=[step])


def led_out_of_a_sink(plan: bytes) -> bytes:
    step = {"n": 1, "kind": "set_aside", "target": "sink", "why": "", "reversible": True, "path": "/out/../etc/passwd"}
    marks = {"files": [], "names": [], "kafka": [], "sinks": [{"kind": "file", "path": "/out"}]}
    return without(parse_plan(plan), steps=[step], relies_on=marks)


def of_no_sink(plan: bytes) -> bytes:
    step = {"n": 1, "kind": "set_aside", "target": "sink", "why": "", "reversible": True, "path": "/etc/passwd"}
    return without(parse_plan(plan), steps=[step])


@pytest.mark.parametrize(
    "damage",
    [
        lambda plan: plan[: len(plan) // 2],
        lambda plan: plan.replace(b'"to_batch": 1', b'"to_batch": 0'),
        lambda plan: plan.replace(b"ckpt.plan/1", b"ckpt.plan/9"),
        lambda plan: plan + b" " * 2**27,
        lambda _: b"",
        led_out,
        led_out_of_a_sink,
        of_no_sink,
    ],
    ids=["cut", "edited", "newer", "huge", "empty", "climbs", "climbs-in-a-sink", "of-no-sink"],
)
def test_what_is_no_plan_is_damaged(damage: Callable[[bytes], bytes], stage: Stage) -> None:
    stage.plan.write_bytes(damage(stage.plan.read_bytes()))
    before = tree_of(stage.root)
    is_refused(stage.apply(), "plan-damaged")
    assert tree_of(stage.root) == before
    assert not (stage.root / "_ckpt").exists()


def test_a_plan_of_another_checkpoint_does_not_fit(stage: Stage) -> None:
    other = build(stage.folder / "other", "f0 c | f1 c")
    stage.plan.write_bytes(without(parse_plan(stage.plan.read_bytes()), checkpoint=str(other)))
    before = tree_of(other)
    is_refused(stage.apply("--accept", "query-stopped"), "plan-does-not-fit")
    assert tree_of(other) == before


# -- queries, and places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["2.4.8-dstreams-sound", "3.5.7-continuous-to-noop-sound"])
def test_what_has_no_way_out_says_why(sample: str, tmp_path: Path) -> None:
    root = sampled(sample)(tmp_path)
    before = tree_of(root)
    refused = said("apply", str(root), "--take", "new-query-id")
    is_refused(refused, "no-way-out")
    assert "no way out is known for the mode" in refused["reasons"][0]["next_step"]
    assert tree_of(root) == before


@pytest.mark.parametrize(
    ("sample", "otherwise"),
    [
        ("4.2.0-async-progress-to-noop-sound", ()),
        ("4.2.0-async-progress-to-noop-sound", ("--option", "asyncProgressTrackingEnabled=false")),
        ("4.2.0-real-time-kafka-to-kafka-sound", ()),
        ("4.2.0-real-time-kafka-to-kafka-sound", ("--trigger", "default")),
    ],
)
def test_that_a_query_is_stopped_a_person_says_where_no_wire_stops_it_in_time(
    sample: str, otherwise: tuple[str, ...], tmp_path: Path
) -> None:
    """It is the query that may still run that counts, however it will be started again."""
    root = sampled(sample)(tmp_path)
    before = bodies(tree_of(root))
    words = ("apply", str(root), "--take", "rewind-to-batch", "--sink", "noop", "--to-batch", "0", *otherwise)
    is_refused(said(*words), "condition-not-accepted")
    assert bodies(tree_of(root)) == before
    assert said(*words, "--accept", "query-stopped")["state"] == "applied"
    assert '"undoable": true' in run_ckpt("undo", str(root), "--list", "--format", "json").out
    is_refused(said("undo", str(root)), "condition-not-accepted")
    assert said("undo", str(root), "--accept", "query-stopped")["state"] == "undone"
    assert bodies(tree_of(root)) == before


def test_what_auto_loader_keeps_is_not_touched(tmp_path: Path) -> None:
    """Of what it has seen there is a database in `sources/`, of which nobody else knows the meaning. No way out has
    such a step today."""
    root = build(tmp_path / "q", FILES)
    for path in (root / "offsets").glob("[0-9]"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:-1], EXAMPLES[0]]))
    shutil.rmtree(root / "sources")
    (root / "sources" / "0" / "rocksdb").mkdir(parents=True)
    before = bodies(tree_of(root))
    step = PlannedStep(1, "set_aside", "sources", "why", True, path="sources/0/rocksdb")
    with patch("ckpttool.apply.make_plan.planned_steps", lambda *_: [step]):
        refused = said("apply", str(root), "--take", "rewind-to-batch", *BACK)
    is_refused(refused, "not-writable")
    assert "Auto Loader" in refused["reasons"][0]["text"]
    assert bodies(tree_of(root)) == before


@pytest.mark.parametrize(
    ("pinned", "other"),
    [
        ("spark.sql.shuffle.partitions", "7"),
        ("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.RocksDBStateStoreProvider"),
    ],
)
def test_what_a_query_with_state_has_pinned_stays(pinned: str, other: str, tmp_path: Path) -> None:
    """No way out and no wish has such a step, and one that somebody puts into a plan, and seals, is not carried out."""
    root, saved = sampled("3.5.7-dedup-hdfs-sound")(tmp_path), tmp_path / "plan.json"
    words = ("--sink", "noop", "--to-batch", "2", "--out", str(saved))
    assert run_ckpt("plan-recovery", str(root), *words).code == 0
    plan, path = parse_plan(saved.read_bytes()), "offsets/2"
    version, conf, *sources = (root / path).read_text().splitlines()
    changed = json.loads(conf)
    assert pinned in changed["conf"]
    changed["conf"][pinned] = other
    content = "\n".join([version, json.dumps(changed), *sources])
    digest = sha256(content.encode()).hexdigest()
    step = PlannedStep(len(plan.steps) + 1, "write", "logs", "why", True, path=path, content=content, sha256=digest)
    saved.write_bytes(without(plan, steps=to_builtins([*plan.steps, step])))
    before = bodies(tree_of(root))
    refused = said("apply", str(saved), "--accept", "query-stopped")
    is_refused(refused, "plan-does-not-fit")
    assert refused["reasons"][0]["text"].startswith("what has to be done")
    assert bodies(tree_of(root)) == before


def test_whose_owner_could_not_be_kept_is_left_alone(stage: Stage) -> None:
    before = tree_of(stage.root)
    with patch.object(LocalDisk, "may_give", lambda *_: False):
        is_refused(stage.apply(), "owner-would-differ")
        assert tree_of(stage.root) == before
        assert stage.apply("--accept", "owner-would-differ")["state"] == "applied"


def test_where_there_is_no_room_nothing_is_begun(stage: Stage) -> None:
    before = tree_of(stage.root)
    with patch.object(LocalDisk, "free_bytes", lambda _: 1000):
        refused = stage.apply()
    is_refused(refused, "not-enough-room")
    assert refused["reasons"][0]["found"] == "1,000 bytes"
    assert tree_of(stage.root) == before


def test_a_link_put_there_meanwhile_is_not_followed(stage: Stage) -> None:
    away = stage.folder / "away"
    os.rename(stage.root / "commits" / "3", away)
    os.symlink(away, stage.root / "commits" / "3")
    before = away.read_bytes()
    refused = stage.apply("--accept", "query-stopped")
    assert (refused["exit"], refused["changed"]) == (6, False)
    assert set(ids(refused)) <= {"plan-does-not-fit", "not-writable"}
    assert (away.read_bytes(), (stage.root / "commits" / "3").is_symlink()) == (before, True)


@pytest.mark.parametrize("hours", [24, -24])
def test_a_clock_that_is_a_day_off_decides_nothing(hours: int, stage: Stage) -> None:
    """Then only what is written between the two looks counts."""
    for log in ("offsets", "commits"):
        newest = stage.root / log / "3"
        now = newest.stat().st_mtime_ns + hours * 3600 * 10**9
        os.utime(newest, ns=(now, now))
    assert stage.apply()["state"] == "applied"


# -- an odd `_ckpt` ----------------------------------------------------------------------------------------------------


def applied(stage: Stage) -> str:
    done = stage.apply()
    assert done["state"] == "applied", done["reasons"]
    return str(done["id"])


def test_a_fence_that_belongs_to_nothing_here_is_not_taken_down(tmp_path: Path) -> None:
    root = build(tmp_path / "q", FILES)
    (root / "metadata").write_text(APPLY_FENCE)
    before = tree_of(root)
    for words in (("apply", "--resume", str(root)), ("undo", str(root))):
        refused = said(*words)
        is_refused(refused, "apply-unfinished")
        assert "_ckpt/" in refused["reasons"][0]["next_step"]
    plan = json.loads(run_ckpt("plan-recovery", str(root), "--sink", "noop", "--format", "json").out)
    assert plan["restart"]["outcome"] == "error"
    assert plan["options"] == []
    assert "_ckpt/" in plan["refused"][0]["why"]
    assert tree_of(root) == before


def test_the_lock_of_somebody_who_is_gone_is_removed_and_nothing_else_offered(stage: Stage) -> None:
    with patch("ckpttool.apply.carry_out.look_around", side_effect=KeyboardInterrupt), \
            patch("ckpttool.apply.lock._let_go"):  # fmt: skip
        stage.apply()
    bury(stage.root)
    plan = json.loads(run_ckpt("plan-recovery", str(stage.root), "--sink", "noop", "--format", "json").out)
    assert [option["id"] for option in plan["options"]] == ["undo-apply"]
    assert said("undo", str(stage.root))["state"] == "nothing_to_do"
    assert not (stage.root / "_ckpt" / "lock").exists()


def test_where_all_was_done_nothing_is_left_to_do(stage: Stage) -> None:
    """Killed behind the last record: whoever goes on, or takes back, need not know that."""
    assert stage.apply()["state"] == "applied"
    new = tree_of(stage.root)
    again = said("apply", "--resume", str(stage.root))
    assert (again["exit"], again["state"], again["changed"]) == (0, "nothing_to_do", False)
    assert tree_of(stage.root) == new
    assert said("undo", str(stage.root))["state"] == "undone"
    again = said("undo", str(stage.root))
    assert (again["exit"], again["state"], again["identical"]) == (0, "nothing_to_do", True)
    (stage.root / "commits" / "3").unlink()
    assert said("undo", str(stage.root))["identical"] is False
    assert run_ckpt("apply", "--resume", str(stage.root), "--yes").code == 4


def test_what_somebody_else_keeps_in_our_place_stays(stage: Stage) -> None:
    for path in ("notes.txt", "applies/notes.txt", "applies/mine/plan.json", "applies/20260101T000000Z-000000/x"):
        place = stage.root / "_ckpt" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("mine")
    applied(stage)
    assert said("undo", str(stage.root))["identical"]
    assert (stage.root / "_ckpt" / "applies" / "mine" / "plan.json").read_text() == "mine"
    assert (stage.root / "_ckpt" / "notes.txt").read_text() == "mine"


def test_after_two_thousand_applies_it_asks_no_more(stage: Stage) -> None:
    first = applied(stage)
    before = said("undo", str(stage.root), "--dry-run")["requests"]
    kept = stage.root / "_ckpt" / "applies"
    for number in range(2000):
        one = kept / f"20200101T000000Z-{number:06x}"
        (one / "journal").mkdir(parents=True)
        (one / "plan.json").write_bytes(encode_plan(parse_plan((kept / first / "plan.json").read_bytes())))
        (one / "journal" / "000001").write_text('{"n": 1, "did": "done"}')
        os.utime(one / "plan.json", (1_500_000_000, 1_500_000_000))
    after = said("undo", str(stage.root), "--dry-run")
    assert (after["state"], after["undoes"]) == ("planned", first)
    assert after["requests"] == before
    assert ids_of(run_ckpt("inspect", str(stage.root), "--format", "json").out) == []
    assert said("undo", str(stage.root))["state"] == "undone"


def ids_of(document: str) -> list[str]:
    return [finding["id"] for finding in json.loads(document)["findings"]]


# -- interrupted by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_an_interruption_ends_it_behind_the_fence(times: int, stage: Stage) -> None:
    """Once: after the operation that it is at; twice: at once."""
    old, take, taken = bodies(tree_of(stage.root)), Work.take, list[object]()

    def interrupted(work: Work, *given: Any) -> bool:
        if not taken:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        taken.append(given)
        return take(work, *given)

    with patch.object(Work, "take", interrupted):
        done = stage.apply()
    assert (done["exit"], done["state"], done["changed"], done["fenced"]) == (130, "stopped", True, True)
    assert done["next"] == [f"ckpt apply --resume {stage.root}", f"ckpt undo {stage.root}"]
    assert ("once more stops at once" in done["err"], len(taken)) == (True, 2 - times)
    assert (stage.root / "metadata").read_bytes() in FENCES
    assert said("undo", str(stage.root))["state"] == "undone"
    assert bodies(tree_of(stage.root)) == old


# -- what comes between ------------------------------------------------------------------------------------------------


def is_stopped(document: dict[str, Any], reason: str, stage: Stage) -> None:
    assert (document["exit"], document["state"], document["fenced"]) == (1, "stopped", True)
    assert ids(document) == [reason]
    assert document["err"].splitlines()[-1].startswith(f"ckpt: {document['next'][0]} goes on")
    assert (stage.root / "metadata").read_bytes() in FENCES


def test_a_query_that_was_faster_than_the_wires_keeps_what_it_has(stage: Stage) -> None:
    old, fence_up = bodies(tree_of(stage.root)), Work.fence_up

    def overtaken(work: Work, *given: Any) -> None:
        fence_up(work, *given)
        (stage.root / "offsets" / "4").write_text("v1")

    with patch.object(Work, "fence_up", overtaken):
        is_refused(stage.apply(), "tripped")
    assert bodies(tree_of(stage.root)) == old | {"offsets/4": b"v1"}


@pytest.mark.parametrize(
    "wish", [("--take", "rewind-to-batch", "--to-batch", "2"), ("--take", "new-query-id")], ids=["rewind", "new-id"]
)
def test_a_sink_that_gets_a_batch_between_the_two_looks_ends_it(wish: tuple[str, ...], tmp_path: Path) -> None:
    """Whether a step changes it or not. The query dies at the wire, and its batch is not committed."""
    place_sample("4.2.0-file-to-parquet-sound", tmp_path / "sample")
    root, log = tmp_path / "sample" / "checkpoint", tmp_path / "sample" / "output" / "_spark_metadata"
    (root / "metadata").write_text("torn" if "new-query-id" in wish else (root / "metadata").read_text())
    newest = max((path for path in log.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    old, fence_up = bodies(tree_of(root)), Work.fence_up

    def overtaken(work: Work, *given: Any) -> None:
        fence_up(work, *given)
        shutil.copy(newest, log / str(int(newest.name) + 1))

    words = ("apply", str(root), "--sink", str(log.parent), "--accept", "query-stopped", *wish)
    with patch.object(Work, "fence_up", overtaken):
        is_refused(said(*words), "sink-changed")
    assert bodies(tree_of(root)) == old


def test_what_cannot_be_seen_is_out_of_reach_and_no_broken_promise(stage: Stage) -> None:
    promise = parse_plan(stage.plan.read_bytes()).promise
    unseen = replace(promise, restart=promise.restart | {"outcome": "unknown"})
    with (
        patch("ckpttool.apply.carry_out.promise_of", lambda _: unseen),
        patch.object(Diagnosis, "is_unreachable", True),
    ):
        done = stage.apply()
    assert (done["exit"], done["state"], done["fenced"]) == (5, "stopped", True)
    assert [one["id"] for one in done["reasons"]] == ["promise-not-kept"]
    assert said("apply", "--resume", str(stage.root))["state"] == "applied"


@pytest.mark.parametrize("path", ["offsets/5", "offsets/1", "sources/0/9"])
def test_what_comes_while_the_fence_is_held_keeps_it_up(path: str, stage: Stage) -> None:
    """`--hold` is for queries that wait, and wake up."""
    wait = Work.wait

    def woken(work: Work, seconds: float) -> None:
        wait(work, 0)
        if seconds == 60:
            (stage.root / path).write_text("v1")

    with patch.object(Work, "wait", woken):
        done = stage.apply("--hold", "60s")
        is_stopped(done, "plan-does-not-fit", stage)
        (stage.root / path).unlink()
        if path != "offsets/1":
            done = said("undo", str(stage.root), "--hold", "60s")
            is_stopped(done, "query-ran-since", stage)
            (stage.root / path).unlink()
            assert said("undo", str(stage.root))["state"] == "undone"


def test_a_promise_that_is_not_kept_leaves_the_fence(stage: Stage) -> None:
    old = bodies(tree_of(stage.root))
    promise = parse_plan(stage.plan.read_bytes()).promise
    other = replace(promise, restart=promise.restart | {"batch_id": 7})
    with patch("ckpttool.apply.carry_out.promise_of", lambda _: other):
        done = stage.apply()
    is_stopped(done, "promise-not-kept", stage)
    assert (done["kept"], done["found"]["batch_id"]) == (False, 7)
    assert (done["reasons"][0]["expected"], done["reasons"][0]["found"]) == ("2", "7")
    assert said("undo", str(stage.root))["state"] == "undone"
    assert bodies(tree_of(stage.root)) == old


def test_a_file_that_somebody_changes_meanwhile_is_left_as_it_is(stage: Stage) -> None:
    take = Work.take

    def overtaken(work: Work, change: Any, *given: Any) -> bool:
        (stage.root / change.path).write_text("another")
        return take(work, change, *given)

    with patch.object(Work, "take", overtaken):
        done = stage.apply()
    is_stopped(done, "neither-old-nor-new", stage)
    assert next(step["result"] for step in done["steps"] if step["result"] != "was_done") == "failed"


def test_where_two_may_write_the_same_new_file_no_lock_holds(stage: Stage) -> None:
    create = LocalDisk.create

    def carelessly(disk: LocalDisk, path: str, *given: Any) -> None:
        with suppress(AlreadyThere):
            create(disk, path, *given)

    before = tree_of(stage.root)
    with patch.object(LocalDisk, "create", carelessly):
        is_refused(stage.apply(), "no-exclusive-create")
    assert tree_of(stage.root) == before | {".": tree_of(stage.root)["."]}, "but for the time at which `_ckpt` was made"


def test_what_is_refused_and_stopped_has_every_field(stage: Stage) -> None:
    """As what was applied has it."""
    whole = set(stage.apply())
    refused = set(stage.apply("--dry-run"))
    assert whole == refused
    assert whole - {"exit", "err"} == FIELDS
    assert set(said("undo", str(stage.root))) - {"exit", "err"} == FIELDS | {"undoes", "identical", "times_restored"}


FIELDS = {
    "schema", "ckpt_version", "checkpoint", "id", "option", "state", "changed", "fenced", "resumed", "steps", "backup",
    "promise", "found", "in_spark", "kept", "sinks", "conf", "requests", "reasons", "next", "findings",
}  # fmt: skip
