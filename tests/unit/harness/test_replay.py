"""Which image a seed stands for, and what is no image at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.errors import NotFound
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_histories, parse_histories
from ckpttool.harness.images import Image, Images
from ckpttool.harness.place import JobPlace
from ckpttool.harness.replay import image_of_seed
from ckpttool.harness.settings import TrialSettings, save_settings
from tests.conftest import run_ckpt
from tests.history_builders import Shape, sound_history

LOST = Path(__file__).parents[2] / "known_bad" / "row-lost.jsonl"


def trial(root: Path, seed: int, *names: str) -> Path:
    """As a run leaves it, with a loss in each of these scenarios and none in another."""
    (root / "histories").mkdir(parents=True)
    save_settings(root, TrialSettings(Driver(Path("python3")), "4.2.0", seed), [])
    sound = sound_history(Shape())
    (root / "histories" / "a-sound.jsonl").write_text(encode_histories(Histories(sound.run, (sound.case,))))
    bad = parse_histories(LOST.read_text())
    for name in names:
        case = replace(bad.cases[0], image=str(root / "images" / name / "0001"))
        histories = Histories(replace(bad.run, scenario=name), (case,))
        (root / "histories" / f"{name}.jsonl").write_text(encode_histories(histories))
    return root


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_seed_is_its_first_failure(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7, "orders")
    assert image_of_seed(7, root) == root / "images" / "orders" / "0001"


def test_the_smallest_failure_comes_first(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7, "orders", "orders-smallest")
    assert image_of_seed(7, root) == root / "images" / "orders-smallest" / "0001"


def test_without_a_directory_it_is_the_newest_trial_of_the_seed(temporary: Path) -> None:
    for number, seed in enumerate((7, 7, 8)):
        os.utime(trial(temporary / f"ckpt-crash-{number}", seed, "orders"), (number, number))
    (temporary / "ckpt-crash-4").mkdir()
    (temporary / "ckpt-crash-4" / "trial.json").write_text("{}")
    assert image_of_seed(7) == temporary / "ckpt-crash-1" / "images" / "orders" / "0001"
    with pytest.raises(NotFound, match="no trial of seed 9"):
        image_of_seed(9)


def test_a_seed_with_nothing_to_show(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7)
    with pytest.raises(NotFound, match="every case of seed 7"):
        image_of_seed(7, root)
    with pytest.raises(NotFound, match="is of seed 7"):
        image_of_seed(8, root)


def test_a_spark_that_is_gone_is_no_verdict(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7, "file-to-append")
    save_settings(root, TrialSettings(Driver(Path("/bin/false")), "4.2.0", 7), [])
    (root / ".ckpttool-scratch").touch()
    image = Image(1, "commit-log-begin", "commit-log-begin", 8, "doubled", 2, 1, "main")
    place = JobPlace(root / "work" / "file-to-append")
    images = Images(root / "images" / "file-to-append", place.parts)
    place.checkpoint.mkdir(parents=True)
    images.take(image, place.root)
    outcome = run_ckpt("crash-test", "replay", str(images.path(image)))
    assert outcome.code == 5
    assert "Spark does not start" in outcome.err


@pytest.mark.parametrize("path", ["nowhere", "/", "."])
def test_what_is_no_image_is_not_found(tmp_path: Path, path: str) -> None:
    outcome = run_ckpt("crash-test", "replay", path, cwd=tmp_path)
    assert outcome.code == 4
    assert "Traceback" not in outcome.err
