"""State that a changed query has come to: what describes it is younger than what was committed, or its keys are of two
kinds. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.laws.base import Law, keeps_state
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, enumerated


def _young(scene: Scene) -> Iterator[Finding]:
    for one in scene.around.young_schemas if scene.around else ():
        when = "for a batch after it" if one.after_ms is None else f"{one.after_ms / 1_000:,.1f} s after it"
        yield Finding(
            "state-schema-younger-than-commit",
            "warning",
            one.path,
            f"batch {one.batch} is the last that was committed, and what the state holds was described anew {when}: a"
            " changed query was started, and no batch of it was finished",
            expected=f"a schema that is older than {layout.commits(one.batch)}",
            next_step="if it does not start, put the old code back: nothing is lost. Do not start over",
        )


def _two_shapes(scene: Scene) -> Iterator[Finding]:
    for one in scene.around.two_shapes if scene.around else ():
        shapes = enumerated(f"{counted(number, 'key')} {shape}" for shape, number in one.shapes)
        since = "since the oldest state that can be read" if one.since is None else f"since batch {one.since}"
        yield Finding(
            "state-keys-of-two-shapes",
            "warning",
            one.path,
            f"{layout.operator(one.operator)} holds {shapes}, {since}: a window or a key was changed",
            expected="keys of one shape",
            next_step="put the old code back and rewind to the batch before. The new code never meets what the old keys"
            " hold, and wants a checkpoint of its own",
        )


HEALTH = (
    Law(
        "state-schema-younger-than-commit",
        "a changed query has described its state anew and committed nothing",
        look=_young,
        severities=("warning",),
        needs="around",
        applies=keeps_state,
    ),
    Law(
        "state-keys-of-two-shapes",
        "keys of two shapes in one table of the state: a window or a key was changed",
        look=_two_shapes,
        severities=("warning",),
        needs="rows",
    ),
)
