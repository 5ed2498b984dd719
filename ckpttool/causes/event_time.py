"""What rows bring with them."""

from __future__ import annotations

from ckpttool.causes.base import KnownCause, Sign, Symptoms
from ckpttool.formats.times import encode_time

_JUMP, _AHEAD, _STUCK = "watermark-jump", "watermark-in-the-future", "watermark-stuck"


def _row_of_the_future(symptoms: Symptoms) -> Sign | None:
    batches = [one for one in symptoms.scene.evidence.batches if one.watermark_ms and one.logged_ms]
    if not batches or not symptoms.of(_JUMP, _AHEAD):
        return None
    newest = batches[-1]
    handed_on = newest.commit.next_watermark_ms if newest.commit else None  # to the next batch
    at = f"the watermark is {encode_time(max(newest.watermark_ms or 0, handed_on or 0))}"
    sane = [one for one in batches if (one.watermark_ms or 0) <= (one.logged_ms or 0)]
    command = None
    if sane:
        at += f", and was {encode_time(sane[-1].watermark_ms or 0)} in batch {sane[-1].id}"
        command = f"ckpt plan watermark {{path}} --set {encode_time(sane[-1].watermark_ms or 0)}"
    if symptoms.of(_JUMP):
        return Sign("certain", f"{at}: all that comes since is late, and dropped", command=command)
    return Sign("likely", at, would_tell="a row with such a time in the input", command=command)


CAUSES = (
    KnownCause(
        "row-of-the-future",
        "a row with a time in the future has moved the watermark",
        "A device with a wrong clock, milliseconds read as seconds, a default such as 9999-12-31: one row is enough."
        " The watermark follows it, never comes back by itself, and from then on every row in time is dropped as late."
        " The query looks healthy, and writes nothing.",
        "the watermark went further between two batches than time did, and is ahead of the clock",
        (_JUMP, _AHEAD, _STUCK),
        _row_of_the_future,
        "filter such rows before withWatermark; then put the watermark back to where it was",
        "ckpt log {path}",
        never=("start-over",),
    ),
)
