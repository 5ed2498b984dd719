"""Makes the histories of this folder anew: one for each anomaly, a sound one changed in one place.

    python -m tests.known_bad.make

They are kept as files, so that a judge that forgets an anomaly, or reads old histories otherwise, is found out. Each is
named after what it has to be rejected for.
"""

from __future__ import annotations

import random
from pathlib import Path

from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_histories
from tests.history_builders import History, Shape, sound_history
from tests.mutations import MUTATIONS

FOLDER = Path(__file__).parent
# The first that the change applies to is taken.
SHAPES = (
    Shape(operator="map", source="kafka", sink="delta", window="doubled"),
    Shape(operator="map", source="file", sink="foreachBatch", window="doubled"),
    Shape(operator="window", source="file", sink="delta", window="replayed"),
)
# These are best seen on another one.
SHAPE_OF = {
    "state-differs": Shape(operator="count", source="kafka", sink="delta"),
    "uncommitted-visible": Shape(source="rate-micro-batch", sink="delta", window="replayed"),
    "path-twice-in-ledger": Shape(source="file", sink="file"),
    "control-bites-elsewhere": Shape(source="file", sink="foreachBatch", window="replayed"),
    "input-not-read": Shape(crash_batch=1),
}


def changed_history(name: str) -> History:
    chance = random.Random(name)
    for shape in (*([SHAPE_OF[name]] if name in SHAPE_OF else []), *SHAPES):
        for mutation in MUTATIONS[name]:
            changed = mutation(sound_history(shape), chance.choice)
            if changed is not None:
                return changed
    raise LookupError(name)


if __name__ == "__main__":
    for name in MUTATIONS:
        changed = changed_history(name)
        text = encode_histories(Histories(changed.run, (changed.case,)))
        (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")
