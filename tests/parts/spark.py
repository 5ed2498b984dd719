"""Spark in a virtual environment of its own, and the jars of its connectors: made once, kept in the cache.

    python -m tests.parts.spark 3.5.7 4.2.0 --jars

Two Spark versions never share a process: what runs Spark is started with the Python that `ensure_spark` returns.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.parts import pins
from tests.parts.cache import ensure_directory


class MissingPart(Exception):
    """A real part cannot be had on this machine; the message says what to install, in one line."""


def ensure_spark(version: str) -> Path:
    """The Python of a virtual environment that holds this Spark."""
    packages = pins.SPARKS[version]
    interpreter = _interpreter(pins.PYTHONS[version])

    def make(target: Path) -> None:
        _run(interpreter, "-m", "venv", str(target))
        _run(str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages)

    return ensure_directory(f"spark-{version}", packages, make) / "bin" / "python"


def ensure_python_state(version: str) -> Path:
    """A directory for the PYTHONPATH of this Spark, with what keeping state in Python needs."""
    if tuple(map(int, version.split("."))) < (4, 2):
        return _ensure_modules("state-before-4.2", version, pins.PYTHON_STATE_BEFORE_4_2)
    return _ensure_modules("state", version, pins.PYTHON_STATE)


def ensure_connect(version: str) -> Path:
    """The same, with what a client of Spark Connect needs."""
    return _ensure_modules("connect", version, pins.CONNECT)


def _ensure_modules(what: str, version: str, packages: Sequence[str]) -> Path:
    python = ensure_spark(version)
    abi = next(python.parent.parent.glob("lib/python3*")).name

    def make(target: Path) -> None:
        _run(str(python), "-m", "pip", "install", "--quiet", "--target", str(target), *packages)

    return ensure_directory(f"{what}-{abi}", packages, make)


def ensure_jars(version: str, what: str) -> list[Path]:
    """The jars of `delta` or `kafka` for this Spark, to be given to it as `spark.jars`."""
    coordinates = pins.JARS[version][what]
    excluded = pins.EXCLUDED.get((version, what), ())
    own = {_artefact(jar) for jar in spark_home(version).glob("jars/*.jar")}
    jars = resolve(f"{version}-{what}", coordinates, excluded, spark=version)
    return [jar for jar in jars if _artefact(jar) not in own]


def resolve(name: str, coordinates: Sequence[str], excluded: Sequence[str] = (), *, spark: str) -> list[Path]:
    """Artefacts with all they need, fetched with the Ivy that Spark ships. What is excluded and yet among the
    coordinates, in another version, comes alone."""
    java = ensure_java()

    def make(target: Path) -> None:
        ivy = next(spark_home(spark).glob("jars/ivy-*.jar"))
        target.mkdir(parents=True)
        module = target.with_name(f".{name}.xml")
        for coordinate in coordinates:
            module.write_text(_ivy_module(coordinate, excluded))
            # Without `-confs default` Ivy also wants sources and documentation; some jars are published as bundles.
            _run(
                java,
                "-jar",
                str(ivy),
                "-cache",
                str(target.parent.parent / "ivy"),
                "-ivy",
                str(module),
                "-confs",
                "default",
                "-types",
                "jar",
                "bundle",
                "-retrieve",
                f"{target}/[artifact]-[revision].[ext]",
            )
        module.unlink()

    jars = ensure_directory(f"jars/{name}", [*coordinates, *(f"-{one}" for one in excluded)], make)
    return sorted(jars.glob("*.jar"))


def spark_home(version: str) -> Path:
    return next(ensure_spark(version).parent.parent.glob("lib/python3*/site-packages/pyspark"))


def ensure_java() -> str:
    """A Java that these Sparks run on: `JAVA_HOME`'s, or the one on the path."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingPart(f"no Java found: install OpenJDK {pins.JAVA} or set JAVA_HOME to one")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', shown)
    if found is None or found[1] != pins.JAVA:
        raise MissingPart(f"{java} is Java {found[1] if found else '?'}: set JAVA_HOME to an OpenJDK {pins.JAVA}")
    return java


def _artefact(jar: Path) -> str:
    """The name without the version: what Spark has of its own must not come twice."""
    return re.sub(r"-\d[^-]*(-\d+)?\.jar$", "", jar.name)


def _interpreter(versions: Sequence[str]) -> str:
    if f"{sys.version_info.major}.{sys.version_info.minor}" in versions:
        return sys.executable
    for version in versions:
        named, others = shutil.which(f"python{version}"), Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
        for found in [*([named] if named else []), *map(str, others)]:
            if subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
                return found
    raise MissingPart(f"this Spark runs on Python {' or '.join(versions)}, and none is on the path")


def _ivy_module(coordinate: str, excluded: Sequence[str]) -> str:
    """A module that depends on one artefact."""
    group, artefact, version = coordinate.split(":")
    alone = f"{group}:{artefact}" in excluded
    without = "" if alone else "".join('<exclude org="{}" module="{}"/>'.format(*one.split(":")) for one in excluded)
    return (
        '<ivy-module version="2.0"><info organisation="ckpttool" module="jars"/>'
        '<configurations><conf name="default"/></configurations><dependencies>'
        f'<dependency org="{group}" name="{artefact}" rev="{version}" conf="default->default"'
        f' transitive="{str(not alone).lower()}"/>{without}</dependencies></ivy-module>'
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingPart(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the Spark environments, and with --jars their connectors.")
    parser.add_argument("versions", nargs="*", default=list(pins.SPARKS), metavar="VERSION")
    parser.add_argument("--jars", action="store_true", help="also fetch the Delta and Kafka connectors")
    options = parser.parse_args()
    try:
        ensure_java()
        for version in options.versions:
            print(ensure_spark(version))
            for what in pins.JARS.get(version, ()) if options.jars else ():
                print(f"{len(ensure_jars(version, what))} jars of {what} for Spark {version}")
    except MissingPart as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
