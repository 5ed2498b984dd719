"""What was done, one small file for each: for people, and for what files themselves do not tell."""

from __future__ import annotations

import getpass
import json
import socket
import time
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from ckpttool.apply import places
from ckpttool.apply.stores.base import AlreadyThere, TooLarge, WritableStore, small_body

Did = Literal["locked", "looked", "backed-up", "fenced", "step", "verified", "unfenced", "done", "undoing", "undone",
              "stopped"]  # fmt: skip
# By which the newest record that counts tells how an apply ended.
ENDS = ("done", "undone")


class JournalRecord(Struct, frozen=True):
    n: int
    did: str
    step: int | None = None
    result: Any = None


class Journal:
    def __init__(self, store: WritableStore, plan_id: str) -> None:
        self._store, self._folder = store, places.journal_of(plan_id)
        self.records = [_read(store, self._folder, name) for name in sorted(store.names(self._folder) or ())]

    def write(self, did: Did, step: int | None = None, result: Any = None) -> None:
        """Under the next number that is free."""
        n = self.records[-1].n + 1 if self.records else 1
        while True:
            record = {
                "n": n,
                "at_ms": int(time.time() * 1000),
                "did": did,
                "step": step,
                "result": result,
                "who": who(),
            }
            with suppress(AlreadyThere):
                self._store.create(f"{self._folder}/{n:06}", [json.dumps(record).encode()])
                break
            n += 1
        self.records.append(JournalRecord(n, did, step, result))

    def has(self, did: Did) -> bool:
        return any(record.did == did for record in self.records)

    def says_by_hand(self, step: int, towards: str) -> bool:
        """Whether somebody has said that they did it."""
        return any(record.did == "step" and _is_by_hand(record, step, towards) for record in self.records)

    def came_to(self, step: int) -> bool:
        """Whether somebody was told to take it, and so may have."""
        return any(_is_by_hand(record, step, "new") for record in self.records)

    @property
    def is_undoing(self) -> bool:
        return self.has("undoing")

    @property
    def is_verified(self) -> bool:
        """In the direction that it has now."""
        later = self.records
        if self.is_undoing:
            at = max(number for number, record in enumerate(later) if record.did == "undoing")
            later = later[at:]
        return any(record.did == "verified" for record in later)

    @property
    def end(self) -> str | None:
        """`done` or `undone`; None while neither is so."""
        ended = [record.did for record in self.records if record.did in (*ENDS, "undoing")]
        return ended[-1] if ended and ended[-1] in ENDS else None


def end_of(store: WritableStore, plan_id: str) -> str | None:
    """As `Journal.end`, by the newest record that counts: there may be very many applies."""
    folder = places.journal_of(plan_id)
    for name in sorted(store.names(folder) or (), reverse=True):
        did = _read(store, folder, name).did
        if did in (*ENDS, "undoing"):
            return did if did in ENDS else None
    return None


def _is_by_hand(record: JournalRecord, step: int, towards: str) -> bool:
    told = record.result if isinstance(record.result, dict) else {}
    return record.step == step and told.get("by_hand") == towards


def _read(store: WritableStore, folder: str, name: str) -> JournalRecord:
    """One that cannot be read counts as one that says nothing: what was done is told by the files."""
    number = int(name) if name.isascii() and name.isdecimal() else 0
    try:
        fields = json.loads(small_body(store, f"{folder}/{name}"))
        return JournalRecord(number, str(fields["did"]), fields.get("step"), fields.get("result"))
    except (ValueError, TypeError, KeyError, RecursionError, TooLarge):
        return JournalRecord(number, "unreadable")


def who() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        name = "?"
    return f"{name}@{socket.gethostname()}"
