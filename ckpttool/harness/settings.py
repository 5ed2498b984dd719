"""How a trial is run: with which Spark, from which seed. Kept beside the images, so that one can be replayed later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from ckpttool.apply.consent import give_consent, has_consent, require_own, trials
from ckpttool.errors import NotFound, Refused
from ckpttool.harness.driver import Driver
from ckpttool.harness.scenarios import SCENARIOS, Scenario, job_scenario
from ckpttool.harness.scratch import PREFIX, private

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


class Programs(Struct, frozen=True):
    """What is to run, as the command line says. `job`: of a scenario that does not ship; or `spec`, of a command."""

    driver: Driver
    job: Path | None = None
    spec: Path | None = None
    broker: str | None = None


class Kept(Struct, frozen=True, omit_defaults=True):
    """What a trial has left of how it was run. `jobs`: the files of jobs that do not ship, by their names. `is_named`:
    what runs was named for this replay, and the rest may be somebody else's."""

    root: Path
    settings: TrialSettings
    jobs: Mapping[str, Path]
    spec: Path | None
    is_named: bool = False

    def scenario(self, name: str) -> Scenario:
        whole = name.removesuffix(SMALLEST)
        if whole in self.jobs:
            return replace(job_scenario(self.jobs[whole]), name=name)
        if whole in SCENARIOS:
            return replace(SCENARIOS[whole], name=name)
        raise _no_trial(self.root)


def save_settings(root: Path, settings: TrialSettings, scenarios: Sequence[Scenario], spec: Path | None = None) -> None:
    """`spec`: of a command, which is no scenario. Whoever runs a trial wants to run all that it names."""
    jobs = {one.name: one.job for one in scenarios if one.name not in SCENARIOS}
    kept = encode(Kept(root, settings, jobs, spec), enc_hook=str)
    with open(root / FILE, "wb", opener=private) as file:
        file.write(kept)
    give_consent(kept)


def load_settings(root: Path) -> Kept:
    """Of the trial that left its images here: to be read, and not to be run."""
    return _parsed(root, _content(root))


def settings_to_run(root: Path, named: Programs | None) -> Kept:
    """What is run again of the trial that left its images here: what this user has run before, or has `named` now."""
    content = _content(root)
    kept = _parsed(root, content)
    require_own(root)
    if named is not None:
        return _as_named(kept, named)
    if not has_consent(content):
        raise Refused(
            f"the trial in {root} was not run by you, and nothing that it names is run",
            "look at it, and say what to run: --python, --jars, and --job or --spec",
        )
    return kept


def kept_trials() -> Iterator[Kept]:
    """Those that were kept without a directory of their own, the newest first."""
    found = [path.parent for path in trials().glob(f"{PREFIX}*/{FILE}")]
    for folder in sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True):
        with suppress(NotFound):  # of another release of ours
            yield load_settings(folder)


def _content(root: Path) -> bytes:
    try:
        return (root / FILE).read_bytes()
    except OSError:
        raise _no_trial(root) from None


def _parsed(root: Path, content: bytes) -> Kept:
    try:
        kept = decode(content, type=Kept, dec_hook=lambda path, text: path(text))
    except DecodeError:
        raise _no_trial(root) from None
    return replace(kept, root=root)  # it may have been moved


def _as_named(kept: Kept, named: Programs) -> Kept:
    """Of its own settings only numbers stay."""
    if kept.spec and not named.spec:
        raise Refused(f"the trial in {kept.root} is of a command", "give the one that is to run: --spec")
    if kept.jobs and not named.job:
        raise Refused(f"the trial in {kept.root} is of a job that does not ship", "give the one that is to run: --job")
    jobs = {} if named.job is None else dict.fromkeys(kept.jobs, named.job)
    settings = TrialSettings(named.driver, kept.settings.release, kept.settings.seed, kept.settings.seconds)
    return Kept(kept.root, replace(settings, broker=named.broker), jobs, named.spec, is_named=True)


def _no_trial(root: Path) -> NotFound:
    return NotFound(
        f"{root} is not the directory of a trial", "name an image that `ckpt crash-test run --scratch` has left"
    )
