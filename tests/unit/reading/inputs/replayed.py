"""A query whose last batch runs again, and the files that it reads then."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import FileLogEntry, Finding
from ckpttool.reading.inputs import load_inputs
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import FileInput
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.doors import Doors
from tests.builders import build
from tests.encoders import encode_source_log


class Query:
    """Four batches of which the last runs again; batch N reads entry N of the source's log."""

    def __init__(self, root: Path, story: str = "f0 c | f1 c | f2 c | f3") -> None:
        self.root = build(root / "checkpoint", story)
        self.input = root / "input"
        self.input.mkdir()
        for number in range(4):
            self.reads(number, f"{number}.json")

    def reads(self, entry: int, *names: str, at: int | None = None, suffix: str = "") -> None:
        """Entry `entry` lists these files, which are made."""
        for name in names:
            (self.input / name).parent.mkdir(exist_ok=True)
            (self.input / name).touch()
        self.lists(entry, *((self.input / name).as_uri() for name in names), at=at, suffix=suffix)

    def lists(self, entry: int, *urls: str, at: int | None = None, suffix: str = "") -> None:
        entries = [FileLogEntry(url, 1, entry if at is None else at) for url in urls]
        (self.root / "sources" / "0" / f"{entry}{suffix}").write_bytes(encode_source_log(entries))

    def scene(self) -> Scene:
        return Scene(gather_evidence(load_checkpoint(open_store(str(self.root)))), Start((4, 2, 0)))

    def doors(self, *look_at: str, **storage_options: str) -> Doors:
        return Doors([str(self.root)], storage_options, [str(self.input), *look_at])

    def look(self, **storage_options: str) -> FileInput:
        return self.follow(**storage_options)

    def follow(self, *look_at: str, **storage_options: str) -> FileInput:
        """With what the user points at besides the input."""
        (found,) = load_inputs(self.scene(), self.doors(*look_at, **storage_options))
        assert isinstance(found, FileInput)
        return found

    def findings(self) -> list[Finding]:
        scene = self.scene()
        obstacle, findings = judge_inputs(replace(scene, inputs=load_inputs(scene, self.doors())))
        assert obstacle is None, "the file source never refuses to go on"
        return list(findings)
