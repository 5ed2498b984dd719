"""The bill of materials of a release, as CycloneDX has it: what the extra `all` brings along, as it is installed here.

python -m tests.bill > dist/ckpttool.cdx.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "ckpttool"


def bill(name: str = ROOT, extra: str = "all") -> dict[str, Any]:
    """Without a time and a number of its own, so that the same environment has the same bill."""
    needs: dict[str, list[str]] = {}
    _walk(name, frozenset((extra,)), needs)
    components = {one: _component(distribution(one)) for one in sorted(needs)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**components.pop(name), "type": "application"}},
        "components": list(components.values()),
        "dependencies": [
            {"ref": _reference(distribution(one)), "dependsOn": [_reference(distribution(other)) for other in others]}
            for one, others in sorted(needs.items())
        ],
    }


def _walk(name: str, extras: frozenset[str], needs: dict[str, list[str]]) -> None:
    for one in _required(distribution(name), extras):
        other = canonicalize_name(one.name)
        if not _is_installed(other):
            continue  # PySpark, which is the user's own
        if other not in needs.setdefault(name, []) and other != name:
            needs[name].append(other)
        if other == name or other not in needs:
            _walk(other, frozenset(one.extras), needs)
    needs.setdefault(name, []).sort()


def _required(of: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in of.requires or ():
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield one


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _component(of: Distribution) -> dict[str, Any]:
    known = [of.metadata[name] for name in ("License-Expression", "License") if name in of.metadata]
    named = {"licenses": [{"license": {"name": known[0].splitlines()[0]}}]} if known and known[0].strip() else {}
    reference = _reference(of)
    found = {"type": "library", "bom-ref": reference, "name": canonicalize_name(of.metadata["Name"])}
    return {**found, "version": of.version, "purl": reference, **named}


def _reference(of: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(of.metadata['Name'])}@{of.version}"


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    sys.stdout.write("\n")
