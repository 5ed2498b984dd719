"""A plan says everything, and fits or is refused: what it relies on, bit by bit."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import ckpttool
from ckpttool.api import Restarted
from ckpttool.apply.changes import FileChanges
from ckpttool.apply.plan_file import (
    SCHEMA,
    BadPlan,
    FileMark,
    NamesMark,
    PlanFile,
    PlannedStep,
    asked_of,
    encode_plan,
    load_plan,
    parse_plan,
    sealed,
)
from tests.apply.dying import System, on
from tests.apply.stages import STAGES, Stage, bodies, carry_out, plan_for, tree_of
from tests.apply.test_found_plans import save
from tests.builders import build
from tests.conftest import run_ckpt

REWIND = STAGES[0]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> PlanFile:
    return REWIND.plan(REWIND.set_up(tmp_path_factory.mktemp("plan") / "a"))


def without(plan: PlanFile, **fields: object) -> bytes:
    """Another plan, sealed anew, as somebody makes it who knows how."""
    changed = json.loads(encode_plan(plan)) | fields
    return encode_plan(sealed(msgspec.convert(changed | {"sha256": ""}, PlanFile)))


# -- as text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_a_plan_is_the_same_when_it_is_read_again(stage: Stage, tmp_path: Path) -> None:
    plan = stage.plan(stage.set_up(tmp_path / "a"))
    assert parse_plan(encode_plan(plan)) == plan


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_refused(plan: PlanFile, where: float, bit: int) -> None:
    body = bytearray(encode_plan(plan))
    body[int(where * len(body))] ^= 1 << bit
    try:
        read = parse_plan(bytes(body))
    except (BadPlan, UnicodeDecodeError):
        return
    assert read == plan, "a blank between two fields says nothing"


STRANGE: Sequence[Any] = ("gone", None, "", -1, 2**70, [], {}, "\ud800", "a/../b", "\0", "z://")


def test_whatever_stands_in_it_is_a_plan_or_is_refused(tmp_path: Path) -> None:
    """Each of its values in turn is another, or is left out, and it is sealed anew."""
    root = REWIND.set_up(tmp_path / "a")
    told = json.loads(encode_plan(REWIND.plan(root)))
    strange = cycle(STRANGE)
    for holder, key in list(_values(told)):
        before, other = holder[key], next(strange)
        if other == "gone" and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = other
        save(tmp_path / "plan.json", told)
        shown = run_ckpt(
            "apply", str(tmp_path / "plan.json"), "--dry-run", "--settle", "0s", "--accept", "query-stopped"
        )
        assert shown.code in (0, 1, 4, 5, 6), (key, other, shown.err)
        holder[key] = before


@pytest.mark.parametrize(
    ("field", "other"),
    [("checkpoint", "/ck\0"), ("checkpoint", "/\ud800"), ("created_ms", "\ud800")],
)
def test_what_no_system_has_is_refused(plan: PlanFile, tmp_path: Path, field: str, other: str) -> None:
    save(tmp_path / "plan.json", json.loads(encode_plan(plan)) | {field: other})
    with pytest.raises(BadPlan):
        parse_plan((tmp_path / "plan.json").read_bytes())


def test_an_empty_path_leads_nowhere(plan: PlanFile) -> None:
    steps = [{**step, "path": ""} if step.get("path") else step for step in json.loads(encode_plan(plan))["steps"]]
    with pytest.raises(BadPlan, match="leads out"):
        parse_plan(without(plan, steps=steps))


def _values(told: object) -> Iterator[tuple[Any, Any]]:
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, value in items:
        yield told, key
        yield from _values(value)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(where=st.floats(0, 1, exclude_max=True))
def test_a_cut_one_is_refused(plan: PlanFile, where: float) -> None:
    body = encode_plan(plan).rstrip()
    with pytest.raises(BadPlan):
        parse_plan(body[: int(where * len(body))])


@pytest.mark.parametrize("restart", [{}, {"error": "text"}, {"sources": [[]]}, {"batch_id": "3"}], ids=str)
def test_a_restart_of_another_shape_is_refused(plan: PlanFile, restart: dict[str, object]) -> None:
    told = plan.promise.restart | restart if restart else {}
    for field in ({"promise": {"restart": told, "sinks": [], "errors": []}}, {"before": told}):
        with pytest.raises(BadPlan, match="not as ckpt writes it"):
            parse_plan(without(plan, **field))


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"[]", b"null", b"{}", b'{"schema": 1}', b"[" * 100_000, b'{"schema":"ckpt.plan/2"}',
     b'{"schema":"ckpt.apply/1"}', b'{"schema":"ckpt.plan/1"}'],
    ids=["empty", "no-text", "list", "null", "nothing", "number", "deep", "newer", "another", "unsealed"],
)  # fmt: skip
def test_what_is_no_plan_is_refused(body: bytes) -> None:
    with pytest.raises(BadPlan):
        parse_plan(body)


@pytest.mark.parametrize(
    "path", ["../x", "offsets/../../x", "a//b", "./x", "_ckpt/lock", "offsets/\0", "a/./b"], ids=repr
)
def test_paths_that_lead_elsewhere_are_refused(plan: PlanFile, path: str) -> None:
    steps = [{"n": 1, "kind": "set_aside", "target": "logs", "why": "", "reversible": True, "path": path}]
    for body in (without(plan, steps=steps), without(plan, wires=[path])):
        with pytest.raises(BadPlan):
            parse_plan(body)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(BadPlan, match="larger than any plan"):
        load_plan(str(path))


def test_it_holds_no_option_that_may_be_secret(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "f0 c | f1 c")
    secrets = {"kafka.sasl.jaas.config": "hunter2", "fs.s3a.secret.key": "hunter2", "password": "hunter2"}
    restarted = Restarted(
        sinks=["noop"], options={**secrets, "startingOffsets": "earliest"}, conf={"spark.hadoop.fs.key": "hunter2"}
    )
    (root / "commits" / "1").write_text("v1\n{")
    plan = plan_for(root, "write-commit-again", restarted)
    assert b"hunter2" not in encode_plan(plan)
    assert plan.asked.options == {"startingOffsets": "earliest"}
    assert plan.asked.withheld == sorted([*secrets, "spark.hadoop.fs.key"])
    assert plan.schema == SCHEMA


def test_it_holds_every_option_that_a_law_asks_for() -> None:
    """Without one of them another restart would be predicted when it is carried out, and it would be refused."""
    laws = "".join(path.read_text() for path in (Path(ckpttool.__file__).parent / "laws").rglob("*.py"))
    named = re.findall(r"""(?:option|is_on)\([^"()]*((?:"[\w.-]+"(?:, )?)+)""", laws)
    asked = {name for several in named for name in re.findall(r'"([\w.-]+)"', several)}
    asked = {name for name in asked if not name.startswith("spark.")}
    assert {"readChangeFeed", "skipChangeCommits", "stream-from-timestamp"} <= asked
    kept = asked_of(Restarted(options=dict.fromkeys(asked, "1")))
    assert kept.withheld == []


# -- whether it fits ---------------------------------------------------------------------------------------------------

Edit = Callable[[Path], object]


def of(path: str, body: bytes | None) -> Edit:
    def edit(root: Path) -> None:
        if body is None:
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(body)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        of("offsets/4", b"v1\n{}"),
        of("offsets/.tmp", b""),
        of("commits/4", b"v1\n{}"),
        of("sources/0/9", b"v1"),
        of("offsets/3", b"v1\n{"),
        of("commits/2", None),
        of("offsets/1", b"v1\n{"),
        of("metadata", b'{"id":"0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4e"}'),
        of("sources/0/3", None),
        of("extra", b""),
    ],
    ids=["planned", "temporary", "committed", "source-entry", "torn", "gone", "kept-and-torn", "another-id",
         "entry-gone", "foreign"],
)  # fmt: skip
def test_what_it_relies_on_may_not_change(edit: Edit, tmp_path: Path) -> None:
    root = REWIND.set_up(tmp_path / "a")
    plan = REWIND.plan(root)
    edit(root)
    before = tree_of(tmp_path / "a")
    with on(System()):
        outcome = carry_out(plan)
    assert outcome.state == "refused"
    assert {reason.id for reason in outcome.reasons} == {"plan-does-not-fit"}
    assert all(reason.expected and reason.found for reason in outcome.reasons)
    assert tree_of(tmp_path / "a") == before


