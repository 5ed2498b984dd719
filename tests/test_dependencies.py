"""What is installed for the tests: the lock fits setup.cfg, and the bill of materials is whole."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.bill import bill

ROOT = Path(__file__).resolve().parents[1]
LOCK = (ROOT / "dev.lock").read_text(encoding="utf-8")


def required(extra: str) -> Iterator[Requirement]:
    """By setup.cfg, with what its extras name of each other."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    for line in (config["options.extras_require"] if extra else config["options"])[extra or "install_requires"].split(
        "\n"
    ):
        if line.strip():
            one = Requirement(line)
            yield from (inner for name in one.extras for inner in required(name)) if one.name == "ckpttool" else (one,)


def locked() -> list[Requirement]:
    return [Requirement(line.rstrip(" \\")) for line in LOCK.splitlines() if re.match(r"[a-z]", line)]


@pytest.mark.parametrize("extra", ["", "dev"])
def test_the_lock_has_what_setup_asks_for(extra: str) -> None:
    versions: dict[str, list[str]] = {}
    for one in locked():
        versions.setdefault(canonicalize_name(one.name), []).extend(pin.version for pin in one.specifier)
    for one in required(extra):
        found = versions.get(canonicalize_name(one.name), [])
        assert found, f"{one.name} is not locked: make lock"
        assert all(version in one.specifier for version in found), f"{one} is locked as {found}: make lock"


def test_everything_locked_has_its_version_and_hashes_and_no_address() -> None:
    blocks = re.split(r"\n(?=\S)", LOCK.rstrip())
    pinned = [one for one in blocks if not one.startswith("#")]
    assert len(pinned) == len(locked())
    assert not [one for one in pinned if "==" not in one or "--hash=sha256:" not in one]
    assert "://" not in LOCK
    assert "index" not in re.sub(r"(?m)^[a-z].*$", "", LOCK)


def test_the_bill_names_what_the_package_brings_along() -> None:
    made = bill(extra="")
    named = {one["name"]: one for one in made["components"]}
    assert {canonicalize_name(one.name) for one in required("")} <= named.keys()
    references = {made["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in made["components"])}
    assert {one["ref"] for one in made["dependencies"]} == references
    assert {other for one in made["dependencies"] for other in one["dependsOn"]} <= references
    assert not {"pytest", "mypy"} & named.keys()
