"""Ways out, carried out on an image: what plan-recovery offers is done to the files, and the query starts.

They are asked for where a file is torn, and where one wants to go back. Only those are taken that promise to lose
nothing and to double nothing, and that need no person: then the judge has nothing to allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.formats import layout
from ckpttool.harness.crashes import crash_of, torn
from ckpttool.harness.history import Case
from ckpttool.harness.images import Image, remove_parts
from ckpttool.harness.place import JobPlace
from ckpttool.harness.predict import as_restarted, diagnose
from ckpttool.harness.session import Ask
from ckpttool.harness.take_steps import TakenSteps, needs_a_person, take_steps
from ckpttool.harness.tears import Tear, tear, tears
from ckpttool.harness.trial import Trial
from ckpttool.plan import Plan, Rewind, SetAside, Step, WayOut, Wish, Write
from ckpttool.plan.steps import SET_ASIDE

# Losses of files that a restart may not get over by itself.
TORN = ("metadata", "offsets", "offsets-before", "commits", "commits-before", "source-log", "state-delta",
        "state-changelog", "state-zip")  # fmt: skip
HOW = ("gone", "cut")


class Need(Struct, frozen=True):
    """Why somebody asks for a way out: a file is torn, or one wants to go back; or the restart fails as it is."""

    tear: Tear | None = None
    to_batch: int | None = None

    @property
    def name(self) -> str:
        if self.tear:
            return self.tear.name
        return "as-it-is" if self.to_batch is None else f"back-to-{self.to_batch}"

    @property
    def wish(self) -> Wish | None:
        return None if self.to_batch is None else Rewind(to_batch=self.to_batch)


def needs(place: JobPlace) -> Iterator[Need]:
    """To go back by one batch, by two, by three; and each file that can be torn."""
    yield from (Need(to_batch=batch) for batch in place.batches("commits")[::-1][1:4])
    # Of the two tears of a file with a checksum the one without: what else stops a restart is the checksum alone.
    torn_files = {(one.target, one.action): one for one in tears(place) if one.target in TORN and one.action in HOW}
    yield from (Need(tear=one) for one in torn_files.values())


def harmless(plan: Plan) -> list[WayOut]:
    """Those that promise to do no harm, and that `take_steps` can take."""
    return [
        option
        for option in plan.options
        if option.rows_lost == option.rows_duplicated == 0 and not any(map(needs_a_person, option.steps))
    ]


def cases_of_ways_out(trial: Trial, ask: Ask, done: Image, doubled: Image) -> Iterator[Case]:
    """Recover after each way out that is offered: for the image of a finished batch, whole and torn, and for that of
    one which only the sink has, as it is."""
    place = trial.job.place
    trial.put_back(done)
    for image, need in [(doubled, Need()), *((done, need) for need in needs(place))]:
        _put_back(trial, image, need)
        _, plan = diagnose(place, as_restarted(trial.run, place, trial.run.conf, need.wish))
        for way_out in harmless(plan):
            edit = _put_back(trial, image, need)
            crash = crash_of(image, trial.read(), armed=True)
            try:
                taken = take_steps(way_out.steps, place.checkpoint, trial.job.scratch)
            except Refused as refusal:
                raise Refused(f"{way_out.id} for {need.name}: {refusal.message}", refusal.next_step) from None
            case = trial.recover_disk(ask, torn(crash, edit) if edit else crash, taken.conf)
            name = f"way-out-{way_out.id}-{need.name}-{image.id}"
            path = str(trial.images.path(image))
            yield trial.keep(replace(operated(case, way_out, taken), name=name, image=path))


def _put_back(trial: Trial, image: Image, need: Need) -> str | None:
    """The image as the need has it, without what an earlier way out has set aside; what was torn, in words."""
    place = trial.job.place
    trial.put_back(image)
    remove_parts(place.root, [f"{part}{SET_ASIDE}" for part in place.parts])
    return tear(place, need.tear) if need.tear else None


def operated(case: Case, way_out: WayOut, taken: TakenSteps) -> Case:
    """The case as one in which a hand helped: what plan-recovery said of the disk before is not asked."""
    first, *others = case.restarts
    by_hand = replace(first, by_hand=tuple(taken.in_words))
    return replace(
        case,
        restarts=(by_hand, *others),
        prediction=None,
        way_out=way_out.id,
        rewound_to=kept_up_to(way_out.steps),
    )


def kept_up_to(steps: Iterable[Step]) -> int | None:
    """The last batch that they leave as it was planned; None: they take none away."""
    paths = (step.path for step in steps if isinstance(step, SetAside | Write))
    batches = [int(found[1]) for path in paths if (found := re.fullmatch(layout.offsets(r"(\d+)"), path))]
    return min(batches) - 1 if batches else None
