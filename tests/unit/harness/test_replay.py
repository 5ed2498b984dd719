"""Which image a seed stands for, and what is no image at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.apply.consent import give_consent, trials
from ckpttool.errors import NotFound
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_histories, parse_histories
from ckpttool.harness.images import Image, Images
from ckpttool.harness.place import JobPlace
from ckpttool.harness.replay import image_of_seed
from ckpttool.harness.scenarios import SCENARIOS, job_scenario
from ckpttool.harness.settings import FILE, TrialSettings, save_settings
from tests.conftest import run_ckpt
from tests.history_builders import Shape, sound_history

LOST = Path(__file__).parents[2] / "known_bad" / "row-lost.jsonl"


def trial(root: Path, seed: int, *names: str) -> Path:
    """As a run leaves it, with a loss in each of these scenarios and none in another."""
    (root / "histories").mkdir(parents=True)
    root.chmod(0o700)
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
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return trials()


def test_a_seed_is_its_first_failure(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7, "orders")
    assert image_of_seed(7, root) == root / "images" / "orders" / "0001"


def test_the_smallest_failure_comes_first(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7, "orders", "orders-smallest")
    assert image_of_seed(7, root) == root / "images" / "orders-smallest" / "0001"


def test_without_a_directory_it_is_the_newest_trial_of_the_seed(kept: Path) -> None:
    for number, seed in enumerate((7, 7, 8)):
        os.utime(trial(kept / f"ckpt-crash-{number}", seed, "orders"), (number, number))
    (kept / "ckpt-crash-4").mkdir()
    (kept / "ckpt-crash-4" / "trial.json").write_text("{}")
    assert image_of_seed(7) == kept / "ckpt-crash-1" / "images" / "orders" / "0001"
    with pytest.raises(NotFound, match="no trial of seed 9"):
        image_of_seed(9)


def test_a_trial_in_the_temporary_directory_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everybody can put one."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path))
    trial(tmp_path / "ckpt-crash-planted", 7, "orders")
    with pytest.raises(NotFound, match="no trial of seed 7"):
        image_of_seed(7)


def test_a_seed_with_nothing_to_show(tmp_path: Path) -> None:
    root = trial(tmp_path / "trial", 7)
    with pytest.raises(NotFound, match="every case of seed 7"):
        image_of_seed(7, root)
    with pytest.raises(NotFound, match="is of seed 7"):
        image_of_seed(8, root)


def program(root: Path, name: str) -> Path:
    """In the place of a Python: it leaves a sign that it ran."""
    path = root / name
    path.write_text(f"#!/bin/sh\necho $0 >> {root}/ran\nexit 1\n")
    path.chmod(0o755)
    return path


def kept_image(tmp_path: Path, python: Path, scenario: str = "file-to-append") -> Path:
    root = trial(tmp_path / "trial", 7, scenario)
    jobs = [] if scenario in SCENARIOS else [job_scenario(tmp_path / f"{scenario}.py")]
    save_settings(root, TrialSettings(Driver(python), "4.2.0", 7), jobs)
    (root / ".ckpttool-scratch").touch()
    image = Image(1, "commit-log-begin", "commit-log-begin", 8, "doubled", 2, 1, "main")
    place = JobPlace(root / "work" / scenario)
    images = Images(root / "images" / scenario, place.parts)
    place.checkpoint.mkdir(parents=True)
    images.take(image, place.root)
    return images.path(image)


def test_a_spark_that_is_gone_is_no_verdict(tmp_path: Path) -> None:
    outcome = run_ckpt("crash-test", "replay", str(kept_image(tmp_path, program(tmp_path, "python"))))
    assert outcome.code == 5
    assert "Spark does not start" in outcome.err
    assert (tmp_path / "ran").exists(), "the trial is this user's: what it names is run"


def sent_by_somebody(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(image.parents[3] / "other-state"))


def edited_since(image: Path, _: object) -> None:
    path = image.parents[2] / FILE
    path.write_text(path.read_text() + " ")


def opened_to_others(image: Path, _: object) -> None:
    image.parents[2].chmod(0o777)


def readable_by_others(image: Path, _: object) -> None:
    image.parents[2].chmod(0o750)


def somebody_elses(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    consent = image.parents[3] / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(consent))
    give_consent((image.parents[2] / FILE).read_bytes())
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    for path in (consent / "ckpt", consent / "ckpt" / "consented"):
        os.chown(path, us + 1, -1) if us == 0 else None


@pytest.mark.parametrize(
    "make_it", [sent_by_somebody, edited_since, opened_to_others, readable_by_others, somebody_elses]
)
def test_nothing_is_run_that_is_not_the_users(
    tmp_path: Path, make_it: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = kept_image(tmp_path, program(tmp_path, "python"))
    make_it(image, monkeypatch)
    for what in ([str(image)], ["7", "--scratch", str(image.parents[2])]):
        outcome = run_ckpt("crash-test", "replay", *what)
        assert (outcome.code in (4, 6), outcome.out) == (True, "")
        assert not (tmp_path / "ran").exists()
    assert run_ckpt("crash-test", "replay", str(image)).code == 6


def test_what_is_named_is_run_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image, ours = kept_image(tmp_path, program(tmp_path, "theirs")), program(tmp_path, "ours")
    sent_by_somebody(image, monkeypatch)
    outcome = run_ckpt("crash-test", "replay", str(image), "--python", str(ours))
    assert outcome.code == 5
    assert (tmp_path / "ran").read_text() == f"{ours}\n"


def test_a_job_that_does_not_ship_is_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image, ours = kept_image(tmp_path, program(tmp_path, "theirs"), "orders"), program(tmp_path, "ours")
    sent_by_somebody(image, monkeypatch)
    outcome = run_ckpt("crash-test", "replay", str(image), "--python", str(ours))
    assert (outcome.code, "--job" in outcome.err, (tmp_path / "ran").exists()) == (6, True, False)
    (tmp_path / "mine.py").touch()
    named = ["--python", str(ours), "--job", str(tmp_path / "mine.py")]
    assert run_ckpt("crash-test", "replay", str(image), *named).code == 5
    assert run_ckpt("crash-test", "replay", str(image), "--job", str(tmp_path / "mine.py")).code == 2


@pytest.mark.parametrize("path", ["nowhere", "/", "."])
def test_what_is_no_image_is_not_found(tmp_path: Path, path: str) -> None:
    outcome = run_ckpt("crash-test", "replay", path, cwd=tmp_path)
    assert outcome.code == 4
    assert "Traceback" not in outcome.err


def test_links_in_a_circle_are_no_image(tmp_path: Path) -> None:
    trial = tmp_path / "images" / "append"
    trial.mkdir(parents=True)
    (trial / "0001").symlink_to("0002")
    (trial / "0002").symlink_to("0001")
    shown = run_ckpt("crash-test", "replay", str(trial / "0001"), "--python", "false")
    assert (shown.code, "is not an image" in shown.err) == (4, True)
