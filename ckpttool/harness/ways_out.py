"""Ways out, carried out on an image: what plan-recovery offers is done to the files, and the query starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckpttool.errors import Refused
from ckpttool.harness.executor import take_steps
from ckpttool.harness.history import Case
from ckpttool.harness.images import Image
from ckpttool.harness.recovery import Spark, look_ahead
from ckpttool.harness.trial import Trial, crash_of
from ckpttool.planner import Wish


def cases_of_ways_out(trial: Trial, spark: Spark, image: Image, keep: int) -> Iterator[Case]:
    """Go back to the end of batch `keep`, in every way that is offered and needs no person."""
    trial.put_back(trial.images, image)
    _, plan = look_ahead(trial.place, trial.spoken_sink(), trial.settings.release, trial.scenario.conf, Wish(keep))
    for option in plan.options:
        trial.put_back(trial.images, image)
        crash = crash_of(image, trial.read(), armed=True)
        try:
            taken = take_steps(option.steps, trial.place.checkpoint, trial.scratch.root)
        except Refused:
            continue
        case = trial.recover_disk(spark, crash, "", taken.conf)
        first, *more = case.restarts
        restarts = (replace(first, by_hand=tuple(taken.told)), *more)
        name = f"way-out-{option.id}-{image.id}"
        yield from trial.keep([replace(case, name=name, restarts=restarts, way_out=option.id, rewound_to=keep)])
