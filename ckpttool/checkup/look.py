"""`check_up`: look at all that a checkup needs, over one loading, and leave out the laws that fail."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ckpttool.api import Restarted, places_typed, plan_restart, with_what_is_wished
from ckpttool.causes.book import CAUSES
from ckpttool.checkup.checks import checks_of
from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.fixes import fixes_of
from ckpttool.diagnosis import Diagnosis, with_health, worst_first
from ckpttool.errors import CkptError
from ckpttool.laws.base import Profile, WithId, behind
from ckpttool.laws.book import every
from ckpttool.plan import Plan
from ckpttool.reading.around import look_around
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import is_local


def check_up(
    url: str,
    restarted: Restarted,
    storage_options: Mapping[str, str] | None = None,
    *,
    now_ms: int,
    profile: Profile | None = None,
    store: Store | None = None,
    forgiving: bool = True,
) -> Checkup:
    """`profile`: None for all that there is where that is local, else for names and what was pointed at. `store`: the
    checkpoint, where somebody has opened it. `forgiving`: whether a law that fails is told of, and the rest goes on."""
    store = store or open_store(url, storage_options)
    profile = profile or ("full" if is_local(store.url) else "quick")
    restarted = replace(restarted, state=profile)
    failed: dict[str, str] = {}
    while True:
        try:
            able = replace(restarted, unasked=frozenset(failed))
            found, plan = _look(url, able, storage_options, store, now_ms, profile)
            checks, fixes = checks_of(found, failed), fixes_of(found, plan, profile, _wished(found, store))
            return Checkup(found, plan, profile, now_ms, checks, fixes, failed)
        except Exception as error:
            asked: tuple[WithId, ...] = (*every(), *CAUSES)
            those = frozenset() if isinstance(error, CkptError) else behind(error, asked) - failed.keys()
            if not (those and forgiving):
                raise
            failed |= dict.fromkeys(those, f"a bug in ckpt: {type(error).__name__}")


def _look(
    url: str,
    restarted: Restarted,
    storage_options: Mapping[str, str] | None,
    store: Store,
    now_ms: int,
    profile: Profile,
) -> tuple[Diagnosis, Plan]:
    diagnosis, plan = plan_restart(url, restarted, storage_options, now_ms=now_ms, store=store)
    doors = Doors([url, *places_typed(restarted)], storage_options, restarted.look_at)
    around = look_around(store, diagnosis.scene, restarted.brokers, doors, at_length=profile == "full")
    diagnosis = replace(diagnosis, scene=replace(diagnosis.scene, around=around))
    if profile == "full":
        diagnosis = _with_rows_read(diagnosis, store)
    return with_health(diagnosis, profile), plan


def _wished(diagnosis: Diagnosis, store: Store) -> dict[str, Plan]:
    """What a wish makes of findings that lose nothing by it: it is planned only where one is told."""
    asking = {one.id for one in diagnosis.findings if one.severity != "info"}
    if asking.isdisjoint(("rename-lost", "orphan-crc")):
        return {}
    from ckpttool.plan import plan_recovery
    from ckpttool.plan.wishes import Gc, RenameFound

    plans = {}
    for id, wish in (("rename-lost", RenameFound()), ("orphan-crc", Gc())):
        if id in asking:
            scene = with_what_is_wished(store, diagnosis.scene, wish)
            plans[id] = plan_recovery(scene, diagnosis.prediction, wish)
    return plans


def _with_rows_read(diagnosis: Diagnosis, store: Store) -> Diagnosis:
    """With what only the entries inside the files tell, as `ckpt state verify` does."""
    scene = diagnosis.scene
    files = scene.needed_state
    if files is None or files.version <= 0 or files.unreachable:
        return diagnosis
    from ckpttool.state.reader import StateReader
    from ckpttool.state.verify import verify_state

    reader = StateReader(store, scene.checkpoint, files.version - 1)
    verification = verify_state(reader, scene.release, files=files)
    told = [f"{one.path}/" for one in diagnosis.findings]
    # Of a store with damaged files nothing more is to be told.
    more = [one for one in verification.findings if not any(path.startswith(f"{one.path}/") for path in told)]
    return replace(diagnosis, findings=worst_first((*diagnosis.findings, *more)))
