"""Where everything lies that carrying a plan out keeps: in `_ckpt/` of the checkpoint, which Spark does not look at.

    _ckpt/lock
    _ckpt/applies/<plan id>/plan.json           the plan, byte for byte
    _ckpt/applies/<plan id>/new/<path>          what will be written
    _ckpt/applies/<plan id>/backup/<path>       what will be changed or removed
    _ckpt/applies/<plan id>/backup.json         all of the latter, written when it is verified
    _ckpt/applies/<plan id>/journal/000001 …    what was done, one file each

Files of other trees (a file sink's log) lie below `@1/`, `@2/` …
"""

from __future__ import annotations

import re

from ckpttool.formats.layout import OWN_DIRECTORY, OWN_LOCK

LOCK = OWN_LOCK
STAGING = f"{OWN_DIRECTORY}/staging"
STAGING_OF_SINKS = ".ckpt-staging"
APPLIES = f"{OWN_DIRECTORY}/applies"
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def apply_of(plan_id: str) -> str:
    return f"{APPLIES}/{plan_id}"


def plan_of(plan_id: str) -> str:
    return f"{APPLIES}/{plan_id}/plan.json"


def new_of(plan_id: str, tree: int, path: str) -> str:
    return f"{APPLIES}/{plan_id}/new/{_within(tree, path)}"


def backup_of(plan_id: str, tree: int, path: str) -> str:
    return f"{APPLIES}/{plan_id}/backup/{_within(tree, path)}"


def inventory_of(plan_id: str) -> str:
    return f"{APPLIES}/{plan_id}/backup.json"


def journal_of(plan_id: str) -> str:
    return f"{APPLIES}/{plan_id}/journal"


def _within(tree: int, path: str) -> str:
    return f"@{tree}/{path}" if tree else path
