"""What a plan relies on, and whether it is still so.

Relied on are the files that a step changes, those that a restart opens before and after it, and which names there are
in every directory that it reads. What is changed elsewhere does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.apply.plan_file import FileMark, NamesMark, SinkMark, absolute_place
from ckpttool.errors import CkptError, NotFound, Refused
from ckpttool.formats import layout
from ckpttool.formats.limits import PIECE_BYTES, check
from ckpttool.plan.steps import is_outside
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence
from ckpttool.storage.store import FileStat, Store, read_pieces
from ckpttool.words import quote

_CHECKSUM = layout.hadoop_crc(layout.METADATA)


class Mismatch(Struct, frozen=True):
    """What a plan relies on and is otherwise now."""

    path: str
    expected: str
    found: str


# -- taking them -------------------------------------------------------------------------------------------------------


def mark_file(store: Store, path: str, told_as: str | None = None) -> FileMark:
    """By its content. `told_as`: its path in the plan, where the store is not the checkpoint's."""
    found = store.stat(path)
    if found is None:
        return FileMark(told_as or path, absent=True)
    if found.leads_out or found.is_directory:
        what = "a link out of the checkpoint" if found.leads_out else "a directory where a file belongs"
        raise Refused(f"{path} is {what}: nothing is planned on that")
    kind = layout.kind_of(path)
    check("tables" if kind == "state" else kind, found.size_bytes or 0)  # tables of state are among those set aside
    digest, size = sha256(), 0
    for piece in read_pieces(store, path):
        digest.update(piece)
        size += len(piece)
    return FileMark(told_as or path, size=size, sha256=digest.hexdigest())


def mark_files(store: Store, paths: Sequence[str]) -> Iterator[FileMark]:
    """Each by its content; what can be held is read as the store likes best."""
    for folder in {path.rpartition("/")[0] for path in paths}:
        with suppress(NotFound):
            store.list(folder)
    small = [path for path in paths if _can_be_held(store.stat(path))]
    bodies, together = store.read_all(small), set(small)
    for path in paths:
        if path not in together:
            yield mark_file(store, path)
            continue
        _, body = next(bodies)
        if isinstance(body, CkptError):
            raise body
        yield FileMark(path, size=len(body), sha256=sha256(body).hexdigest())


def _can_be_held(found: FileStat | None) -> bool:
    if found is None or found.is_directory or found.leads_out:
        return False
    return found.size_bytes is not None and found.size_bytes <= PIECE_BYTES


def mark_unread(store: Store, path: str) -> FileMark:
    """By its size and time: for files of state that nobody would read twice."""
    found = store.stat(path)
    if found is None:
        return FileMark(path, absent=True)
    return FileMark(path, size=found.size_bytes, version=str(found.modified_ms))


def mark_names(store: Store, path: str) -> NamesMark:
    return names_mark(path, names_in(store, path))


def names_mark(path: str, names: Iterable[str]) -> NamesMark:
    """Without Hadoop's checksum of `metadata`: while that is a fence it fits no more, and who reads "checksum error"
    somewhere removes it."""
    several = sorted(set(names) - {_CHECKSUM})
    return NamesMark(path, sha256("".join(f"{name}\n" for name in several).encode()).hexdigest(), len(several))


def names_in(store: Store, path: str) -> set[str]:
    """None of ours; nothing if there is no directory."""
    try:
        return set(store.list(path)) - ({layout.OWN_DIRECTORY} if not path else set())
    except NotFound:
        return set()


def files_below(store: Store, path: str) -> Iterator[str]:
    """Every file in a directory and the directories in it."""
    for name in sorted(store.list(path)):
        below = f"{path}/{name}" if path else name
        found = store.stat(below)
        if found is not None and found.is_directory:
            yield from files_below(store, below)
        else:
            yield below


def directories_below(store: Store, path: str) -> Iterator[str]:
    """Itself, then those in it."""
    yield path
    for name in sorted(store.list(path)):
        found = store.stat(f"{path}/{name}")
        if found is not None and found.is_directory:
            yield from directories_below(store, f"{path}/{name}")


