"""Wishes: what can be asked of a checkpoint, registered by their verbs. Pure.

`ckpt plan VERB` makes the value; its `repair` is tried as every way out is; a plan file keeps the value, so that the
plan can be made once more where it is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ckpttool.plan.wishes.base import Wish, verb_of
from ckpttool.plan.wishes.batches import DropBatch, SkipBatch
from ckpttool.plan.wishes.later import Later
from ckpttool.plan.wishes.rewind import Rewind

__all__ = ["BY_VERB", "AnyWish", "DropBatch", "Later", "Rewind", "SkipBatch", "Wish", "verb_of"]

AnyWish = Rewind | DropBatch | SkipBatch
BY_VERB: Mapping[str, type[Wish]] = {verb_of(one): one for one in get_args(AnyWish)}
