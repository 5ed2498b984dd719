"""The fence around the steps that change anything: while it stands, no Spark starts on what is half of two checkpoints.

No order of the steps is safe by itself. The sink's record and the logs are two places, and a start between the two
steps that belong together leaves rows out without a word: real Spark did after 13 of the 19 steps of a plain rewind
under a Delta table, and does with the sink last as well. What every Spark since 2.1 reads first, and only in `start()`,
is `metadata`; with an id there that is none it throws, having changed nothing. One that runs reads it no more, so it is
stopped first.

A missing `metadata` would be no fence: up to 4.1 Spark takes a new id and goes on. So it is replaced in one go, both
times, and steps that would set it aside or write it become the end of the fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.metadata import FENCE
from ckpttool.literals import shell_word
from ckpttool.model import Checkpoint
from ckpttool.plan.steps import (
    SET_ASIDE,
    Conf,
    Manual,
    SetAside,
    Step,
    Write,
    of_sink,
    plain,
    set_aside_alone,
    spelled,
    write,
)
from ckpttool.scene.scene import Scene
from ckpttool.storage.urls import is_local

METADATA = "metadata"


def standing(checkpoint: Checkpoint) -> str | None:
    """What to do where somebody began to take the steps of a way out, and did not come to the last."""
    if checkpoint.raw.get(METADATA) != FENCE.encode():
        return None
    aside = f"{plain(checkpoint.url)}{SET_ASIDE}/{METADATA}"
    return (
        f"the steps of a way out were begun and not finished, and {METADATA} is their fence: take those that are left,"
        f" the last takes it down; if they are lost, put {aside} back, start nothing, and plan anew"
    )


def fenced(scene: Scene, steps: Sequence[Step], root: str) -> tuple[Step, ...]:
    """The steps within the fence, and the settings of the restart after it. Those alone change nothing on the disk.
    `root`: where the checkpoint is afterwards."""
    if root != scene.root:
        return _born_fenced(root, steps)
    settings = tuple(step for step in steps if isinstance(step, Conf))
    if len(settings) == len(steps):
        return settings
    within = (_spelled(step) for step in steps if not isinstance(step, Conf) and not _is_of_metadata(step))
    return (_stop(), *_up(scene), *within, *_down(scene, steps), *settings)


def _born_fenced(root: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Of a checkpoint that comes into being the first file is the fence, and its own `metadata` the last."""
    why = "this is the fence: no Spark starts on what is not whole yet"
    within = (step for step in steps if not _is_of_metadata(step))
    downs = (step for step in steps if isinstance(step, Write) and step.path == METADATA)
    return (
        write(root, METADATA, FENCE.encode(), why),
        *within,
        *(_replacing(root, one.content, one.why) for one in downs),
    )


def is_born(steps: Sequence[Step]) -> bool:
    """Whether a checkpoint comes into being by these steps."""
    return bool(steps) and isinstance(steps[0], Write) and steps[0].content == FENCE