@pytest.mark.parametrize("edit", [of("commits/0", b"v1\n{ }"), of("../beside", b"z")],
                         ids=["old-commit", "elsewhere"])  # fmt: skip
def test_what_is_changed_elsewhere_does_not_matter(edit: Edit, tmp_path: Path) -> None:
    stage = Stage("back", REWIND.make, "rewind-to-batch", 2)
    root = stage.set_up(tmp_path / "a")
    plan = stage.plan(root)
    edit(root)
    with on(System()):
        outcome = carry_out(plan)
    assert outcome.state == "applied", outcome.reasons


def test_of_another_checkpoint_it_is_refused(tmp_path: Path) -> None:
    plan = REWIND.plan(REWIND.set_up(tmp_path / "a"))
    other = build(tmp_path / "other", "f0 c | f1 c | f2 c | f3 c | f4 c")
    with on(System()):
        outcome = carry_out(parse_plan(without(plan, checkpoint=str(other))))
    assert outcome.state == "refused"


@pytest.mark.parametrize("where", ["offsets", "commits/3"])
def test_links_are_not_changed_through(where: str, tmp_path: Path) -> None:
    """Put there between the plan and the look."""
    root = REWIND.set_up(tmp_path / "a")
    plan = REWIND.plan(root)
    away = tmp_path / "away"
    os.rename(root / where, away)
    os.symlink(away, root / where)
    before = bodies(tree_of(tmp_path))
    with on(System()):
        outcome = carry_out(plan)
    assert outcome.state == "refused"
    assert bodies(tree_of(tmp_path)) == before


