"""Wishes: what can be asked of a checkpoint, registered by their verbs. Pure.

`ckpt plan VERB` makes the value; its `repair` is tried as every way out is; a plan file keeps the value, so that the
plan can be made once more where it is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ckpttool.plan.wishes.base import Wish, verb_of
from ckpttool.plan.wishes.batches import DropBatch, SkipBatch
from ckpttool.plan.wishes.gc import Gc
from ckpttool.plan.wishes.later import Later
from ckpttool.plan.wishes.offsets import SetOffsets
from ckpttool.plan.wishes.places import Clone, Fork
from ckpttool.plan.wishes.query_id import QueryId
from ckpttool.plan.wishes.relocate import Relocate
from ckpttool.plan.wishes.rename_found import RenameFound
from ckpttool.plan.wishes.renumber import Renumber
from ckpttool.plan.wishes.restore_offsets import RestoreOffsets
from ckpttool.plan.wishes.rewind import Rewind
from ckpttool.plan.wishes.sink_ledger import SetLedger
from ckpttool.plan.wishes.sources import ChangeSources
from ckpttool.plan.wishes.watermark import Watermark

__all__ = [
    "BY_VERB",
    "AnyWish",
    "ChangeSources",
    "Clone",
    "DropBatch",
    "Fork",
    "Gc",
    "Later",
    "QueryId",
    "Relocate",
    "RenameFound",
    "Renumber",
    "RestoreOffsets",
    "Rewind",
    "SetLedger",
    "SetOffsets",
    "SkipBatch",
    "Watermark",
    "Wish",
    "verb_of",
]

AnyWish = (
    Rewind
    | DropBatch
    | SkipBatch
    | SetOffsets
    | ChangeSources
    | Clone
    | Fork
    | Relocate
    | QueryId
    | Renumber
    | SetLedger
    | Watermark
    | RestoreOffsets
    | RenameFound
    | Gc
)
BY_VERB: Mapping[str, type[Wish]] = {verb_of(one): one for one in get_args(AnyWish)}
