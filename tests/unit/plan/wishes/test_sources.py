"""Sources that come, go, change places or begin anew: their lines, and their directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool.plan import Plan, WayOut, Write
from ckpttool.plan.wishes import ChangeSources
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import build
from tests.take_steps import within_fence
from tests.unit.plan.plans import delta, look, paths, state_of

NOOP = SinkEvidence("noop", "noop")
TWO = "f0 k0-10 c | f1 k10-30 c"


def wished(root: Path, change: Any, *numbers: int, story: str = TWO, order: str | None = None, **more: Any) -> Plan:
    build(root, story, **more)
    number, to = (*numbers, None)[:2]
    return look(root, NOOP, wish=ChangeSources(change, number or 0, to, order))[0]


def way(plan: Plan) -> WayOut:
    assert len(plan.options) == 1, plan.refused
    return plan.options[0]


def lines(option: WayOut) -> dict[str, list[str]]:
    written = [step for step in within_fence(option.steps) if isinstance(step, Write)]
    return {step.path: [line[:3] for line in step.content.split("\n")[2:]] for step in written}


def touched(option: WayOut) -> list[str]:
    return [one for one in paths(option) if "sources" in one]


def asked(option: WayOut) -> list[str]:
    return [one.id for one in option.conditions if one.who == "you"]


FILE, KAFKA = '{"l', '{"t'


def test_one_more_begins_where_its_options_say(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "add", 0))
    assert lines(option) == {path: ["-", FILE, KAFKA] for path in ("offsets/0", "offsets/1")}
    assert touched(option) == ["-sources/0", "-sources/1", ">sources/0 sources/1", ">sources/1 sources/2"]
    newest = option.after.batch(1)
    assert newest is not None
    assert [source.text is None for source in newest.sources] == [True, False, False]
    assert asked(option) == ["source-order"]


def test_one_more_at_the_end_moves_nothing(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "add", 2, order="0,1,-"))
    assert lines(option)["offsets/1"] == [FILE, KAFKA, "-"]
    assert (touched(option), asked(option)) == ([], [])


def test_one_that_goes_takes_what_it_kept(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "drop", 0))
    assert lines(option)["offsets/0"] == [KAFKA]
    assert touched(option) == ["-sources/0", "-sources/1", ">sources/1 sources/0"]
    assert asked(option) == ["source-order", "rows-lost"]


def test_two_change_places(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "move", 0, 1))
    assert touched(option) == ["-sources/0", "-sources/1", ">sources/1 sources/0", ">sources/0 sources/1"]
    logs = {log.name: (log.kind, list(log.names.ids)) for log in option.after.checkpoint.source_logs}
    assert logs == {"0": (None, [0]), "1": ("file", [0, 1])}
    raw = option.after.checkpoint.raw
    assert {path: raw[path][:1] for path in raw if "sources" in path} == {
        "sources/0/0": b"\0",
        "sources/1/0": b"v",
        "sources/1/1": b"v",
    }


def test_one_begins_anew(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "reset", 0))
    assert lines(option)["offsets/1"] == ["-", KAFKA]
    assert touched(option) == ["-sources/0"]
    assert asked(option) == ["rows-lost", "rows-twice"]


def test_the_first_batch_has_none_before_it(tmp_path: Path) -> None:
    option = way(wished(tmp_path, "add", 2, story="f0 k0-10 c"))
    assert list(lines(option)) == ["offsets/0"]


def test_what_is_planned_and_not_committed_goes_first(tmp_path: Path) -> None:
    build(tmp_path, f"{TWO} | f2 k30-40")
    plan, _ = look(tmp_path, delta(0, 1), wish=ChangeSources("add", 2))
    assert "-offsets/2" in paths(way(plan))
    assert not look(tmp_path, delta(0, 1, 2), wish=ChangeSources("add", 2))[0].options


@pytest.mark.parametrize(
    ("change", "numbers", "given", "why"),
    [
        ("add", (3,), {}, "there is no source 3"),
        ("drop", (2,), {}, "numbered from 0 to 1"),
        ("move", (0, 2), {}, "there is no source 2"),
        ("drop", (0,), {"story": "k0-10 c | k10-30 c"}, "a query without a source is none"),
        ("add", (0,), {"order": "0,-,1"}, "that makes the order -,0,1"),
        ("add", (0,), {"story": "f0 k0-10 c | f1 k10-30"}, "one sink"),
        ("add", (0,), {"story": "f0 k0-10"}, "no batch is finished"),
        ("move", (1, 1), {}, "stands there already"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: Any, numbers: tuple[int, ...], given: Any, why: str) -> None:
    plan = wished(tmp_path, change, *numbers, **given)
    if why == "one sink":
        assert plan.options, "a sink that keeps nothing does not have it"
        return
    assert not plan.options
    assert why in plan.refused[0].why


def test_names_need_no_order(tmp_path: Path) -> None:
    plan = wished(tmp_path, "move", 0, 1, offsets_version=2)
    assert "their order does not matter" in plan.refused[0].why


def test_state_keeps_what_a_source_gave_it(tmp_path: Path) -> None:
    build(tmp_path, TWO)
    state_of(tmp_path, 1, 2)
    for change, ids in (("drop", ["state-keeps-rows"]), ("reset", ["state-keeps-rows", "state-counts-twice"])):
        wish = ChangeSources(change, 0, order="1" if change == "drop" else None)  # type: ignore[arg-type]
        plan, _ = look(tmp_path, NOOP, wish=wish, state=True)
        assert [one for one in asked(way(plan)) if one.startswith("state")] == ids


# -- names -------------------------------------------------------------------------------------------------------------


def renamed(root: Path, old: str, new: str, story: str = TWO, version: int = 2) -> Plan:
    build(root, story, offsets_version=version)
    for batch in root.glob("offsets/*"):
        batch.write_text(batch.read_text().replace("\n0:", "\norders:").replace("\n1:", "\nclicks:"))
    if version == 2:
        (root / "sources" / "0").rename(root / "sources" / "orders")
        (root / "sources" / "1").rename(root / "sources" / "clicks")
    return look(root, NOOP, wish=ChangeSources("rename", 0, names=(old, new)))[0]


def test_a_source_may_have_another_name(tmp_path: Path) -> None:
    option = way(renamed(tmp_path, "orders", "all_orders"))
    written = {step.path: step.content for step in within_fence(option.steps) if isinstance(step, Write)}
    assert list(written) == ["offsets/0", "offsets/1"]
    for content in written.values():
        assert [line.partition(":")[0] for line in content.split("\n")[2:]] == ["all_orders", "clicks"]
    assert touched(option) == ["-sources/orders", ">sources/orders sources/all_orders"]
    assert "all_orders" in {log.name for log in option.after.checkpoint.source_logs}
    assert "begins anew" in (option.trap or "")


def test_also_where_the_newest_batch_is_not_finished(tmp_path: Path) -> None:
    option = way(renamed(tmp_path, "clicks", "views", "f0 k0-10 c | f1 k10-30"))
    assert (option.after.is_replay, option.rows_lost, option.rows_duplicated) == (True, 0, 0)


@pytest.mark.parametrize(
    ("old", "new", "version", "why"),
    [
        ("orders", "all", 1, "name no source"),
        ("nobody", "all", 2, "no source is called nobody: there are clicks, orders"),
        ("orders", "clicks", 2, "is called clicks already"),
        ("orders", "all orders", 2, "Spark takes letters"),
        ("orders", "7", 2, "no number alone"),
    ],
)
def test_but_not_every_name(old: str, new: str, version: int, why: str, tmp_path: Path) -> None:
    plan = renamed(tmp_path, old, new, version=version)
    assert not plan.options
    assert why in plan.refused[0].why