def within_fence(checkpoint: Checkpoint, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a way out for whoever has a fence of their own. The last for `metadata` is among them if it becomes
    another than it was, or goes."""
    if is_born(steps):
        return tuple(steps[1:])
    *rest, down = (step for step in steps if not isinstance(step, Conf)) if _changes(steps) else (None,)
    if down is None:
        return tuple(steps)
    found = checkpoint.raw.get(METADATA)
    as_found = None if found is None else found.decode("utf-8", "replace")
    becomes = down.content if isinstance(down, Write) else None
    within = [step for step in rest if not _is_of_metadata(step) and not _is_stop(step)]
    ends = () if becomes == as_found else (down,)
    return (*within, *ends, *(step for step in steps if isinstance(step, Conf)))


def _changes(steps: Sequence[Step]) -> bool:
    return any(not isinstance(step, Conf) for step in steps)


def _is_stop(step: Step) -> bool:
    return isinstance(step, Manual) and step.target == "query"


def _is_of_metadata(step: Step) -> bool:
    return isinstance(step, SetAside | Write) and step.path == METADATA


def _spelled(step: Step) -> Step:
    """The checksum of what `metadata` was stays a step of its own, and no longer comes before another."""
    if isinstance(step, SetAside) and step.path == layout.hadoop_crc(METADATA):
        return replace(step, why=f"Hadoop's checksum of what {METADATA} was, if there is one")
    return step


def _stop() -> Manual:
    text = "stop the query, and whatever would start it again"
    return Manual(
        text=text,
        why="one that runs does not see the fence, and would write between these steps",
        shell=f"set -e  # first {text}; from here on, what fails is the last thing that is done",
        target="query",
    )


def _up(scene: Scene) -> tuple[Step, ...]:
    why = "this is the fence: while it is there no Spark starts, for between these steps one may leave rows out"
    root, checkpoint = scene.root, scene.checkpoint
    if METADATA in checkpoint.raw:
        return (_replacing(root, FENCE, why, f"{_keep(root)} && "),)
    is_directory = METADATA in checkpoint.root_names  # which no Spark starts on either
    cleared = set_aside_alone(root, METADATA, "it cannot be read, and is in the fence's place") if is_directory else ()
    return (*cleared, write(root, METADATA, FENCE.encode(), why))


def _down(scene: Scene, steps: Sequence[Step]) -> tuple[Step, ...]:
    """`metadata` is in the end what the last step for it says, else what it was."""
    found, why = scene.checkpoint.raw.get(METADATA), "takes the fence down, as all steps are taken"
    content = None if found is None else found.decode("utf-8", "replace")
    for step in filter(_is_of_metadata, steps):
        content, why = (step.content, f"{why}; {step.why}") if isinstance(step, Write) else (None, why)
    if content is None:
        return set_aside_alone(scene.root, METADATA, why)
    return (_replacing(scene.root, content, why),)


def _replacing(root: str, content: str, why: str, first: str = "") -> Write:
    digest, shell = sha256(content.encode()).hexdigest(), f"({first}{_replace(root, content)})"
    return Write(path=METADATA, content=content, sha256=digest, why=why, shell=shell, replaces=True)


def replace_outside(root: str, content: str, why: str) -> Write:
    """Of the checkpoint that is left, where the steps are those of another."""
    digest, shell = sha256(content.encode()).hexdigest(), f"({_keep(root)} && {_replace(root, content)})"
    path = of_sink(f"{plain(root)}/{METADATA}")
    return Write(path=path, content=content, sha256=digest, why=why, shell=shell, replaces=True)


# -- as shell commands -------------------------------------------------------------------------------------------------


def _keep(root: str) -> str:
    """A copy beside the checkpoint; taken a second time, the step does not put the fence in its place."""
    here, aside = (spelled(root, f"{plain(root)}{name}") for name in (f"/{METADATA}", SET_ASIDE))
    if is_local(root):
        read, copy = f"cat -- {here}", f"mkdir -p -- {aside} && cp -p -- {here} {aside}/"
    else:
        read, copy = f"hadoop fs -cat {here}", f"hadoop fs -mkdir -p {aside} && hadoop fs -cp -f {here} {aside}/"
    return f'{{ [ "$({read})" = {shell_word(FENCE)} ] || ({copy}); }}'


def _replace(root: str, content: str) -> str:
    """In one go, with the mode and the owner of what is there."""
    here, staged = (spelled(root, f"{plain(root)}/{name}") for name in (METADATA, f".{METADATA}.unfinished"))
    if not is_local(root):  # `-d`: not by way of a file beside it, which needs a moment without the old one
        return f"printf %s {shell_word(content)} | hadoop fs -put -f -d - {here}"
    return f"cp -p -- {here} {staged} && printf %s {shell_word(content)} > {staged} && mv -- {staged} {here}"
