"""Whatever names are in a checkpoint, and however it is called: a terminal gets nothing that it would act upon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

HOSTILE = "\x1b]0;x\x07\x1b[31m\u202e\u2066\u2028\u200b\x7f\x9b\u3164\r\nckpt: all is well"
FORMS = ["text", "json", "jsonl", "csv", "table", "junit", "yaml"]  # the last is none


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A checkpoint in which every name, and every text that may be shown, is hostile."""
    root = build(tmp_path / HOSTILE, "k0-10 c | k10-25 c | k25-40")
    for offsets in (root / "offsets").glob("[0-9]*"):
        lines = offsets.read_text().split("\n")
        lines[-1] = json.dumps({HOSTILE: json.loads(lines[-1])["t"]}, ensure_ascii=False)
        lines[1] = json.dumps(json.loads(lines[1]) | {"conf": {HOSTILE: HOSTILE}})
        offsets.write_text("\n".join(lines))
    for name in ("offsets", "commits", "state/0/0", "sources/0", "."):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / HOSTILE).write_text(HOSTILE)
    (root / "metadata").write_text(json.dumps({"id": HOSTILE}))
    return str(root)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "command",
    [
        ["inspect"],
        ["inspect", "--timeline"],
        ["inspect", "--batch", "1"],
        ["plan-recovery"],
        ["plan-recovery", "--sink", HOSTILE, "--to-batch", "0"],
        ["plan-recovery", "--conf", f"{HOSTILE}={HOSTILE}", "--option", f"{HOSTILE}={HOSTILE}"],
        ["doctor", "--verbose"],
        ["doctor", "--sink", HOSTILE, "--ignore", HOSTILE],
        ["explain", "--checkpoint", HOSTILE],
        ["log"],
        ["scan"],
        ["kafka", "starting-offsets"],
        ["kafka", "starting-offsets", "--map", f"{HOSTILE}={HOSTILE}2"],
        ["kafka", "diff", "--bootstrap-server", f"127.0.0.1:9{HOSTILE}", "--timeout", "0.1"],
        ["state", "list"],
        ["state", "rows", "--store", HOSTILE],
        ["state", "verify", "--sample", HOSTILE],
        ["crash-test", "report"],
        ["crash-test", "replay"],
        [HOSTILE],
        ["inspect", f"--{HOSTILE}"],
        ["inspect", "--format", HOSTILE],
    ],
    ids=lambda command: " ".join(command[:2]).encode("unicode_escape").decode(),
)
def test_nothing_unprintable_is_shown(place: str, command: list[str], form: str) -> None:
    for path in (place, f"{place}/{HOSTILE}", f"nonsense://{HOSTILE}"):
        ran = run_ckpt(*command, path, "--format", form)
        assert ran.code not in (0, 70) or ran.out
        assert ran.code != 70, ran.err
        for shown in (ran.out, ran.err):
            assert [char for char in shown.replace("\r\n", "\n") if not (char.isprintable() or char in "\n\t")] == []
            assert "\u3164" not in shown
        assert not [line for line in ran.err.splitlines() if line == "ckpt: all is well"]
