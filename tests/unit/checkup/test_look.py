"""Over one loading, as far as the profile goes; and a law that fails does not spoil the others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpttool.api import Restarted
from ckpttool.checkup.look import check_up
from ckpttool.laws import book, health
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.scene import Failure, Scene
from tests.builders import build
from tests.samples.place import about, sample_names
from tests.unit.checkup.checkups import checked, results, told

pytestmark = pytest.mark.usefixtures("in_a_place_that_lasts")

BROKEN = "k0-10 c | k10-20 c | lost c"
SOUND = "k0-10 c | k10-20 c"
STATEFUL = "4.2.0-windowed-agg-hdfs-sound"


def fails(_: Scene) -> Iterator[Finding]:
    found: dict[str, list[Finding]] = {}
    return iter(found["a bug"])


def stops(_: Scene) -> Failure | None:
    found: dict[str, Failure] = {}
    return found["a bug"]


def test_a_law_that_fails_could_not_and_the_others_still_speak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "TELLING", (*book.TELLING, Law("bug", "x", look=fails)))
    monkeypatch.setattr(health, "LAWS", (*health.LAWS, Law("old", "x", look=fails, severities=("warning",))))
    checkup = checked(build(tmp_path, BROKEN))
    assert (results(checkup)["bug"], results(checkup)["old"]) == ("could_not", "could_not")
    assert "commit-ahead-of-offset" in told(checkup)
    assert (checkup.verdict, checkup.exit_code) == ("unfit", 1)


def test_without_a_law_that_may_stop_it_no_query_is_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "BATCH", (*book.BATCH, Law("bug", "x", "Spark", stops)))
    checkup = checked(build(tmp_path, SOUND))
    assert (results(checkup)["bug"], checkup.verdict, checkup.exit_code) == ("could_not", "unknown", 3)


def test_whoever_looks_for_the_bug_gets_to_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "TELLING", (*book.TELLING, Law("bug", "x", look=fails)))
    with pytest.raises(KeyError):
        check_up(str(build(tmp_path, SOUND)), Restarted(), now_ms=0, forgiving=False)


def test_what_is_no_bug_of_a_law_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="does not exist"):
        checked(tmp_path / "nowhere")


def test_full_reads_what_is_inside_the_state(sample: Callable[[str], Path], tmp_path: Path) -> None:
    root = tmp_path / "ck"
    shutil.copytree(sample(STATEFUL) / "checkpoint", root)
    newest = max((root / "state/0/0").glob("[0-9]*.delta"), key=lambda path: int(path.stem))
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    body = newest.read_bytes()
    newest.write_bytes(body[: len(body) // 2] + bytes(len(body) - len(body) // 2))
    assert checked(root, profile="quick").verdict == "fit"
    assert checked(root, profile="full").verdict == "unfit"


@pytest.mark.parametrize("name", [name for name in sample_names() if not about(name)["defect"]])
def test_what_is_sound_has_no_error_and_no_warning(sample: Callable[[str], Path], name: str) -> None:
    """But for the place that the tests put it in, which is cleared away one day."""
    root = sample(name)
    sinks = [str(root / beside) for beside in ("output", "table") if (root / beside).is_dir()]
    checkup = checked(root / str(about(name)["checkpoint"]), sinks)
    asking = {one.finding.id for one in checkup.findings if one.finding.severity != "info"}
    assert asking <= {"temporary-location"}
    assert checkup.failed == {}
    assert checkup.verdict in (("unknown",) if checkup.diagnosis.evidence.mode == "dstreams" else ("fit", "attention"))
