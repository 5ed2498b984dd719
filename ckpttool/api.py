"""The two questions that commands and programs ask: `inspect_checkpoint`, what do its files tell; `plan_restart`, what
does a restart do with all that it depends on, and which ways out are there. Both look, and diagnose what they see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.errors import NotFound
from ckpttool.laws.restart import Choice, choose_release, possible_releases
from ckpttool.model import Checkpoint, Finding
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.needed_state import asks_for_state, load_state_at
from ckpttool.releases import Release
from ckpttool.scene.evidence import Evidence, gather_evidence
from ckpttool.scene.scene import Scene, Start, Trigger, option
from ckpttool.scene.sinks import SinkEvidence
from ckpttool.scene.state_chain import Mode, StateFiles
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import is_local

if TYPE_CHECKING:
    from ckpttool.kafka.diff import KafkaEvidence
    from ckpttool.kafka.lookup import Brokers
    from ckpttool.plan import Plan, Wish
    from ckpttool.query.model import Query
    from ckpttool.scene.windows import StoredWindows
    from ckpttool.storage.doors import Doors

NO_APP_ID = "-"
_READ = 100  # of each log, as everywhere


class Restarted(Struct, frozen=True):
    """How the query will be started again, as far as the user says it. `sinks`: URLs, or kinds without a record.

    `full_listing`: of logs however long. `state`: None for whole files where they are local, else for names and sizes.
    `brokers`: None if Kafka is not to be asked. `look_at`: URLs and directories that files may lead to, beside those of
    the checkpoint, the sinks and the option `path`. `txn_app_id`: of all
    sinks, or one for each, `-` where it has none. `query`: what is started, where it is described, and `was`: what was
    started before; what is given here counts before what the description says. `unasked`: laws that are left out."""

    release: Release | None = None
    trigger: Trigger | None = None
    conf: Mapping[str, str] = {}
    options: Mapping[str, str] = {}
    sinks: Sequence[str] = ()
    txn_app_id: str | Sequence[str] | None = None
    state: Mode | None = None
    wish: Wish | None = None
    brokers: Brokers | None = None
    full_listing: bool = False
    look_at: Sequence[str] = ()
    query: Query | None = None
    was: Query | None = None
    unasked: frozenset[str] = frozenset()

    @property
    def app_ids(self) -> list[str | None]:
        """Sink by sink."""
        given = self.txn_app_id
        if given is None or isinstance(given, str):
            return [given] * len(self.sinks)
        return [None if one == NO_APP_ID else one for one in given]


def plan_restart(
    url: str,
    restarted: Restarted,
    storage_options: Mapping[str, str] | None = None,
    *,
    now_ms: int,
    store: Store | None = None,
    sinks: Mapping[str, Store] | None = None,
    beside: bool = True,
    loaded: Checkpoint | None = None,
) -> tuple[Diagnosis, Plan]:
    """Names and few bodies tell what a sound query does; only where something is wrong, older batches are read too.

    `store`: the checkpoint, where somebody has opened it; `sinks`: of `restarted.sinks` those that are. `beside`: with
    a glance at the directories around, where older batches are read. `loaded`: as much of it as is wanted."""
    from ckpttool.storage.doors import Doors

    store = store or open_store(url, storage_options)
    doors = Doors([url, *places_typed(restarted)], storage_options, restarted.look_at, sinks)
    mode: Mode = restarted.state or ("full" if is_local(store.url) else "quick")
    full = restarted.full_listing
    if loaded is not None:
        return _plan(store, loaded, restarted, mode, doors, now_ms)
    seen: Sequence[SinkEvidence] | None = None
    if mode == "quick" and restarted.wish is None:
        loaded = _load(store, ONLY_OPENED, full, restarted)
        diagnosis, plan = _plan(store, loaded, restarted, mode, doors, now_ms)
        if _is_sound(diagnosis, plan):
            return diagnosis, replace(plan, reach=None)  # older batches would have to be read for it
        seen = diagnosis.scene.sinks
    read = _READ if restarted.wish is None else None  # one may want to go back to any of them
    return _plan(store, _load(store, read, full, restarted, beside=beside), restarted, mode, doors, now_ms, seen)


def _load(store: Store, batches: int | None, full: bool, restarted: Restarted, *, beside: bool = True) -> Checkpoint:
    """Where nothing is a query begins anew, and who names its sink asks what becomes of that; else it is a slip."""
    try:
        return load_checkpoint(store, batches=batches, any_place=True, full_listing=full, beside=beside)
    except NotFound as absent:
        if not restarted.sinks:
            raise
        step = "restore it from a backup, or look for where it was moved to, unless the query is new"
        return Checkpoint(
            store.url, None, faults=(Finding("checkpoint-absent", "warning", ".", absent.message, next_step=step),)
        )


def inspect_checkpoint(checkpoint: Checkpoint, now_ms: int | None = None, store: Store | None = None) -> Diagnosis:
    """Of a loaded checkpoint, for whatever release starts it. `now_ms`: the clock, for telling whether the query seems
    to run. `store`: where it was loaded from, to see by names and sizes whether its state can be loaded too."""
    evidence = gather_evidence(checkpoint)
    scene = Scene(evidence, Start(possible_releases(evidence)[-1]), now_ms=now_ms)
    if store is not None and asks_for_state(scene):
        scene = replace(scene, states={scene.next_id: load_state_at(store, scene, scene.next_id, "quick")})
    return diagnose(scene, "any")


def places_typed(restarted: Restarted) -> Iterator[str]:
    """What was typed to be looked at beside the checkpoint, but for kinds of sinks, which are no places."""
    from ckpttool.reading.sinks import NAMED

    yield from (sink for sink in restarted.sinks if sink.lower() not in NAMED)
    path = option(restarted.options, "path")
    if path is not None:
        yield path


def _is_sound(diagnosis: Diagnosis, plan: Plan) -> bool:
    """Nothing to mend and nothing to warn of: older batches would not change a word."""
    quiet = all(finding.severity == "info" for finding in diagnosis.findings)
    written = all(sink.verdict == "written" for sink in diagnosis.sinks)
    goes_on = diagnosis.prediction.outcome in ("new_batch", "replay")
    return goes_on and quiet and written and not plan.repairs


def _plan(
    store: Store,
    loaded: Checkpoint,
    restarted: Restarted,
    mode: Mode,
    doors: Doors,
    now_ms: int,
    seen: Sequence[SinkEvidence] | None = None,
) -> tuple[Diagnosis, Plan]:
    """`seen`: the sinks, where they were looked at already."""
    from ckpttool.plan import plan_recovery, with_options
    from ckpttool.reading.inputs import load_inputs

    evidence = gather_evidence(loaded)
    start, chosen = start_of(evidence, restarted)
    sinks = look_at_sinks(evidence, restarted, doors) if seen is None else seen
    scene = Scene(evidence, start, sinks=tuple(sinks), now_ms=now_ms, query=restarted.query, was=restarted.was)
    scene = replace(scene, unasked=restarted.unasked)
    scene = replace(scene, states=look_at_states(store, scene, mode, restarted.wish))
    scene = replace(scene, windows=look_at_windows(store, scene, mode))
    scene = with_what_is_wished(store, scene, restarted.wish, doors.options)
    scene = replace(scene, inputs=load_inputs(scene, doors), kafka=_ask_kafka(scene, restarted.brokers))
    diagnosis = diagnose(scene, chosen)
    # What could not be listed looks as if files were missing: nothing is planned on that.
    listed = {version: files for version, files in scene.states.items() if not files.unreachable}
    plan = plan_recovery(replace(scene, states=listed), diagnosis.prediction, restarted.wish)
    moves_inputs = restarted.wish is not None and restarted.wish.moves_inputs()

    def look_again(after: Scene) -> Scene:
        is_read = moves_inputs or _reads_otherwise(scene, after)
        return replace(after, inputs=load_inputs(after, doors)) if is_read else after

    return diagnosis, with_options(plan, look_again, has_to_go_on=moves_inputs)


def start_of(evidence: Evidence, restarted: Restarted) -> tuple[Start, Choice]:
    """And how it came to the release. What was said counts before what a description of the query says."""
    from ckpttool.query.started import options_of, options_of_sources, trigger_of

    release, chosen = choose_release(evidence, restarted.release)
    trigger, query = restarted.trigger, restarted.query
    start = Start(release, trigger, restarted.conf, restarted.options, is_named=restarted.release is not None)
    if query is not None:
        start = replace(start, trigger=trigger or trigger_of(query), options=options_of(query))
        start = replace(start, of_sources=options_of_sources(query))
        for key, value in restarted.options.items():
            start = start.given(key, value)
    return start, chosen


def _reads_otherwise(before: Scene, after: Scene) -> bool:
    """Whether what was seen of the inputs is of another range than the one that is read then."""
    newest = before.batch(before.planned), before.batch(before.previous), before.is_replay
    return newest != (after.batch(after.planned), after.batch(after.previous), after.is_replay)


def with_what_is_wished(
    store: Store, scene: Scene, wish: Wish | None, options: Mapping[str, str] | None = None
) -> Scene:
    """With what only the wish asks for. What cannot be read is not there, as with everything that nobody opens."""
    if wish is None:
        return scene
    bodies = store.read_all(tuple(wish.reads(scene)))
    raw = {path: body for path, body in bodies if isinstance(body, bytes)}
    for directory in wish.reads_all_in(scene):
        raw.update(_every_file_in(store, directory, options))
    found = {path: store.stat(path) for path in wish.dates(scene)}
    times = {path: one.modified_ms for path, one in found.items() if one and one.modified_ms is not None}
    checkpoint = scene.checkpoint
    checkpoint = replace(checkpoint, raw={**checkpoint.raw, **raw}, modified_ms={**checkpoint.modified_ms, **times})
    return replace(scene, evidence=replace(scene.evidence, checkpoint=checkpoint))


def _every_file_in(store: Store, directory: str, options: Mapping[str, str] | None) -> Iterator[tuple[str, bytes]]:
    """Whoever needs all of them cannot do without one."""
    from ckpttool.plan.steps import is_outside

    within, folder = (open_store(directory, options), "") if is_outside(directory) else (store, directory)
    names = [name for name in within.list(folder) if not name.startswith(".")]
    for path, body in within.read_all([f"{folder}/{name}".lstrip("/") for name in names]):
        if not isinstance(body, bytes):
            raise body
        yield f"{directory}/{path.rpartition('/')[2]}", body


def _ask_kafka(scene: Scene, brokers: Brokers | None) -> KafkaEvidence | None:
    if brokers is None:
        return None
    from ckpttool.kafka.lookup import look_at_kafka

    return look_at_kafka(scene, brokers)


def lacks(evidence: Evidence, wish: Wish | None) -> bool:
    """Whether what somebody wants is not there, such as the batch to go back to."""
    return wish is not None and wish.lacks(evidence)


def look_at_sinks(evidence: Evidence, restarted: Restarted, doors: Doors) -> list[SinkEvidence]:
    from ckpttool.reading.sinks import load_sink

    metadata = evidence.checkpoint.metadata
    query_id = metadata.id if metadata else None
    return [
        load_sink(sink, doors.options, query_id=query_id, txn_app_id=app_id, opened=doors.opened.get(sink))
        for sink, app_id in zip(restarted.sinks, restarted.app_ids, strict=True)
    ]


def look_at_windows(store: Store, scene: Scene, mode: Mode) -> tuple[StoredWindows, ...]:
    """Where a query is described, and the state is read anyway: its windows may be others than those that are kept."""
    if scene.query is None or mode != "full" or scene.next_id < 1 or not scene.checkpoint.operators:
        return ()
    from ckpttool.state.windows import windows_of

    return tuple(windows_of(store, scene.checkpoint, scene.next_id - 1))


def look_at_states(store: Store, scene: Scene, mode: Mode, wish: Wish | None = None) -> dict[int, StateFiles]:
    """The state that the next batch begins with; and if it cannot be loaded, or one wants to go back, older ones, down
    to the first that can."""
    from ckpttool.laws.state_load import obstacles
    from ckpttool.plan import versions_to_look_at

    if not asks_for_state(scene):
        return {}
    states: dict[int, StateFiles] = {}
    wished = () if wish is None else wish.versions(scene) or ()
    for version in dict.fromkeys((scene.next_id, *versions_to_look_at(scene, wish))):
        states[version] = load_state_at(store, scene, version, mode)
        if not set(wished) - set(states) and not obstacles(states[version], scene.start):
            break
    return states
