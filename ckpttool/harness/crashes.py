"""A crash as the history has it: what is known of the point, and the proof that it was there."""

from __future__ import annotations

import re
from dataclasses import replace

from ckpttool.harness.history import Crash, Disk, Mode, Proof
from ckpttool.harness.images import Image
from ckpttool.harness.points import witness


def crash_of(image: Image, disk: Disk, armed: bool, mode: Mode = "image", dead: bool | None = None) -> Crash:
    partition = re.search(r"task (\d+)\.\d+ in stage", image.thread)
    return Crash(
        point=image.name,
        step=image.step,
        batch_id=image.batch_id,
        nth=image.nth,
        mode=mode,
        window=image.window,
        partition=int(partition[1]) if partition else None,
        proof=Proof(armed=armed, hit=True, dead=dead, witness=witness(image.window, image.batch_id, disk)),
        disk=disk,
    )


def torn(crash: Crash, edit: str) -> Crash:
    """The crash whose image was edited by hand."""
    proof = replace(crash.proof, witness=True, note="edited by hand")
    return replace(crash, mode="torn", edit=edit, proof=proof)
