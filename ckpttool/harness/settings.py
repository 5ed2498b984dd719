"""How a trial is run: with which Spark, from which seed. Kept beside the images, so that one can be replayed later."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from ckpttool.errors import NotFound
from ckpttool.harness.driver import Driver
from ckpttool.harness.scenarios import SCENARIOS, Scenario, job_scenario
from ckpttool.harness.scratch import PREFIX

FILE = "trial.json"
SMALLEST = "-smallest"  # behind the name of a scenario whose failure was made smaller


class TrialSettings(Struct, frozen=True, omit_defaults=True):
    """`release` of the Spark; `seconds` for one recovery; `batches` that are crashed, None: those of the scenario.
    `broker`: of Kafka, where a scenario needs one. `input`: a directory of JSON lines, a file for each batch, in place
    of what the job makes. `only`: so many batches of the input, and so many rows of each."""

    driver: Driver
    release: str
    seed: int = 1
    seconds: float = 60.0
    batches: tuple[int, ...] | None = None
    broker: str | None = None
    input: Path | None = None
    only: tuple[int, int] | None = None


class Kept(Struct, frozen=True):
    """What a trial has left of how it was run. `jobs`: the files of jobs that do not ship, by their names."""

    root: Path
    settings: TrialSettings
    jobs: Mapping[str, Path]
    spec: Path | None

    def scenario(self, name: str) -> Scenario:
        whole = name.removesuffix(SMALLEST)
        if whole in self.jobs:
            return replace(job_scenario(self.jobs[whole]), name=name)
        if whole in SCENARIOS:
            return replace(SCENARIOS[whole], name=name)
        raise _no_trial(self.root)


def save_settings(root: Path, settings: TrialSettings, scenarios: Sequence[Scenario], spec: Path | None = None) -> None:
    """`spec`: of a command, which is no scenario."""
    jobs = {one.name: one.job for one in scenarios if one.name not in SCENARIOS}
    (root / FILE).write_bytes(encode(Kept(root, settings, jobs, spec), enc_hook=str))


def load_settings(root: Path) -> Kept:
    """Of the trial that left its images here."""
    try:
        kept = decode((root / FILE).read_bytes(), type=Kept, dec_hook=lambda path, text: path(text))
    except (OSError, DecodeError):
        raise _no_trial(root) from None
    return replace(kept, root=root)  # it may have been moved


def kept_trials() -> Iterator[Kept]:
    """Those that were kept without a directory of their own, the newest first."""
    found = [path.parent for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{FILE}")]
    for folder in sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True):
        with suppress(NotFound):  # somebody else's, or of another release of ours
            yield load_settings(folder)


def _no_trial(root: Path) -> NotFound:
    return NotFound(
        f"{root} is not the directory of a trial", "name an image that `ckpt crash-test run --scratch` has left"
    )
