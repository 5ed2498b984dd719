"""A crash as the history has it: from an image, torn by hand, or one that never came."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ckpttool.harness.history import Case, Crash, Disk, Mode, Proof
from ckpttool.harness.images import Image
from ckpttool.harness.points import Stop, witness


def crash_of(
    image: Image,
    disk: Disk,
    armed: bool,
    mode: Mode = "image",
    dead: bool | None = None,
    before: Disk | None = None,
) -> Crash:
    """`before`: what a run began with that is a recovery itself; a batch that was planned then is not planned anew."""
    partition = re.search(r"task (\d+)\.\d+ in stage", image.thread)
    replayed = image.window == "rebuilt" and before is not None and image.batch_id in before.offsets
    window = "replayed" if replayed else image.window
    return Crash(
        point=image.name,
        step=image.step,
        batch_id=image.batch_id,
        nth=image.nth,
        mode=mode,
        window=window,
        partition=int(partition[1]) if partition else None,
        proof=Proof(armed=armed, hit=True, dead=dead, witness=witness(window, image.batch_id, disk, before)),
        disk=disk,
    )


def name_of(crash: Crash) -> str:
    """Of the case with this crash alone."""
    return f"{crash.mode}-{crash.point}-{crash.batch_id}-{crash.nth}"


def torn(crash: Crash, edit: str) -> Crash:
    """The crash whose image was edited by hand."""
    proof = replace(crash.proof, witness=True, note="edited by hand")
    return replace(crash, mode="torn", edit=edit, proof=proof)


def crash_at(stop: Stop, batch_id: int | None, nth: int, mode: Mode, proof: Proof, disk: Disk) -> Crash:
    """One without an image."""
    return Crash(
        point=stop.name,
        step=stop.place.step,
        batch_id=batch_id,
        nth=nth,
        mode=mode,
        window=stop.window,
        proof=proof,
        disk=disk,
    )


def never_reached(stop: Stop, batch_id: int | None, mode: Mode) -> Case:
    """The run ended without having passed the point."""
    proof = Proof(armed=True, hit=False, dead=None, witness=None)
    crash = crash_at(stop, batch_id, 1, mode, proof, Disk())
    return Case(name=f"never-{mode}-{stop.name}", crashes=(crash,), restarts=(), drained=False, after=Disk())
