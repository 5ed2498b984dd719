"""What is written is there after a failure of power, or the plan says that nobody knows."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from unittest.mock import patch

import pytest

from ckpttool.apply.stores.durable import mounted_from_afar
from ckpttool.apply.stores.local import LocalDisk
from tests.apply.stages import STAGES, carry_out

MOUNTS = """\
25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 25 0:40 / /lake rw,relatime shared:2 - nfs4 server:/lake rw
31 30 0:41 / /lake/fast\\040disk rw - ext4 /dev/sdb1 rw
32 25 0:42 / /mnt rw - fuse.gcsfuse bucket rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/q", None),
        ("/lake/q", "nfs4"),
        ("/lake", "nfs4"),
        ("/lakes/q", None),
        ("/lake/fast disk/q", None),
        ("/mnt/q", "fuse.gcsfuse"),
    ],
)
def test_what_another_machine_may_lose_is_told_apart(path: str, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert mounted_from_afar(path, str(tmp_path / "mountinfo")) == kind
    assert mounted_from_afar(path, str(tmp_path / "nothing")) is None


def test_and_shown_in_the_plan_without_being_asked_for(tmp_path: Path) -> None:
    checkpoint = STAGES[0].set_up(tmp_path / "t")
    with patch("ckpttool.apply.make_plan.mounted_from_afar", lambda _: "nfs4"):
        plan = STAGES[0].plan(checkpoint)
    told = [one for one in plan.conditions if one.id == "durability-unknown"]
    assert [(one.who, "nfs4" in one.text) for one in told] == [("ckpt", True)]
    assert carry_out(plan).state == "applied"


def test_a_directory_that_cannot_be_flushed_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    LocalDisk(str(tmp_path), "staging").create("offsets/1", [b"first"])
    assert (tmp_path / "offsets" / "1").read_bytes() == b"first"