# -- which they are ----------------------------------------------------------------------------------------------------


def opened(before: Scene, after: Scene) -> set[str]:
    """Files that a restart opens, before the plan or after it."""
    paths = {layout.METADATA}
    for scene in (before, after):
        names = scene.checkpoint.offset_names, scene.checkpoint.commit_names
        paths |= {layout.offsets(number) for number in names[0].ids[-2:]}
        paths |= {layout.commits(number) for number in names[1].ids[-1:]}
    logs = (f"{layout.OFFSETS}/", f"{layout.COMMITS}/")
    return paths | {path for path in before.checkpoint.raw if not path.startswith((*logs, "../"))}


def state_files(after: Scene) -> set[str]:
    """Those of the state that the next batch begins with."""
    needed = after.states.get(after.next_id)
    return {f"{store.path}/{name}" for store in needed.stores for name in store.sizes} if needed else set()


def directories(before: Scene) -> set[str]:
    """Those whose names decide what a restart does."""
    checkpoint = before.checkpoint
    logs = {layout.source(log.name) for log in checkpoint.source_logs}
    stores = {store.path for files in before.states.values() for store in files.stores}
    return {"", layout.OFFSETS, layout.COMMITS, *logs, *stores}


def mark_sink(sink: SinkEvidence) -> SinkMark:
    names = None
    if sink.names is not None:
        names = names_mark("", [*map(str, sink.names.ids), *sink.names.others])
    ledger = {entry.app_id: entry.batch_id for entry in sink.ledger if entry.app_id is not None}
    newest = sink.writes[-1].version if sink.writes else None
    mark = SinkMark(sink.kind, absolute_place(sink.path), sink.table_id, ledger=ledger, names=names)
    return replace(mark, snapshot=newest) if sink.kind == "iceberg" else replace(mark, version=newest)


# -- looking again -----------------------------------------------------------------------------------------------------


def differences(
    store: Store,
    files: Iterable[FileMark],
    names: Collection[NamesMark],
    becomes: Mapping[str, str | None],
    own: Iterable[str] = (),
) -> Iterator[Mismatch]:
    """`becomes`: by path, the content after the plan (SHA-256, None: no file), which is as good as the one before it.
    `own`: what else we put there, or took away."""
    marks = {mark.path: mark for mark in files}
    ours = {path for path in marks if is_outside(path) or path in own}
    read = mark_files(store, [path for path, mark in marks.items() if path not in ours and _is_read(mark)])
    for path, mark in marks.items():
        if path in ours:
            continue
        now = next(read) if _is_read(mark) else mark_unread(store, path)
        if now != mark and not (path in becomes and now.sha256 == becomes[path]):
            yield Mismatch(path, _spell(mark), _spell(now))
    there = {path for path, mark in marks.items() if not mark.absent} | {one.path for one in names}
    for directory in names:
        found = as_before(directory.path, names_in(store, directory.path), there, {*becomes, *own})
        there_now = names_mark(directory.path, found)
        if there_now != directory:
            here = directory.path or "the checkpoint's top"
            yield Mismatch(here, f"{directory.count} names", f"{there_now.count} names, or others")


def as_before(directory: str, found: set[str], there: Collection[str], ours: Iterable[str]) -> set[str]:
    """The names with what the plan takes out, and without what it puts in. `there`: what was there before it."""
    names = set(found)
    for path in ours:
        folder, _, name = path.rpartition("/")
        if folder == directory:
            names = names | {name} if path in there else names - {name}
    return names


def _is_read(mark: FileMark) -> bool:
    return mark.absent or mark.sha256 is not None


def _spell(mark: FileMark) -> str:
    if mark.absent:
        return "no file"
    told = "a file" if mark.size is None else f"{mark.size:,} bytes"  # ckpt never leaves it out
    return f"{told}, SHA-256 {mark.sha256[:12]}…" if mark.sha256 else f"{told}, version {quote(mark.version or '')}"
