"""Looking files up: in few requests, and without taking another machine's for lost."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.reading.inputs import load_inputs
from ckpttool.scene.inputs import FileInput
from ckpttool.storage.store import LocalStore
from tests.unit.reading.inputs.replayed import Query


def test_a_path_of_another_machine_is_not_a_loss(query: Query) -> None:
    query.lists(3, "file:///nowhere/at/all/x.json")
    (finding,) = query.findings()
    assert (finding.id, finding.severity) == ("source-not-looked-at", "info")


@pytest.mark.parametrize(("files", "requests"), [(1, ["stat 0.json"]), (50, ["list"])])
def test_one_listing_tells_of_a_folder(
    query: Query, monkeypatch: pytest.MonkeyPatch, files: int, requests: list[str]
) -> None:
    query.reads(3, *(f"{number}.json" for number in range(files)))
    scene, asked = query.scene(), []
    for method in ("list", "stat"):
        real = getattr(LocalStore, method)

        def spy(self: LocalStore, path: str = "", method: str = method, real: Any = real) -> Any:
            if path or method == "list":
                asked.append(f"{method} {path}".strip())
            return real(self, path)

        monkeypatch.setattr(LocalStore, method, spy)
    (found,) = load_inputs(scene, query.doors())
    assert isinstance(found, FileInput)
    assert (found.files.looked_at, asked) == (files, requests)