# Ways out of a directory, as somebody may spell them, beside names that stay.
CLIMBS = st.sampled_from(["..", ".", "", "/", "//", "_ckpt", "a", "offsets", "%2e%2e", "\0", "file:", "s3://b", "~"])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(parts=st.lists(CLIMBS, min_size=1, max_size=5), field=st.sampled_from(["step", "mark", "name", "wire", "move"]))
def test_no_path_leads_out_of_the_checkpoint_and_its_sinks(plan: PlanFile, parts: list[str], field: str) -> None:
    """Whatever is read as a plan: each change is of a file below the checkpoint, or below a sink that it names."""
    path = "/".join(parts)
    try:
        found = parse_plan(encode_plan(sealed(with_path(plan, field, path))))
    except BadPlan:
        return
    for change in FileChanges(found).every:
        root = os.path.normpath(FileChanges(found).roots[change.tree])
        assert os.path.normpath(f"{root}/{change.path}").startswith(f"{root}/")
        assert change.path.split("/")[0] != "_ckpt"


def with_path(plan: PlanFile, field: str, path: str) -> PlanFile:
    relied = plan.relies_on
    if field == "wire":
        return replace(plan, wires=[path])
    if field == "mark":
        return replace(plan, relies_on=replace(relied, files=[*relied.files, FileMark(path, absent=True)]))
    if field == "name":
        return replace(plan, relies_on=replace(relied, names=[*relied.names, NamesMark(path, "", 0)]))
    step = PlannedStep(len(plan.steps) + 1, "write", "logs", "", True, path=path, content="x", sha256="")
    moved = PlannedStep(len(plan.steps) + 1, "move", "sources", "", True, path="offsets/2", to=path)
    return replace(plan, steps=[*plan.steps, moved if field == "move" else step])
