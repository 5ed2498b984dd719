"""A guard before `start()`: a query is held against its checkpoint in the process that is about to start it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ckpttool
from ckpttool.errors import CkptError, NotACheckpoint, NotFound

if TYPE_CHECKING:
    from ckpttool.deploy import Checked
    from ckpttool.query.model import Query

SWITCH = "CKPT_GUARD"  # off: nobody looks; warn: what would be refused is warned of


def guard(
    writer: Any,
    *,
    accept: Sequence[str] = (),
    was: Query | str | None = None,
    strict: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Guard:
    """`guard(df.writeStream…).start()` raises ChangeRefused before Spark is asked, where it would refuse the query or
    make other rows of it. Where nobody can tell, and where ckpt itself fails, the query starts with a warning, unless
    `strict`."""
    return Guard(writer, accept, was, strict, storage_options)


class Guard:
    """A writer that was not started."""

    def __init__(
        self,
        writer: Any,
        accept: Sequence[str],
        was: Query | str | None,
        strict: bool,
        storage_options: Mapping[str, str] | None,
    ) -> None:
        self.writer, self.accept, self.was = writer, tuple(accept), was
        self.strict, self.storage_options = strict, storage_options
        self.table: str | None = None

    def start(self, path: str | None = None, **given: Any) -> Any:
        """As the writer's own `start`."""
        self._take(given)
        if path is not None:
            self.writer = self.writer.option("path", path)
        self.check()
        return self.writer.start()

    def toTable(self, tableName: str, **given: Any) -> Any:
        self._take(given)
        self.table = tableName
        self.check()
        return self.writer.toTable(tableName)

    def _take(self, given: dict[str, Any]) -> None:
        """What `start` is given besides: the rest are options."""
        for name in ("format", "outputMode", "queryName"):
            if (value := given.pop(name, None)) is not None:
                self.writer = getattr(self.writer, name)(value)
        if columns := given.pop("partitionBy", None):
            self.writer = self.writer.partitionBy(columns)
        if options := {key: value for key, value in given.items() if value is not None}:
            self.writer = self.writer.options(**options)

    def check(self) -> Checked | None:
        """None: nobody looked, or the query begins anew."""
        switch = os.environ.get(SWITCH, "").strip().lower()
        if switch == "off":
            return None
        checked = self._unless_it_fails(self._look)
        if checked is not None and checked.left != "accepted":
            self._refuse(checked, warns=switch == "warn" or (checked.left == "unknown" and not self.strict))
        return checked

    def _refuse(self, checked: Checked, *, warns: bool) -> None:
        from ckpttool.deploy import ChangeRefused

        if not warns:
            raise ChangeRefused(checked)
        warnings.warn(checked.text, RuntimeWarning, stacklevel=4)

    def _look(self) -> Checked | None:
        from ckpttool.api import Restarted
        from ckpttool.deploy import check_change
        from ckpttool.query.unstarted import session_of
        from ckpttool.releases import parse_release

        query: Query = ckpttool.describe_query(self.writer, table=self.table)
        if query.checkpoint is None:
            return None  # it would be a temporary one
        release = parse_release(session_of(self.writer).version)
        try:
            return check_change(
                query.checkpoint,
                query,
                self.was,
                restarted=Restarted(release=release, state="quick"),
                storage_options=self.storage_options,
                accept=self.accept,
                strict=self.strict,
            )
        except (NotFound, NotACheckpoint):
            return None

    def _unless_it_fails(self, look: Callable[[], Checked | None]) -> Checked | None:
        try:
            return look()
        except Exception as error:
            if self.strict:
                raise
            told = error.message if isinstance(error, CkptError) else f"{type(error).__name__}: {error}"
            warnings.warn(
                f"ckpt could not look at the query, which starts unchecked: {told}", RuntimeWarning, stacklevel=5
            )
            return None
