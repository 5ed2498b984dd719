"""`plan_restart`: everything that a restart depends on is looked at, then predicted, and the ways out are planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ckpttool.frozen import frozen, replace
from ckpttool.laws.restart import choose_release
from ckpttool.laws.state_verdict import predict_state
from ckpttool.model import Checkpoint
from ckpttool.outlook import Outlook, Seen, look_ahead
from ckpttool.plan import Plan, Wish, plan_recovery, versions_to_look_at
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.inputs import load_inputs
from ckpttool.reading.needed_state import asks_for_state, load_state_at
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import Release
from ckpttool.scene.evidence import Evidence, gather_evidence
from ckpttool.scene.scene import Conditions, Scene, Trigger
from ckpttool.scene.sinks import SinkEvidence
from ckpttool.scene.state_chain import Mode, StateFiles
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import is_local

if TYPE_CHECKING:
    from ckpttool.kafka.diff import KafkaEvidence
    from ckpttool.kafka.lookup import Brokers

_ASYNC = "asyncProgressTrackingEnabled"
_READ = 100  # of each log, as everywhere


@frozen
class Restarted:
    """How the query will be started again, as far as the user says it. `sinks`: URLs, or kinds without a record.

    `full_listing`: of logs however long. `state`: None for whole files where they are local, else for names and sizes.
    `brokers`: None if Kafka is not to be asked."""

    release: Release | None = None
    trigger: Trigger | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    sinks: Sequence[str] = ()
    txn_app_id: str | None = None
    state: Mode | None = None
    wish: Wish | None = None
    brokers: Brokers | None = None
    full_listing: bool = False


def plan_restart(
    url: str, restarted: Restarted, storage_options: Mapping[str, str] | None = None, *, now_ms: int
) -> tuple[Outlook, Plan]:
    """Names and few bodies tell what a sound query does; only where something is wrong, older batches are read too."""
    store = open_store(url, storage_options)
    mode: Mode = restarted.state or ("full" if is_local(store.url) else "quick")
    full = restarted.full_listing
    if mode == "quick" and restarted.wish is None:
        loaded = load_checkpoint(store, batches=ONLY_OPENED, any_place=True, full_listing=full)
        outlook, plan = _plan(store, loaded, restarted, mode, storage_options, now_ms)
        if _is_sound(outlook, plan):
            return outlook, replace(plan, reach=None)  # older batches would have to be read for it
    read = _READ if restarted.wish is None else None  # one may want to go back to any of them
    loaded = load_checkpoint(store, batches=read, any_place=True, full_listing=full)
    return _plan(store, loaded, restarted, mode, storage_options, now_ms)


def _is_sound(outlook: Outlook, plan: Plan) -> bool:
    """Nothing to mend and nothing to warn of: older batches would not change a word."""
    quiet = all(finding.severity == "info" for finding in outlook.findings)
    written = all(sink.verdict == "written" for sink in outlook.sinks)
    goes_on = outlook.restart.outcome in ("new_batch", "replay")
    return goes_on and quiet and written and not plan.repairs


def _plan(
    store: Store,
    loaded: Checkpoint,
    restarted: Restarted,
    mode: Mode,
    storage_options: Mapping[str, str] | None,
    now_ms: int,
) -> tuple[Outlook, Plan]:
    evidence = gather_evidence(loaded)
    sinks = look_at_sinks(evidence, restarted, storage_options)
    release, chosen = choose_release(evidence, restarted.release)
    conditions = conditions_of(restarted, release, sinks)
    states = look_at_states(store, evidence, conditions, mode, restarted.wish)
    inputs = load_inputs(evidence, restarted.options, storage_options)
    seen = Seen(sinks, states, inputs, _ask_kafka(Scene(evidence, conditions), restarted.brokers))
    outlook = look_ahead(evidence, conditions, chosen, seen=seen, now_ms=now_ms)
    listed = [files for files in states if not files.unreachable]  # the others look as if files were missing
    plan = plan_recovery(evidence, outlook.restart, sinks, conditions, restarted.wish, states=listed, kafka=seen.kafka)
    return outlook, plan


def _ask_kafka(scene: Scene, brokers: Brokers | None) -> KafkaEvidence | None:
    if brokers is None:
        return None
    from ckpttool.kafka.lookup import look_at_kafka

    return look_at_kafka(scene, brokers)


def lacks(evidence: Evidence, wish: Wish | None) -> bool:
    """Whether what one wants to go back to is not in the logs: no such batch, or a time before the first."""
    if wish is None:
        return False
    if wish.to_batch is not None:
        names = evidence.checkpoint.offset_names, evidence.checkpoint.commit_names
        return not any(wish.to_batch in one.ids for one in names)
    planned = [batch.planned_ms for batch in evidence.batches if batch.planned_ms is not None]
    return not planned or min(planned) > (wish.to_time_ms or 0)


def conditions_of(restarted: Restarted, release: Release, sinks: Sequence[SinkEvidence]) -> Conditions:
    given = restarted.options.get(_ASYNC)
    return Conditions(
        release,
        trigger=restarted.trigger,
        async_progress=None if given is None else given.strip().lower() == "true",
        conf=restarted.conf,
        options=restarted.options,
        sinks=tuple(sink.kind for sink in sinks),
    )


def look_at_sinks(
    evidence: Evidence, restarted: Restarted, storage_options: Mapping[str, str] | None
) -> list[SinkEvidence]:
    metadata = evidence.checkpoint.metadata
    query_id = metadata.id if metadata else None
    return [
        load_sink(sink, storage_options, query_id=query_id, txn_app_id=restarted.txn_app_id) for sink in restarted.sinks
    ]


def look_at_states(
    store: Store, evidence: Evidence, conditions: Conditions, mode: Mode, wish: Wish | None = None
) -> list[StateFiles]:
    """The state that the next batch begins with; and if it cannot be loaded, or one wants to go back, older ones, down
    to the first that can."""
    scene = Scene(evidence, conditions)
    if not asks_for_state(scene):
        return []
    states: list[StateFiles] = []
    for version in dict.fromkeys((scene.next_id, *versions_to_look_at(evidence, conditions, wish))):
        states.append(load_state_at(store, scene, version, mode))
        wanted = wish is None or len(states) > 1
        if wanted and predict_state(states[-1], conditions.release, conditions.conf).outcome == "loadable":
            break
    return states
