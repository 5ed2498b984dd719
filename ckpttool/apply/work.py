"""The operations of which carrying a plan out, and taking it back, consist.

Each can be repeated: it looks at what is there, does nothing if that is done, and happens only to what it expects. So
whoever goes on after an interruption begins from the top.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from msgspec import Struct

from ckpttool.api import Restarted
from ckpttool.apply import places
from ckpttool.apply.by_hand import ByHand, Direction, Seen, by_hand, seen, through_catalog, wait_for
from ckpttool.apply.changes import Change, FileChanges
from ckpttool.apply.fence import is_fence
from ckpttool.apply.journal import Journal
from ckpttool.apply.outcome import NotApplied, Outcome, SparkStart, StepResult, StoppedFenced, WhyNot
from ckpttool.apply.plan_file import PlanFile, encode_plan
from ckpttool.apply.sinks.delta import OpenTable, table_changes
from ckpttool.apply.sinks.iceberg import NamedTables
from ckpttool.apply.stores.base import AlreadyThere, Bearing, Changed, Found, WritableStore, small_body, together
from ckpttool.formats import layout
from ckpttool.formats.metadata import is_wire
from ckpttool.plan.wishes import verb_of
from ckpttool.storage.store import Store

_WIRE_BYTES = 8192
_CROWD = 100


class ApplySettings(Struct, frozen=True):
    """How it is done; the times in seconds. `settle` None: as long as the store needs. `keeps_state`: else of the state
    there are no copies, and what changed it is not taken back. `interrupted`: whether somebody asked to stop after this
    operation. `iceberg_tables`: CATALOG.NAMESPACE.TABLE, of those that are not left to Spark. `in_spark`: starts a
    Spark on a copy of the checkpoint that the store shows, and of its sinks."""

    lock_timeout: float = 0.0
    settle: float | None = None
    hold: float = 0.0
    accepted: frozenset[str] = frozenset()
    done_by_hand: frozenset[int] = frozenset()
    iceberg_tables: Sequence[str] = ()
    keeps_state: bool = True
    given: Restarted = Restarted()
    storage: Mapping[str, str] = {}
    interrupted: Callable[[], bool] = bool
    in_spark: Callable[[PlanFile, Store, Mapping[str, Store], Callable[[], bool]], SparkStart] | None = None


class KeptFile(Struct, frozen=True):
    """An entry of `backup.json`: a file of which there is a verified copy, or a directory. `copy`: the copy's version,
    where that tells whether it is still what it was."""

    path: str
    tree: int
    mode: int | None
    owner: int | str | None
    group: int | str | None
    modified_ns: int | None
    size: int | None = None
    sha256: str | None = None
    directory: bool = False
    copy: str | None = None

    @property
    def bearing(self) -> Bearing:
        return Bearing(self.mode, self.owner, self.group, self.modified_ns)


class Work:
    """One plan, on the trees that it changes."""

    def __init__(
        self,
        plan: PlanFile,
        trees: Sequence[WritableStore],
        outcome: Outcome,
        settings: ApplySettings,
        origin: WritableStore | None = None,
    ) -> None:
        """`origin`: what is copied, and stays as it is."""
        self.plan, self.changes = plan, FileChanges(plan)
        self.trees, self.checkpoint, self.origin = trees, trees[0], origin
        self.outcome, self.settings = outcome, settings
        self.tables = [OpenTable(change) for change in table_changes(plan, settings.storage)]
        self.by_hand, self.named = by_hand(plan), NamedTables(settings.iceberg_tables)
        self.journal = Journal(self.checkpoint, plan.id)

    # -- what is there -------------------------------------------------------------------------------------------------

    def look_anew(self) -> None:
        """Whatever was seen before."""
        for number, tree in enumerate(self.trees):
            tree.look_anew(_crowded(change.path for change in self.changes.every if change.tree == number))
        for table in self.tables:
            table.look_anew()

    @property
    def reading(self) -> Store:
        """The checkpoint, for those who only read."""
        return self.checkpoint.reading()

    @property
    def sinks(self) -> dict[str, Store]:
        """Those that are changed, likewise."""
        trees = {root: tree.reading() for root, tree in zip(self.changes.roots[1:], self.trees[1:], strict=True)}
        return trees | {table.change.table: table.reading for table in self.tables}

    def body(self, path: str) -> bytes | None:
        """Of a small file of the checkpoint."""
        found = self.checkpoint.look(path)
        return None if found is None else small_body(self.checkpoint, path)

    @property
    def is_fenced(self) -> bool:
        return is_fence(self.body(layout.METADATA))

    def now(self, change: Change) -> str | None:
        found = self.trees[change.tree].look(change.path)
        return found.sha256 if found else None

    @property
    def changes_anything(self) -> bool:
        return bool(
            self.changes.every
            or self.changes.directories
            or self.tables
            or self.by_hand
            or self.changes.changes_metadata
        )

    @property
    def is_begun(self) -> bool:
        """Whether any step was taken, or may have been by somebody whose turn it was."""
        if self.journal.has("stopped") or any(self.seen(one) == "new" for one in self.by_hand):
            return True
        if any(table.state != "old" for table in self.tables):
            return True
        return any(self.now(change) == change.new for change in self.changes.every)

    def seen(self, one: ByHand) -> Seen | None:
        return seen(one, self.reading, self.settings.storage, self.named)

    def inventory(self) -> list[KeptFile] | None:
        """What `backup.json` has; None: it was not written yet."""
        import msgspec

        body = self.body(places.inventory_of(self.plan.id))
        try:
            return None if body is None else msgspec.json.decode(body, type=list[KeptFile])
        except (msgspec.MsgspecError, RecursionError):
            why = WhyNot("backup-damaged", f"{places.inventory_of(self.plan.id)} cannot be read")
            raise (StoppedFenced if self.is_fenced else NotApplied)(why) from None

    # -- before anything is changed ------------------------------------------------------------------------------------

    def keep_plan(self) -> None:
        self._keep(places.plan_of(self.plan.id), encode_plan(self.plan))
        for (tree, path), content in self.changes.bodies.items():
            self._keep(places.new_of(self.plan.id, tree, path), content)

    def back_up(self, directories: Mapping[tuple[int, str], Bearing]) -> None:
        if self.inventory() is not None:
            return
        entries = [
            KeptFile(path, tree, one.mode, one.owner, one.group, one.modified_ns, directory=True)
            for (tree, path), one in sorted(directories.items())
        ]
        kept = [change for change in self.changes.every if self._is_to_keep(change)]
        files = [(change.tree, change.path, change.old) for change in kept if change.old is not None]
        metadata = [(0, layout.METADATA, self._old_metadata)] if self._old_metadata is not None else []
        entries += together(self.checkpoint, lambda one: self._copied(*one), [*metadata, *files])
        self._keep(places.inventory_of(self.plan.id), json.dumps([_fields(one) for one in entries]).encode())
        self.journal.write("backed-up", result={"files": len(entries)})

    def _is_to_keep(self, change: Change) -> bool:
        return change.old is not None and (self.settings.keeps_state or not is_of_state(change))

    @property
    def bytes_to_keep(self) -> int:
        sizes = {mark.path: mark.size or 0 for mark in self.plan.relies_on.files}
        roots = ["", *(f"{root}/" for root in self.changes.roots[1:])]
        return sum(sizes.get(f"{roots[one.tree]}{one.path}", 0) for one in self.changes.every if self._is_to_keep(one))

    def not_kept(self, entries: Iterable[KeptFile]) -> Iterator[Change]:
        """What is changed, and of which there is no copy."""
        there = {(entry.tree, entry.path) for entry in entries if not entry.directory}
        for change in self.changes.every:
            if change.old is not None and (change.tree, change.path) not in there and self.now(change) != change.old:
                yield change

    def verify_backup(self, entries: Iterable[KeptFile]) -> None:
        together(self.checkpoint, self._verify_copy, [entry for entry in entries if not entry.directory])

    def _verify_copy(self, entry: KeptFile) -> None:
        path = self._backup_of(entry)
        if entry.copy is not None and self.checkpoint.is_still(path, entry.copy):
            return
        copy = self.checkpoint.look(path)
        if copy is None or copy.sha256 != entry.sha256:
            raise NotApplied(WhyNot("backup-damaged", f"the copy of {entry.path} is not what was copied",
                                    entry.sha256, copy.sha256 if copy else "no file"))  # fmt: skip

    def _copied(self, tree: int, path: str, digest: str) -> KeptFile:
        """A copy, read back."""
        found, target = self.trees[tree].look(path), places.backup_of(self.plan.id, tree, path)
        if found is None or found.sha256 != digest:
            raise NotApplied(does_not_fit(path, digest, found.sha256 if found else "no file", self.plan))
        try:
            version = self.checkpoint.copy(path, target, found) if tree == 0 else None
            if tree:
                self._copied_across(tree, path, target, found)
        except Changed:
            raise NotApplied(WhyNot("backup-damaged", f"the copy of {path} is not what was copied")) from None
        one = found.bearing
        bearing = (one.mode, one.owner, one.group, one.modified_ns)
        return KeptFile(path, tree, *bearing, found.size, found.sha256, copy=version)

    def _copied_across(self, tree: int, path: str, target: str, found: Found) -> None:
        with suppress(AlreadyThere):
            self.checkpoint.create(target, self.trees[tree].pieces(path), found.bearing)
        copy = self.checkpoint.look(target)
        if copy is None or copy.sha256 != found.sha256:
            raise Changed(f"the copy of {path} is not what was copied")

    @property
    def _old_metadata(self) -> str | None:
        return next((mark.sha256 for mark in self.plan.relies_on.files if mark.path == layout.METADATA), None)

    def _backup_of(self, entry: KeptFile) -> str:
        return places.backup_of(self.plan.id, entry.tree, entry.path)

    def _keep(self, path: str, body: bytes) -> None:
        """What is there already has to be the same."""
        try:
            self.checkpoint.create(path, [body])
        except AlreadyThere:
            if self.body(path) != body:
                raise NotApplied(WhyNot("backup-damaged", f"{path} is there, and is another")) from None

    # -- the fence and the wires ---------------------------------------------------------------------------------------

    def fence_up(self, fence: bytes, before: Iterable[bytes | None]) -> None:
        """`before`: what may be there, besides another fence. The first thing that is changed."""
        found, body = self.checkpoint.look(layout.METADATA), self.body(layout.METADATA)
        if body not in before and not is_fence(body):
            raise self._neither(layout.METADATA)
        self.outcome.changed = self.outcome.fenced = True
        if body == fence:
            return
        if found is None:
            self.checkpoint.create(layout.METADATA, [fence])
        else:
            self.checkpoint.replace(layout.METADATA, [fence], found.version, _anew(found.bearing))
        self.journal.write("fenced")

    def fence_down(self, content: bytes | None, bearing: Bearing | None) -> None:
        """The one operation that turns old into new, or back."""
        found, body = self.checkpoint.look(layout.METADATA), self.body(layout.METADATA)
        if body == content:
            return
        if found is None or not is_fence(body):
            raise self._neither(layout.METADATA)
        if content is None:
            self.checkpoint.delete(layout.METADATA, found.version)
        else:
            self.checkpoint.replace(layout.METADATA, [content], found.version, bearing or _anew(found.bearing))
        self.journal.write("unfenced")

    def wires_up(self, wires: Iterable[str], text: bytes) -> None:
        """Whoever was faster than us is alive."""
        final = {change.path: change.new for change in self.changes.every if change.tree == 0}
        old = {change.path: change.old for change in self.changes.every if change.tree == 0}
        for path in wires:
            body = self.body(path)
            if body is None:
                self.checkpoint.create(path, [text])
            elif not is_wire(body) and sha256(body).hexdigest() not in (final.get(path), old.get(path)):
                raise NotApplied(WhyNot("tripped", f"{path} was written meanwhile: the query runs", "no file", path))

    def wires_down(self, wires: Iterable[str], *, gives_way: bool = False) -> None:
        """`gives_way`: what a query has written in a wire's place is its own, for nothing else was changed yet."""
        kept = {(change.path, digest) for change in self.changes.every for digest in (change.old, change.new) if digest}
        for path in wires:
            found, body = self.checkpoint.look(path), self.body(path)
            if found is None or body is None or (path, found.sha256) in kept:
                continue
            if not is_wire(body):
                if gives_way:
                    continue
                raise StoppedFenced(WhyNot("tripped", f"{path} is not as we left it: a query runs", found=path))
            self.checkpoint.delete(path, found.version)

    def remove_directories(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.checkpoint.remove_directory(path)

    def sweep(self) -> None:
        for tree in self.trees:
            tree.sweep()

    def restore_times(self, kept: Iterable[KeptFile]) -> bool:
        """Of directories, which every change in them has moved; whether they can be set."""
        self.sweep()  # which moves the time of where it was
        can_be_set = all(tree.keeps_times for tree in self.trees)
        for one in kept:
            if one.directory and self.trees[one.tree].names(one.path) is not None:
                can_be_set &= self.trees[one.tree].set_time(one.path, one.modified_ns or 0)
        return can_be_set

    # -- a change ------------------------------------------------------------------------------------------------------

    def take(
        self, change: Change, content: Callable[[Change], Iterable[bytes]], bearing: Callable[[Change], Bearing]
    ) -> bool:
        """Whether there was anything to do. `content` and `bearing`: of what is put there."""
        if self.settings.interrupted():
            raise KeyboardInterrupt
        tree = self.trees[change.tree]
        found = tree.look(change.path)
        now = found.sha256 if found else None
        if now == change.new:
            return False
        if now != change.old and not (found and self._is_ours(tree, change.path, found.size)):
            raise self._neither(change.path, change.tree)
        try:
            if found is None:
                tree.create(change.path, content(change), bearing(change))
            elif change.new is None:
                tree.delete(change.path, found.version)
            else:
                tree.replace(change.path, content(change), found.version, bearing(change))
        except (AlreadyThere, Changed):
            raise self._neither(change.path, change.tree) from None
        return True

    @staticmethod
    def _is_ours(tree: WritableStore, path: str, size: int) -> bool:
        return size < _WIRE_BYTES and is_wire(b"".join(tree.pieces(path)))

    def wait_for(self, one: ByHand, towards: Direction) -> bool:
        """Whether anything was done, by a catalog or by whoever was told to."""
        now = self.seen(one)
        done = through_catalog(one, towards, now, self.named)
        return wait_for(one, towards, now, self.journal, self.settings.done_by_hand) if done is None else done

    def new_bearing(self, change: Change) -> Bearing:
        """Of the file that is moved here, with its time; else of the one that is replaced, of its newest sibling, or of
        the directory around it."""
        if change.is_copy and self.origin is not None:
            return self.origin.bearing_of(change.path) or Bearing()
        from_where = change.origin or change.path
        kept = next((one for one in self.inventory() or () if (one.tree, one.path) == (change.tree, from_where)), None)
        if kept is not None:
            return kept.bearing if change.origin else _anew(kept.bearing)
        return like_siblings(self.trees[change.tree], change.path)

    def new_content(self, change: Change) -> Iterator[bytes]:
        if change.is_copy and self.origin is not None:
            return self.origin.pieces(change.path)
        if change.origin is not None:
            return self.checkpoint.pieces(places.backup_of(self.plan.id, change.tree, change.origin))
        return self.checkpoint.pieces(places.new_of(self.plan.id, change.tree, change.path))

    def old_content(self, change: Change) -> Iterator[bytes]:
        return self.checkpoint.pieces(places.backup_of(self.plan.id, change.tree, change.path))

    def settle(self) -> None:
        given = self.settings.settle
        self.wait(max(tree.settle_s for tree in self.trees) if given is None else given)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.settings.interrupted():
            time.sleep(min(left, 0.2))

    def _neither(self, path: str, tree: int = 0) -> StoppedFenced:
        found = self.trees[tree].look(path)
        text, now = f"{path} is neither as it was nor as it will be", found.sha256 if found else "no file"
        return StoppedFenced(
            WhyNot("neither-old-nor-new", text, None, now, "somebody else changed it: look at it first")
        )


def is_of_state(change: Change) -> bool:
    return change.tree == 0 and change.path.startswith(f"{layout.STATE}/")


def does_not_fit(path: str, expected: str, found: str, plan: PlanFile) -> WhyNot:
    command = f"plan {verb_of(plan.wish)}" if plan.wish else "plan-recovery"
    take = "" if plan.wish else f" --take {plan.option.id}"
    target = f" {plan.checkpoint}" if plan.origin else ""
    anew = f"plan anew: ckpt {command} {plan.planned_for}{target} …{take} --out PLAN.json"
    return WhyNot("plan-does-not-fit", f"{path} is not as it was when this was planned", expected, found, anew)


def like_siblings(tree: WritableStore, path: str) -> Bearing:
    if not tree.has_owners:
        return Bearing()
    folder = path.rpartition("/")[0]
    files = [name for name, is_directory in (tree.names(folder) or {}).items() if not is_directory]
    found = (tree.bearing_of(f"{folder}/{name}" if folder else name) for name in files)
    newest = max((one for one in found if one), key=lambda one: one.modified_ns or 0, default=None)
    if newest is not None:
        return _anew(newest)
    around = _around(tree, folder)
    return Bearing(None if around.mode is None else around.mode & 0o666, around.owner, around.group)


def _around(tree: WritableStore, folder: str) -> Bearing:
    while folder and tree.names(folder) is None:
        folder = folder.rpartition("/")[0]
    return tree.bearing_of(folder) or Bearing()


def _crowded(paths: Iterable[str]) -> list[str]:
    """The directories at the top of which so many files are touched that one asks for all of them at once."""
    tops = Counter(path.partition("/")[0] for path in paths)
    return [top for top, count in tops.items() if count > _CROWD]


def _anew(bearing: Bearing) -> Bearing:
    return Bearing(bearing.mode, bearing.owner, bearing.group)


def step_results(plan: PlanFile) -> list[StepResult]:
    return [StepResult(step.n, step.kind, step.path, step.table) for step in plan.steps]


def _fields(entry: KeptFile) -> dict[str, Any]:
    import msgspec

    fields: dict[str, Any] = msgspec.to_builtins(entry)
    return fields | {"modified_ms": (entry.modified_ns or 0) // 1_000_000}
