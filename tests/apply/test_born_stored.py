"""Checkpoints that come into being in another place of a store of objects, or of another store."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from ckpttool.api import Restarted
from ckpttool.apply import places
from ckpttool.apply.make_plan import plan_at
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile, encode_plan, parse_plan
from ckpttool.apply.run import apply_plan, plan_to_undo, take_back_plan
from ckpttool.apply.stores.opening import open_tree
from ckpttool.apply.work import ApplySettings
from ckpttool.formats.metadata import moved_to
from ckpttool.plan.wishes import Clone, Fork, Relocate, Wish
from tests.apply.stages import story
from tests.conftest import AT_LENGTH, CHANGEABLE
from tests.parts.hdfs import HdfsServer
from tests.parts.stores import ObjectServer

IN_GATE = (("s3", "clone"), ("s3", "relocate"), ("azure", "relocate"), ("generations", "clone"))
MADE: Mapping[str, Callable[[str], Wish]] = {
    "clone": Clone,
    "fork": Fork,
    "relocate": lambda target: Relocate(target, (("/in", "/mnt/in"),)),
}
EACH = [
    pytest.param(kind, verb, marks=() if (kind, verb) in IN_GATE else AT_LENGTH)
    for kind in (*CHANGEABLE, "hdfs")
    for verb in MADE
]
Server = Callable[[str], ObjectServer]


class Born:
    """`here` and `there`: URLs. `accepted`: all that a person has to know."""

    def __init__(self, verb: str, here: str, there: str, options: Mapping[str, str]) -> None:
        self.here, self.there, self.options = here, there, options
        made = plan_at(here, verb, Restarted(wish=MADE[verb](there), sinks=["noop"]), options)
        self.plan: PlanFile = parse_plan(encode_plan(made))
        accepted = frozenset({"query-stopped", *(one.id for one in self.plan.conditions)})
        self.settings = ApplySettings(settle=0, accepted=accepted, storage=options)

    def carry_out(self) -> Outcome:
        return apply_plan(self.plan, self.settings)

    def take_back(self) -> Outcome:
        plan = plan_to_undo(self.there, None, self.options)
        assert plan is not None
        return take_back_plan(plan, self.settings)

    def contents(self, url: str) -> dict[str, bytes]:
        tree = open_tree(url, places.STAGING, self.options)
        if tree.names("") is None:
            return {}
        paths = [path for path in tree.sizes_below("") if not path.startswith("_ckpt/")]
        return {path: b"".join(tree.pieces(path)) for path in paths}


def in_store(server: ObjectServer, folder: Path, verb: str) -> Born:
    root = story("f0 k0-10 c | f1 k10-30 c")(folder / uuid4().hex)
    here = f"{server.put(root.parent, f'b{uuid4().hex}')}/{root.name}"
    user = {"user": getpass.getuser()} if isinstance(server, HdfsServer) else {}
    return Born(verb, here, f"{here.rpartition('/')[0]}/copy", {**server.options, **user})


@pytest.mark.parametrize(("kind", "verb"), EACH)
def test_it_comes_into_being_and_goes_again(object_server: Server, kind: str, verb: str, tmp_path: Path) -> None:
    born = in_store(object_server(kind), tmp_path, verb)
    old = born.contents(born.here)
    outcome = born.carry_out()
    assert (outcome.state, outcome.kept) == ("applied", True), outcome.reasons
    new, left = born.contents(born.there), born.contents(born.here)
    if verb == "clone":
        assert {**new, "metadata": b""} == {**old, "metadata": b""}
    if verb == "relocate":
        assert (new["metadata"], moved_to(left["metadata"])) == (old["metadata"], born.there)
        assert new["sources/0/0"] == old["sources/0/0"].replace(b"file:///in/", b"file:///mnt/in/")
    else:
        assert left == old
    assert born.carry_out().state == "nothing_to_do"
    assert born.take_back().state == "undone"
    assert (born.contents(born.here), born.contents(born.there)) == (old, {})


@pytest.mark.parametrize("kind", ["s3", pytest.param("hdfs", marks=AT_LENGTH)])
def test_the_place_has_to_be_empty(object_server: Server, kind: str, tmp_path: Path) -> None:
    born = in_store(object_server(kind), tmp_path, "clone")
    open_tree(born.there, places.STAGING, born.options).create("theirs", [b"kept"])
    outcome = born.carry_out()
    assert (outcome.state, [one.id for one in outcome.reasons]) == ("refused", ["plan-does-not-fit"])
    assert born.contents(born.there) == {"theirs": b"kept"}


def test_from_the_disk_to_a_store_and_back(object_server: Server, tmp_path: Path) -> None:
    """Files of a store have no owner and no mode: there they have those of whoever wrote them."""
    server = object_server("s3")
    root = story("f0 k0-10 c | f1 k10-30 c")(tmp_path / "disk")
    above = server.put(tmp_path / "disk", f"b{uuid4().hex}")
    up = Born("relocate", str(root), f"{above}/copy", server.options)
    assert up.carry_out().state == "applied"
    down = Born("clone", up.there, str(tmp_path / "back"), server.options)
    assert down.carry_out().state == "applied"
    assert set(down.contents(down.there)) == set(up.contents(up.there))
    assert down.take_back().state == "undone"
    assert not (tmp_path / "back").exists()
    assert up.take_back().state == "undone"
