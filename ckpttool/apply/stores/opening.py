"""The one door to trees that can be changed: by its URL, each is opened as the kind of storage that it lies in."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.apply.make_plan import absolute
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.stores.base import WritableStore
from ckpttool.apply.stores.local import LocalDisk
from ckpttool.literals import shell_path
from ckpttool.storage.urls import is_local


def open_tree(url: str, staging: str, storage: Mapping[str, str]) -> WritableStore:  # noqa: ARG001
    """`staging`: a directory below it for what is not whole yet, where that is needed."""
    if is_local(url):
        return LocalDisk(absolute(url), staging)
    by_hand = f"ckpt plan-recovery {shell_path(url)} --format json has the commands to do it by hand"
    raise NotApplied(WhyNot("not-writable", "checkpoints are changed on the local disk only", next_step=by_hand))
