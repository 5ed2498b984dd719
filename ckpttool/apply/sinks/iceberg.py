"""An Iceberg table, through the catalog that has it: pyiceberg is configured for that by its user, and commits only if
the table's branch `main` is still at the snapshot that it was seen at. Nothing is repeated by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.apply.outcome import StoppedFenced, WhyNot
from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.formats.iceberg import is_found_by_place
from ckpttool.plan.steps import plain
from ckpttool.storage.remote_errors import harmless
from ckpttool.storage.urls import canonical

if TYPE_CHECKING:
    from pyiceberg.table import Table

_MAIN = "main"
_BY_SPARK = "without --iceberg-table it is a step for Spark"


class NamedTables:
    """`names`: CATALOG.NAMESPACE.TABLE, each asked for when it is first needed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._places: dict[str, str] = {}

    def at(self, place: str | None) -> str | None:
        """The name of the table that is there. Raises what keeps one of them from being found."""
        if place is None:
            return None
        return next((name for name in self._names if self.place_of(name) == _bare(place)), None)

    def elsewhere(self, places: Sequence[str]) -> Iterator[str]:
        wanted = set(map(_bare, places))
        yield from (name for name in self._names if self.place_of(name) not in wanted)

    def place_of(self, name: str) -> str:
        if name not in self._places:
            self._places[name] = _bare(_loaded(name).location())
        return self._places[name]


def current(name: str) -> int | None:
    """The snapshot that the table is at, as its catalog says now."""
    snapshot: int | None = _loaded(name).metadata.current_snapshot_id
    return snapshot


def not_possible(name: str, table: str, snapshot: int) -> Iterator[WhyNot]:
    """Whether it can be led to that snapshot."""
    metadata = (loaded := _loaded(name)).metadata
    if is_found_by_place([loaded.metadata_location.rpartition("/")[2]]):
        yield WhyNot("sink-feature", f"{table} has its versions counted in its directory: {name} has no last word",
                     next_step=_BY_SPARK)  # fmt: skip
    if metadata.snapshot_by_id(snapshot) is None:
        yield WhyNot("sink-changed", f"{table} has no snapshot {snapshot} any more: it was expired")
    main = metadata.refs.get(_MAIN)
    if main and (main.max_ref_age_ms, main.max_snapshot_age_ms, main.min_snapshots_to_keep) != (None, None, None):
        yield WhyNot("sink-feature", f"{table} keeps snapshots of {_MAIN} by a rule of its own, which would be lost",
                     next_step=_BY_SPARK)  # fmt: skip


def go(name: str, table: str, was: int | None, becomes: int) -> None:
    """From the one snapshot to the other, in one commit on the condition that it is at the first. An answer that never
    comes is neither yes nor no: what the catalog says then decides."""
    loaded = _loaded(name)
    if loaded.metadata.current_snapshot_id != was:
        raise StoppedFenced(_changed(table, was, loaded.metadata.current_snapshot_id))
    failed: CkptError | None = None
    try:
        loaded.manage_snapshots().set_current_snapshot(snapshot_id=becomes).commit()
    except Exception as error:
        failed = _told(name, error)
    now = current(name)
    if now == becomes:
        return
    if now == was and failed is not None:
        raise failed
    raise StoppedFenced(_changed(table, was, now))


def _changed(table: str, was: int | None, now: int | None) -> WhyNot:
    return WhyNot("sink-changed", f"{table} was written since, by this query or by others", f"snapshot {was}",
                  f"snapshot {now}", "plan anew")  # fmt: skip


def _loaded(name: str) -> Table:
    """Anew each time."""
    catalog, _, identifier = name.partition(".")
    if not catalog or "." not in identifier:
        raise Refused(f"{name} is no CATALOG.NAMESPACE.TABLE", "name it as its catalog does")
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError:
        raise Refused("--iceberg-table needs the package pyiceberg", "pip install 'ckpttool[iceberg]'") from None
    try:
        return load_catalog(catalog).load_table(identifier)
    except Exception as error:
        raise _told(name, error) from None


def _told(name: str, error: Exception) -> CkptError:
    """Its errors have no kind in common: what is not there, or not configured, is told from what does not answer."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    text = f"{name}: {harmless(str(error)) or type(error).__name__}"
    if kinds & {"ValueError", "NoSuchTableError", "NoSuchNamespaceError", "NotInstalledError", "ImportError"}:
        return Refused(
            text, "its catalog is configured in .pyiceberg.yaml, or by PYICEBERG_CATALOG__NAME__URI and more"
        )
    return Unavailable(text)


def _bare(place: str) -> str:
    """A place, however its URL is spelled."""
    scheme, found, rest = plain(place).partition("://")
    return f"{canonical(scheme)}://{rest}" if found else scheme
