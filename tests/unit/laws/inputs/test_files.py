"""What a file source does not find, and what was not to be seen of an input."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.connectors.delta import DeltaOffset
from ckpttool.connectors.file import FileOffset
from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput, FileInput, InputEvidence, LastRange
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Doubt, Failure, Scene
from tests.unit.reading.inputs.replayed import Query

RANGE = LastRange("0", None, FileOffset("certain", 3))


def judge(root: Path, *inputs: InputEvidence) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    """Of a query whose batch 3 runs again."""
    scene: Scene = Query(root).scene()
    return judge_inputs(replace(scene, inputs=inputs))


def told(root: Path, **found: object) -> list[str]:
    lookup = Lookup(**found)  # type: ignore[arg-type]
    obstacle, findings = judge(root, FileInput(RANGE, lookup))
    assert obstacle is None, "the file source never refuses to go on"
    return [f"{one.severity} {one.id} {one.message}" for one in findings]


def test_files_that_are_gone_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    (said,) = told(tmp_path, looked_at=4, gone=frozenset({"/in/b", "/in/a"}))
    lost = "error source-file-deleted-before-replay batch 3 runs again, and of its 4 input files 2 cannot be found"
    assert said == f"{lost}: /in/a and 1 more"


@pytest.mark.parametrize(
    ("error", "said"),
    [(Unavailable("no route"), "warning source-unreachable"), (Refused("no driver"), "info source-not-looked-at")],
)
def test_a_folder_that_was_not_to_be_asked(tmp_path: Path, error: CkptError, said: str) -> None:
    (one,) = told(tmp_path, unreachable=(("s3://b", error),))
    assert one.startswith(f"{said} whether the input of batch 3 in s3://b is still there is not known")


def test_what_was_not_looked_for_is_said(tmp_path: Path) -> None:
    (one,) = told(tmp_path / "a", elsewhere=("/data",))
    assert one == "info source-not-looked-at the input of batch 3 was not looked for: /data is not on this machine"
    obstacle, (finding,) = judge(tmp_path / "b", FileInput(RANGE, Lookup(), left_out=2))
    assert (obstacle, "the 2 oldest files were not looked for" in finding.message) == (None, True)


@pytest.mark.parametrize(("error", "said"), [(Unavailable("x"), "unreachable"), (Refused("x"), "unreadable")])
def test_a_table_that_could_not_be_read_leaves_the_restart_open(tmp_path: Path, error: CkptError, said: str) -> None:
    offset = DeltaOffset("certain", 1, "t", 4, -100, is_initial_snapshot=False)
    obstacle, findings = judge(tmp_path, DeltaInput(LastRange("0", None, offset), "/t", error=error))
    assert isinstance(obstacle, Doubt)
    assert [(one.id, one.severity) for one in findings] == [(f"source-{said}", "warning")]
