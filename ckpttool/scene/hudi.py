"""What was found of the Hudi table that a query reads. Values only."""

from __future__ import annotations

from msgspec import Struct

from ckpttool.connectors.hudi import HudiOffset
from ckpttool.errors import CkptError
from ckpttool.formats.hudi import HudiTimeline


class HudiInput(Struct, frozen=True):
    """A Hudi table. `since`, `until`: of the newest batch, which the source is asked for at every start; `since` None:
    from where it began."""

    source: str
    path: str
    since: HudiOffset | None
    until: HudiOffset
    timeline: HudiTimeline = HudiTimeline(None)
    exists: bool = True
    error: CkptError | None = None

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        return ()
