"""Ways out, carried out on an image: what plan-recovery offers is done to the files, and the query starts.

They are asked for where a file is torn, and where one wants to go back. Only those are taken that promise to lose
nothing and to double nothing, and that need no person: then the judge has nothing to allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.api import Restarted
from ckpttool.apply.make_plan import plan_at
from ckpttool.errors import Refused
from ckpttool.formats import layout
from ckpttool.harness.apply_command import ApplyCommand
from ckpttool.harness.crashes import crash_of, torn
from ckpttool.harness.history import Case
from ckpttool.harness.images import Image
from ckpttool.harness.place import JobPlace
from ckpttool.harness.predict import as_restarted, diagnose
from ckpttool.harness.session import Ask
from ckpttool.harness.tears import Tear, tear, tears
from ckpttool.harness.trial import Trial
from ckpttool.plan import Manual, Plan, Rewind, SetAside, Spark, Step, WayOut, Wish, Write
from ckpttool.plan.steps import spell

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
    """Those that promise to do no harm, and that need no person but to stop the query."""
    return [
        option
        for option in plan.options
        if option.rows_lost == option.rows_duplicated == 0 and not any(map(needs_a_person, option.steps))
    ]


def needs_a_person(step: Step) -> bool:
    """Of an image no query runs, so nobody has to stop one."""
    return isinstance(step, Spark) or (isinstance(step, Manual) and step.target != "query")


def cases_of_ways_out(trial: Trial, ask: Ask, done: Image, doubled: Image) -> Iterator[Case]:
    """Recover after each way out that is offered: for the image of a finished batch, whole and torn, and for that of
    one which only the sink has, as it is. Once it is carried out in one go, and once with a kill in the middle."""
    place = trial.job.place
    trial.put_back(done)
    for image, need in [(doubled, Need()), *((done, need) for need in needs(place))]:
        _put_back(trial, image, need)
        restarted = as_restarted(trial.run, place, trial.run.conf, need.wish)
        _, plan = diagnose(place, restarted)
        for way_out in harmless(plan):
            name = f"way-out-{way_out.id}-{need.name}-{image.id}"
            case, count = _case(trial, ask, image, need, way_out, restarted, name)
            yield case
            if count:  # a setting alone changes no file
                at = Random(name).randrange(count // 2, count)  # when there is something to go on with
                yield _case(trial, ask, image, need, way_out, restarted, f"{name}-killed-{at}", at)[0]


def _case(
    trial: Trial,
    ask: Ask,
    image: Image,
    need: Need,
    way_out: WayOut,
    restarted: Restarted,
    name: str,
    killed_at: int | None = None,
) -> tuple[Case, int]:
    """With the number of operations that carrying it out took."""
    edit = _put_back(trial, image, need)
    crash = crash_of(image, trial.read(), armed=True)
    try:
        plan = plan_at(str(trial.job.place.checkpoint), way_out.id, restarted)
        count = ApplyCommand(plan, trial.job.scratch).carry_out(killed_at)
    except Refused as refusal:
        raise Refused(f"{way_out.id} for {need.name}: {refusal.message}", refusal.next_step) from None
    conf = {step.k: step.v for step in plan.steps if step.k is not None and step.v is not None}
    case = trial.recover_disk(ask, torn(crash, edit) if edit else crash, conf)
    path = str(trial.images.path(image))
    return trial.keep(replace(operated(case, way_out, killed_at), name=name, image=path)), count


def _put_back(trial: Trial, image: Image, need: Need) -> str | None:
    """The image as the need has it; what was torn, in words."""
    trial.put_back(image)
    return tear(trial.job.place, need.tear) if need.tear else None


def operated(case: Case, way_out: WayOut, killed_at: int | None = None) -> Case:
    """The case as one in which a hand helped: what plan-recovery said of the disk before is not asked."""
    first, *others = case.restarts
    killed = () if killed_at is None else (f"killed before operation {killed_at}, and resumed",)
    steps = (f"{spell(step)}: {step.why}" for step in way_out.steps)
    by_hand = replace(first, by_hand=(f"ckpt apply --take {way_out.id}", *killed, *steps))
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
