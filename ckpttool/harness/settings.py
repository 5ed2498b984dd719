"""How a trial is run: with which Spark, from which seed. Kept beside the images, so that one can be replayed later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckpttool.errors import NotFound
from ckpttool.harness.driver import Driver
from ckpttool.harness.scenarios import SCENARIOS, Scenario, job_scenario

FILE = "trial.json"


@dataclass(frozen=True)
class Settings:
    """`release` of the Spark; `seconds` for one recovery; `batches` that are crashed, None: those of the scenario.
    `broker`: of Kafka, where a scenario needs one. `input`: a directory of JSON
    lines, a file for each batch, in place of what the job makes."""

    driver: Driver
    release: str
    seed: int = 1
    seconds: float = 60.0
    batches: tuple[int, ...] | None = None
    broker: str | None = None
    input: Path | None = None


def save_settings(root: Path, settings: Settings, scenarios: Sequence[Scenario]) -> None:
    kept = {
        "python": str(settings.driver.python),
        "jars": [str(jar) for jar in settings.driver.jars],
        "conf": dict(settings.driver.conf),
        "release": settings.release,
        "seed": settings.seed,
        "seconds": settings.seconds,
        "jobs": {one.name: str(one.job) for one in scenarios if one.name not in SCENARIOS},
    }
    (root / FILE).write_text(json.dumps(kept, indent=1), encoding="utf-8")


def load_settings(root: Path, scenario: str) -> tuple[Settings, Scenario]:
    """Those of the trial that left its images here."""
    try:
        kept = json.loads((root / FILE).read_text(encoding="utf-8"))
        driver = Driver(Path(kept["python"]), [Path(jar) for jar in kept["jars"]], kept["conf"])
        settings = Settings(driver, kept["release"], kept["seed"], kept["seconds"])
        if scenario in kept["jobs"]:
            return settings, job_scenario(Path(kept["jobs"][scenario]))
        return settings, SCENARIOS[scenario]
    except (OSError, ValueError, KeyError, TypeError):
        raise NotFound(
            f"{root} is not the directory of a trial", "name an image that `ckpt crash-test run --scratch` has left"
        ) from None
