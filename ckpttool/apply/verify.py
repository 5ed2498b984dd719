"""The checkpoint as it will be when the fence is down, and whether Spark would then do what the plan promised: as it is
predicted, and as a Spark did that was started on a copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ckpttool.api import Restarted, plan_restart
from ckpttool.apply.outcome import SparkStart, WhyNot
from ckpttool.apply.plan_file import PlanFile, Promise, restarted_of
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.releases import parse_release
from ckpttool.storage.store import FileStat, Store


class AsItWillBe(Store):
    """Without what is ours. `instead`: what these files are then, None: not there. `gone`: empty directories that will
    not be there."""

    def __init__(self, store: Store, instead: Mapping[str, bytes | None], gone: Collection[str] = ()) -> None:
        self.url = store.url
        self._store, self._instead = store, instead
        hidden = {path for path, body in instead.items() if body is None}
        self._hidden = {*hidden, *gone, OWN_DIRECTORY}

    def list(self, path: str = "") -> list[str]:
        if path in self._hidden:
            raise NotFound(f"{path} does not exist")
        prefix = f"{path}/" if path else ""
        added = {one.removeprefix(prefix) for one, body in self._instead.items()
                 if body is not None and one.rpartition("/")[0] == path}  # fmt: skip
        return [name for name in {*self._store.list(path), *added} if f"{prefix}{name}" not in self._hidden]

    def stat(self, path: str) -> FileStat | None:
        if path in self._hidden:
            return None
        body = self._instead.get(path)
        return self._store.stat(path) if body is None else FileStat(len(body), None, False)

    def read(self, path: str) -> bytes:
        if path in self._hidden:
            raise NotFound(f"{path} does not exist")
        body = self._instead.get(path)
        return self._store.read(path) if body is None else body

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._store.read_range(path, start, end)

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        own = {path for path in paths if path in self._hidden or path in self._instead}
        others = self._store.read_all([path for path in paths if path not in own])
        for path in paths:
            yield from super().read_all([path]) if path in own else [next(others)]

    def survey(self, path: str = "", parts: Sequence[str] = ()) -> None:
        self._store.survey(path, parts)

    def prefetch(self, needed: Callable[[], Sequence[str]]) -> None:
        own = self._hidden | set(self._instead)
        self._store.prefetch(lambda: [path for path in needed() if path not in own])

    def at(self, path: str) -> Store:
        return self._store.at(path)

    def above(self, levels: int = 1) -> Store:
        return self._store.above(levels)


def found_now(
    plan: PlanFile,
    given: Restarted,
    store: Store,
    storage: Mapping[str, str],
    sinks: Mapping[str, Store] | None = None,
) -> Diagnosis:
    """Of the checkpoint that `store` shows, on the same evidence as the plan's. `sinks`: those that are open."""
    settings = {step.k: step.v for step in plan.steps if step.kind == "conf" and step.k and step.v is not None}
    asked = restarted_of(plan, given)
    restarted = Restarted(
        release=parse_release(plan.spark_version["assumed"]),
        trigger=asked.trigger,
        conf={**asked.conf, **{key: value for key, value in settings.items() if key.startswith("spark.")}},
        options={**asked.options, **{key: value for key, value in settings.items() if not key.startswith("spark.")}},
        sinks=asked.sinks,
        txn_app_id=asked.txn_app_id,
        state=asked.state,
        brokers=asked.brokers,
        look_at=asked.look_at,
    )
    now_ms = int(time.time() * 1000)
    diagnosis, _ = plan_restart(plan.checkpoint, restarted, storage, now_ms=now_ms, store=store, sinks=sinks)
    return diagnosis


def broken(promised: Promise, found: Promise) -> Iterator[tuple[str, object, object]]:
    """What differs of that which has to be the same: each with the promised and the found."""
    for name in ("outcome", "batch_id", "watermark_ms"):
        if promised.restart[name] != found.restart[name]:
            yield name, promised.restart[name], found.restart[name]
    if _ranges(promised) != _ranges(found):
        yield "sources", _ranges(promised), _ranges(found)
    if _failure(promised) != _failure(found):
        yield "error", _failure(promised), _failure(found)
    if promised.sinks != found.sinks:
        yield "sinks", promised.sinks, found.sinks
    if new := sorted({*found.errors} - {*promised.errors}):
        yield "findings", promised.errors, new


def _ranges(promise: Promise) -> list[tuple[object, ...]]:
    return [(one["index"], one["name"], one["start"], one["end"]) for one in promise.restart["sources"]]


def _failure(promise: Promise) -> tuple[object, ...] | None:
    error = promise.restart["error"]
    return error and (error["class"], error["condition"])


# -- as a Spark did ----------------------------------------------------------------------------------------------------


def broken_in_spark(plan: PlanFile, seen: SparkStart) -> Iterator[WhyNot]:
    """What it did otherwise than promised; or why that is not known. A new batch comes as soon as there is something to
    read."""
    said, assumed = plan.promise.restart, plan.spark_version["assumed"]
    failed, error = said["error"], seen.error
    if seen.version and parse_release(seen.version)[:2] != parse_release(assumed)[:2]:
        yield WhyNot("not-verified", "the command started another Spark than this was planned for", assumed,
                     seen.version, "name that Spark in the specification; or plan anew: --spark-version")  # fmt: skip
    elif failed and not (error and _is_the_same(failed, error)):
        found = _spelled(error) if error else f"batch {seen.batch_id}"
        yield _otherwise("error", failed["class"], found)
    elif error and not failed:
        if error["class"] is None:
            yield WhyNot("not-verified", "the command ran no batch, and of no query it is known why",
                         found=_spelled(error), next_step="mend the specification, or go on without it")  # fmt: skip
        else:
            yield _otherwise("outcome", said["outcome"], _spelled(error))
    elif failed or (seen.batch_id is None and said["outcome"] == "new_batch"):
        return
    elif said["batch_id"] != seen.batch_id:
        yield _otherwise("batch_id", said["batch_id"], seen.batch_id)
    else:
        yield from _read_otherwise(said["sources"], seen.sources)


def _read_otherwise(promised: Sequence[Mapping[str, object]], seen: Sequence[Mapping[str, object]]) -> Iterator[WhyNot]:
    if seen and len(promised) != len(seen):
        yield _otherwise("the number of sources", len(promised), len(seen))
        return
    for ours, theirs in zip(promised, seen, strict=False):
        for name in ("start", "end"):
            is_open = ours[name] is None and name == "end"
            if not is_open and name in theirs and ours[name] != theirs[name]:
                yield _otherwise(f"{name} of source {ours['index']}", ours[name], theirs[name])


def _is_the_same(promised: Mapping[str, str], seen: Mapping[str, str | None]) -> bool:
    """By its class; where a log does not tell that of a query, by whether the log names it at all."""
    name = promised["class"]
    return name == seen["class"] or (seen["class"] is None and name.rpartition(".")[2] in (seen["message"] or ""))


def _otherwise(what: str, promised: object, found: object) -> WhyNot:
    return WhyNot("promise-not-kept", f"{what}: Spark did otherwise on a copy", str(promised), str(found))


def _spelled(error: Mapping[str, str | None]) -> str:
    return f"{error['class']}: {error['message']}" if error["class"] else str(error["message"])
