"""What somebody wants of a checkpoint, whatever a restart would do without it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ckpttool.plan.repair import Refusal, Repair
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Scene


class Wish(Struct, frozen=True, tag_field="verb", omit_defaults=True, forbid_unknown_fields=True):
    """As JSON it is `{"verb": …}` with its fields. So a plan file keeps it, and whoever carries the plan out has it
    planned once more: it holds all that it was made of, and is the same on every machine."""

    def repair(self, scene: Scene) -> Repair | Refusal:
        """Pure, for it is tried on values, as every way out is, before anybody hears of it."""
        raise NotImplementedError

    def versions(self, scene: Scene) -> tuple[int, ...] | None:
        """Those of the state on which it depends; None: as any way out."""

    def moves_inputs(self) -> bool:
        """Whether what the sources would read has to be looked at anew, where they stand then."""
        return False

    def lacks(self, evidence: Evidence) -> bool:  # noqa: ARG002
        """Whether what it names is not there, which is another answer than that it cannot be had."""
        return False

    def reads(self, scene: Scene) -> Iterable[str]:  # noqa: ARG002
        """Files that no restart opens, and that it is made of."""
        return ()

    def reads_all_in(self, scene: Scene) -> Iterable[str]:  # noqa: ARG002
        """Directories of whose files it is made, every one of them."""
        return ()

    def dates(self, scene: Scene) -> Iterable[str]:  # noqa: ARG002
        """Files of which it has to know how old they are."""
        return ()


def verb_of(wish: Wish | type[Wish]) -> str:
    return str(wish.__struct_config__.tag)
