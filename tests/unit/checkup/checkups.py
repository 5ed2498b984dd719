"""Checkups of samples, and of checkpoints in the tiny language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckpttool.api import Restarted
from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.look import check_up
from ckpttool.laws.base import Profile
from tests.builders import EPOCH_MS

MUCH_LATER_MS = EPOCH_MS + 10**10


def checked(root: Path, sinks: Sequence[str] = (), profile: Profile | None = None) -> Checkup:
    return check_up(str(root), Restarted(sinks=sinks), now_ms=MUCH_LATER_MS, profile=profile)


def results(checkup: Checkup) -> dict[str, str]:
    return {check.law.id: check.result for check in checkup.checks}


def told(checkup: Checkup) -> list[str]:
    return [one.finding.id for one in checkup.findings]
