"""A wish as JSON, and what it asks for if it does not say so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ckpttool import open_checkpoint
from ckpttool.plan.wishes import DropBatch, Rewind, Wish, verb_of
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import build


def test_the_verb_is_a_field_of_its_json() -> None:
    assert msgspec.to_builtins(Rewind(to_batch=7)) == {"verb": "rewind", "to_batch": 7}
    assert verb_of(Rewind) == verb_of(Rewind(3)) == "rewind"


def test_unless_it_says_more_it_depends_on_what_every_way_out_does(tmp_path: Path) -> None:
    scene = Scene(gather_evidence(open_checkpoint(str(build(tmp_path, "k0-10 c")))), Start((4, 2, 0)))
    wish = DropBatch()
    assert (wish.versions(scene), wish.lacks(scene.evidence)) == (None, False)
    assert not [*wish.reads(scene), *wish.dates(scene)]
    with pytest.raises(NotImplementedError):
        Wish().repair(scene)
