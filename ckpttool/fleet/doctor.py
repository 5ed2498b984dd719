"""A checkup of every checkpoint that a scan has found: quick, and without sinks and brokers, which nobody named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from ckpttool.api import Restarted
from ckpttool.checkup.look import check_up
from ckpttool.errors import CkptError
from ckpttool.fleet.scan import AT_ONCE, Inspector, Scan, Sighting, blind, sighting_of
from ckpttool.formats import layout
from ckpttool.model import Finding
from ckpttool.storage.store import Store
from ckpttool.words import listed

_RANKS = ("unfit", None, "unknown", "attention", "fit")  # None: it could not be looked at


def doctor_here(options: Mapping[str, str]) -> Inspector:
    def inspect(found: Mapping[str, Store], now_ms: int, progress: Callable[[int], None]) -> Iterator[Sighting]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for done, sighting in enumerate(pool.map(lambda one: _look(one, options, now_ms), found.values()), 1):
                progress(done)
                yield sighting

    return inspect


def _look(store: Store, options: Mapping[str, str], now_ms: int) -> Sighting:
    try:
        checkup = check_up(store.url, Restarted(), options, now_ms=now_ms, profile="quick", store=store)
    except CkptError as error:
        return blind(store.url, error)
    seen = sighting_of(checkup.diagnosis, store.url)
    return replace(seen, health=checkup.verdict, exit_code=checkup.exit_code)


def with_shared_ids(scan: Scan) -> Scan:
    """With what only several checkpoints tell; the worst first."""
    by_id: dict[str, list[str]] = defaultdict(list)
    for one in scan.sightings:
        if one.query_id is not None:
            by_id[one.query_id].append(one.url)
    told = (_told(one, by_id.get(one.query_id or "", ())) for one in scan.sightings)
    return replace(scan, sightings=sorted(told, key=_worst_first))


def _told(one: Sighting, sharing: Sequence[str]) -> Sighting:
    others = [url for url in sharing if url != one.url]
    if not others:
        return one
    finding = Finding(
        "query-id-shared",
        "warning",
        layout.METADATA,
        f"{listed(others)} {'has' if len(others) == 1 else 'have'} the same query id",
        expected="an id that no other checkpoint has",
        next_step="start one of them only, or give the copy an id of its own: ckpt plan query-id PATH --new",
    )
    health = "attention" if one.health == "fit" else one.health
    return replace(one, findings=(*one.findings, finding), health=health)


def _worst_first(one: Sighting) -> tuple[int, int, str]:
    return _RANKS.index(one.health), -_weight(one.findings), one.url


def _weight(findings: Iterable[Finding]) -> int:
    return sum(finding.severity != "info" for finding in findings)
