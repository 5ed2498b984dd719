"""What users install, tried as they get it: the files in sdist and wheel, and the wheel where nothing else is.

    python -m tests.package dist

`make package` builds both first. In this repository a module imports even if the wheel lacks it, and every extra is
there: only an environment of its own shows what is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import ckpttool

ROOT = Path(__file__).resolve().parents[1]
SOUND = "sample_checkpoints/4.2.0-windowed-agg-hdfs-sound/checkpoint"
# What works without any extra: reading both logs, decompressing state, drawing tables.
COMMANDS = (
    ("inspect", SOUND),
    ("inspect", SOUND, "--format", "json"),
    ("plan-recovery", SOUND),
    ("state", "rows", SOUND),
)


def main(dist: Path) -> None:
    wheel, sdist = (_only(dist, f"ckpttool-{ckpttool.__version__}{end}") for end in ("-py3-none-any.whl", ".tar.gz"))
    with zipfile.ZipFile(wheel) as packed, tarfile.open(sdist) as source:
        wrong = [*wrong_in_wheel(packed.namelist()), *wrong_in_sdist(source.getnames())]
    with tempfile.TemporaryDirectory() as empty:
        wrong += wrong_at_work(wheel, Path(empty))
    if wrong:
        sys.exit("\n".join(wrong))


def _only(dist: Path, name: str) -> Path:
    found = sorted(path.name for path in dist.iterdir() if path.suffix == Path(name).suffix)
    if found != [name]:
        sys.exit(f"{dist} has {', '.join(found) or 'nothing'} where {name} is expected")
    return dist / name


def wrong_in_wheel(names: list[str]) -> Iterator[str]:
    expected = set(_package_files())
    packed = {name for name in names if ".dist-info/" not in name}
    yield from (f"the wheel lacks {name}" for name in sorted(expected - packed))
    yield from (f"the wheel has {name}, which is not of the package" for name in sorted(packed - expected))


def wrong_in_sdist(names: list[str]) -> Iterator[str]:
    """A part of the tests is worse than none: it fails for whoever runs it."""
    packed = {name.partition("/")[2] for name in names}
    for name in sorted({*_package_files(), "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} - packed):
        yield f"the sdist lacks {name}"
    if any(name.startswith("tests/") for name in packed):
        yield "the sdist has some of the tests"


def _package_files() -> Iterator[str]:
    for path in (ROOT / "ckpttool").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT))


def wrong_at_work(wheel: Path, empty: Path) -> Iterator[str]:
    venv.create(empty, with_pip=True)
    _run(empty / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    ckpt = empty / "bin" / "ckpt"
    if f" {ckpttool.__version__}" not in (shown := _run(ckpt, "--version")):
        yield f"ckpt --version says {shown.strip()}"
    for arguments in COMMANDS:
        shown = _run(ckpt, *arguments)
        if "json" in arguments and json.loads(shown)["ckpt_version"] != ckpttool.__version__:
            yield f"ckpt {' '.join(arguments)} was written by another version"


def _run(*command: str | Path) -> str:
    """The tree of this repository must not stand in for what the wheel lacks."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
