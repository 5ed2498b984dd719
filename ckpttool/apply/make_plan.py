"""A way out as a plan: what it does, what it relies on, what it promises."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

import ckpttool
from ckpttool.api import Restarted, plan_restart
from ckpttool.apply.brokers import mark_kafka
from ckpttool.apply.fence import stops_in_time, wires_of
from ckpttool.apply.fingerprints import (
    directories,
    directories_below,
    files_below,
    mark_file,
    mark_files,
    mark_names,
    mark_sink,
    mark_unread,
    names_in,
    opened,
    state_files,
)
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.plan_file import (
    SCHEMA,
    ChosenOption,
    FileMark,
    Origin,
    PlanCost,
    PlanFile,
    PlannedStep,
    Promise,
    ReliedOn,
    Target,
    absolute_place,
    asked_of,
    sealed,
    within_place,
)
from ckpttool.apply.stores.durable import mounted_from_afar
from ckpttool.connectors.auto_loader import KIND as AUTO_LOADER
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.errors import Refused
from ckpttool.formats import layout
from ckpttool.plan import Conf, Copy, DeltaRestore, DeltaTxn, Manual, Move, Plan, SetAside, Spark, Step, WayOut, Write
from ckpttool.plan.conditions import QUERY_STOPPED, Condition
from ckpttool.plan.fence import within_fence
from ckpttool.plan.steps import is_outside, is_reversible, plain
from ckpttool.releases import spell_release
from ckpttool.report.views.plan_recovery import restart_fields
from ckpttool.scene.scene import Scene
from ckpttool.storage.store import Store, is_directory, open_store
from ckpttool.storage.urls import is_local, redact_url

# Ways out that are commands of their own.
BY_COMMAND = ("resume-apply", "undo-apply")


def choose(plan: Plan, taken: str | None) -> WayOut:
    """The one that was named; else the one that somebody wished, or the only repair that neither loses nor doubles."""
    if begun := [one.steps[0].shell for one in plan.options if one.id in BY_COMMAND]:
        raise NotApplied(WhyNot("apply-unfinished", "a plan was begun here and is not finished",
                                next_step=", or ".join(begun)))  # fmt: skip
    if taken is not None:
        found = next((option for option in plan.options if option.id == taken), None)
        if found is None:
            raise NotApplied(WhyNot("no-way-out", f"there is no way out {taken} here", next_step=_listed(plan)))
        return found
    sound = list(plan.options) if plan.wish else [one for one in plan.repairs if _is_exact(one)]
    if len(sound) == 1:
        return sound[0]
    raise Undecided("say which way out: --take OPTION", _listed(plan))


class Undecided(Refused):
    """It has to be said which; a matter of usage."""


def _is_exact(option: WayOut) -> bool:
    return option.rows_lost == 0 and option.rows_duplicated == 0


def _listed(plan: Plan) -> str:
    if plan.options:
        return f"there are: {', '.join(option.id for option in plan.options)}"
    return "; ".join(f"{one.id}: {one.why}" for one in plan.refused) or "there is nothing to mend"


def plan_at(url: str, take: str, restarted: Restarted, storage: Mapping[str, str] | None = None) -> PlanFile:
    """For what is there now."""
    diagnosis, plan = plan_restart(url, restarted, storage, now_ms=int(time.time() * 1000))
    return make_plan(diagnosis, choose(plan, take), plan, restarted, open_store(url, storage), storage)


def make_plan(
    diagnosis: Diagnosis,
    option: WayOut,
    plan: Plan,
    restarted: Restarted,
    store: Store,
    storage: Mapping[str, str] | None = None,
) -> PlanFile:
    before, after = diagnosis.scene, option.after
    url, origin = absolute(after.root), absolute(before.root)
    if any(redact_url(one) != one for one in (url, origin, *restarted.sinks)):
        raise Refused("a URL with a password or a signature in it is not saved", "give those as storage options")
    steps = planned_steps(before, option)
    is_born = url != origin
    if not is_born and (foreign := next(_of_auto_loader(before, steps), None)):
        raise NotApplied(WhyNot("not-writable", f"{foreign} is Auto Loader's own, and nobody else knows what is in it",
                                next_step="have the query begin anew under another checkpoint"))  # fmt: skip
    leaves = is_born and any(step.target == "metadata" and is_outside(step.path or "") for step in steps)
    wires = _wires(before, store) if any(step.kind != "conf" for step in steps) and not is_born else []
    if is_born:
        relies_on = _place_to_be_born(url, origin, steps, before, store, storage or {})
    else:
        relies_on = _relied_on(before, after, steps, wires, store, storage or {})
    relies_on = replace(relies_on, kafka=mark_kafka(diagnosis))
    now_ms = int(time.time() * 1000)
    return sealed(
        PlanFile(
            schema=SCHEMA,
            ckpt_version=ckpttool.__version__,
            id=_new_id(now_ms),
            created_ms=now_ms,
            checkpoint=url,
            query_id=before.checkpoint.metadata.id if before.checkpoint.metadata else None,
            spark_version={"assumed": spell_release(before.release), "why": diagnosis.chosen},
            asked=asked_of(restarted),
            assumes=list(diagnosis.prediction.assumes),
            wish=plan.wish,  # type: ignore[arg-type]
            option=_chosen(option),
            conditions=[*_conditions(before, option, wires, stays=is_born and not leaves), *_of_the_place(url)],
            steps=steps,
            wires=wires,
            before=restart_fields(diagnosis.prediction),
            relies_on=relies_on,
            promise=promise_of(diagnose(after)),
            cost=_cost(steps, relies_on.files),
            origin=_origin(origin, steps, store) if is_born else None,
        )
    )


def _of_auto_loader(scene: Scene, steps: Sequence[PlannedStep]) -> Iterator[str]:
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        own = layout.source(source.key)
        if scene.kind_of(source) == AUTO_LOADER:
            yield from (step.path for step in steps if step.path and f"{own}/".startswith(f"{step.path}/"))
            yield from (step.path for step in steps if step.path and step.path.startswith(f"{own}/"))


def absolute(url: str) -> str:
    return os.path.abspath(plain(url)) if is_local(url) else url


def promise_of(diagnosis: Diagnosis) -> Promise:
    return Promise(
        restart=restart_fields(diagnosis.prediction),
        sinks=[{"path": absolute_place(one.path), "verdict": one.verdict} for one in diagnosis.sinks],
        errors=sorted({one.id for one in diagnosis.findings if one.severity == "error"}),
    )


def _new_id(now_ms: int) -> str:
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now_ms / 1000))}-{secrets.token_hex(3)}"


def _chosen(option: WayOut) -> ChosenOption:
    rows = option.rows_replayed, option.rows_lost, option.rows_duplicated
    return ChosenOption(option.id, option.title, option.guarantee, *rows, option.trap)


# -- steps -------------------------------------------------------------------------------------------------------------

_TARGETS: dict[str, Target] = {
    layout.STATE: "state",
    layout.OFFSETS: "logs",
    layout.COMMITS: "logs",
    layout.SOURCES: "sources",
}


def planned_steps(before: Scene, option: WayOut) -> list[PlannedStep]:
    return [_planned(n, step) for n, step in enumerate(within_fence(before.checkpoint, option.steps), 1)]


def _planned(n: int, step: Step) -> PlannedStep:
    undone = is_reversible(step)
    match step:
        case SetAside():
            return PlannedStep(n, "set_aside", _target(step.path), step.why, undone, path=_whole(step.path))
        case Move():
            return PlannedStep(n, "move", _target(step.to), step.why, undone, path=step.path, to=step.to)
        case Copy():
            return PlannedStep(n, "copy", _target(step.path), step.why, undone, path=step.path, to=step.path)
        case Write():
            target = _target(step.path)
            return PlannedStep(
                n, "write", target, step.why, undone, path=_whole(step.path), content=step.content, sha256=step.sha256
            )
        case DeltaRestore():
            return PlannedStep(
                n, "delta_restore", "sink", step.why, undone, table=absolute(step.table), version=step.version
            )
        case DeltaTxn():
            table = absolute(step.table)
            return PlannedStep(
                n, "delta_txn", "sink", step.why, undone, table=table, app_id=step.app_id, version=step.version
            )
        case Conf():
            return PlannedStep(n, "conf", "query", step.why, undone, k=step.k, v=step.v)
        case Manual():
            return PlannedStep(n, "manual", step.target, step.why, undone, text=step.text, check=step.check)
        case Spark():
            check = replace(step.check, path=absolute(step.check.path or ""))
            return PlannedStep(
                n,
                "spark",
                "sink",
                step.why,
                undone,
                table=check.path,
                text=step.shell,
                program=step.program,
                check=check,
            )
    raise TypeError(step)


def _whole(path: str) -> str:
    """Where it leads out of the checkpoint."""
    return absolute(path) if is_outside(path) else path


def _target(path: str) -> Target:
    if is_outside(path):
        return "metadata" if path.endswith(f"/{layout.METADATA}") else "sink"
    return _TARGETS.get(path.partition("/")[0], "metadata")


def what_it_does(step: PlannedStep) -> tuple[object, ...]:
    """By which two steps are the same, however their reasons are worded."""
    does = step.kind, step.path, step.to, step.content, step.table, step.version, step.app_id, step.k, step.v
    return (*does, step.program, step.check)


# -- what it relies on -------------------------------------------------------------------------------------------------


def _relied_on(
    before: Scene,
    after: Scene,
    steps: Sequence[PlannedStep],
    wires: Sequence[str],
    store: Store,
    storage: Mapping[str, str],
) -> ReliedOn:
    opens = opened(before, after)
    touched, names = set(wires), directories(before)
    names |= {one for one in opens if one != layout.METADATA and is_directory(store, one)}  # where a file belongs
    outside: list[FileMark] = []
    for path in dict.fromkeys(step.path for step in steps if step.path):
        if is_outside(path):
            outside.append(_mark_outside(path, [absolute_place(sink.path) for sink in before.sinks], storage))
        elif path != layout.METADATA and is_directory(store, path):
            touched.update(files_below(store, path))
            names.update(directories_below(store, path))
        else:
            touched.add(path)
            names.update(_folders(path))
    targets = [target for step in steps if step.kind == "move" for target in _moved_to(store, step)]
    touched.update(targets)
    names.update(folder for target in targets for folder in _folders(target))
    unread = state_files(after) - touched
    there = {one for one in names if not one or is_directory(store, one)}
    read = (touched | opens | names) - there - unread
    files = [*mark_files(store, sorted(read)), *(mark_unread(store, one) for one in sorted(unread))]
    return ReliedOn(
        files=[*files, *outside],
        names=[mark_names(store, one) for one in sorted(there)],
        sinks=[mark_sink(sink) for sink in before.sinks],
        kafka=[],
    )


def _origin(url: str, steps: Sequence[PlannedStep], store: Store) -> Origin:
    """What is copied, and what else would be there if the query ran meanwhile."""
    copied = [step.path for step in steps if step.kind == "copy" and step.path]
    folders = [path for path in copied if is_directory(store, path)]
    files = {path for path in copied if path not in folders} | {
        one for path in folders for one in files_below(store, path)
    }
    if layout.METADATA in names_in(store, ""):
        files.add(layout.METADATA)
    logs = [path for path in layout.LOGS if is_directory(store, path)]  # a batch that is written adds a name there
    below = dict.fromkeys(one for path in (*logs, *folders) for one in directories_below(store, path))
    names = [mark_names(store, one) for one in below]
    return Origin(url, list(mark_files(store, sorted(files))), [mark_names(store, ""), *names])


def _place_to_be_born(
    url: str, origin: str, steps: Sequence[PlannedStep], before: Scene, store: Store, storage: Mapping[str, str]
) -> ReliedOn:
    """Where nothing may be. Of what is changed elsewhere there is a mark of its own."""
    there = open_store(url, storage)
    if found := names_in(there, ""):
        raise Refused(f"{url} is not empty: {sorted(found)[0]} is there", "name a place where nothing is")
    touched = dict.fromkeys(step.path for step in steps if step.kind in ("write", "set_aside") and step.path)
    targets = {path for path in touched if not is_outside(path)}
    for path in (step.path for step in steps if step.kind == "copy" and step.path):
        targets |= set(files_below(store, path)) if is_directory(store, path) else {path}
    folders = {folder for path in targets for folder in _folders(path)}
    absent = [FileMark(one, absent=True) for one in sorted(targets | folders | {layout.METADATA})]
    places = [origin, *(absolute_place(sink.path) for sink in before.sinks)]
    outside = [_mark_outside(path, places, storage) for path in touched if is_outside(path)]
    return ReliedOn([*absent, *outside], [mark_names(there, "")], [mark_sink(sink) for sink in before.sinks], [])


def _mark_outside(path: str, places: Sequence[str], storage: Mapping[str, str]) -> FileMark:
    root, name = within_place(path, places)
    return mark_file(open_store(root, storage), name, path)


def _moved_to(store: Store, step: PlannedStep) -> Iterator[str]:
    """Where the files of a directory come to lie."""
    old, new = step.path or "", step.to or ""
    return (f"{new}{path.removeprefix(old)}" for path in files_below(store, old))


def _wires(before: Scene, store: Store) -> list[str]:
    """None where a directory stands in the place of a file, or the other way round."""
    return [
        one for one in wires_of(before) if is_directory(store, one.rpartition("/")[0]) and not is_directory(store, one)
    ]


def _folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _cost(steps: Sequence[PlannedStep], files: Sequence[FileMark]) -> PlanCost:
    taken = {step.path for step in steps if step.path}
    marked = [mark for mark in files if mark.path in taken or any(one in taken for one in _folders(mark.path))]
    sizes = [mark.size or 0 for mark in marked if not mark.absent]
    moved = sum(sizes)
    return PlanCost(files=len(sizes), bytes_backed_up=moved, bytes_moved=moved, requests=4 * len(sizes) + 25)


# -- what only a person can know ---------------------------------------------------------------------------------------


def _of_the_place(url: str) -> Iterator[Condition]:
    kind = mounted_from_afar(url) if is_local(url) else None
    if kind is not None:
        text = (
            f"the checkpoint lies in {kind}, which may lose what it said is written if its own machine fails meanwhile"
        )
        yield Condition("durability-unknown", text, "ckpt")


def _conditions(before: Scene, option: WayOut, wires: Sequence[str], *, stays: bool) -> Iterator[Condition]:
    """`stays`: the checkpoint that is copied goes on as it is."""
    if stays:
        text = (
            "the query that is copied writes nothing meanwhile: what it wrote is seen before the copy is fit to start"
        )
        yield Condition(QUERY_STOPPED, text, "ckpt")
    elif all(isinstance(step, Conf) for step in option.steps) or (wires and stops_in_time(before)):
        yield Condition(QUERY_STOPPED, "the query is stopped, and nothing starts it again", "ckpt")
    else:
        text = "the query is stopped, and nothing starts it again: here nothing would stop one that runs in time"
        yield Condition(QUERY_STOPPED, text, "you")
    yield from (condition for condition in option.conditions if condition.who != "shell")
