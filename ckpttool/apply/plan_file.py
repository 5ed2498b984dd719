"""`ckpt.plan/1`: everything that will be done, and everything it relies on, as one text that can be reviewed and kept.

It holds no secret: of the options of the restart only those that cannot be one are in it, and none of the storage.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ckpttool.api import Restarted
from ckpttool.apply import places
from ckpttool.apply.stores.base import MOST_BYTES
from ckpttool.errors import Refused, Unavailable
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.formats.limits import most, weigh_json
from ckpttool.plan.conditions import Condition
from ckpttool.plan.steps import Check, is_outside
from ckpttool.plan.wishes import AnyWish
from ckpttool.releases import parse_release, spell_release

SCHEMA = "ckpt.plan/1"
Target = Literal["sink", "state", "logs", "sources", "metadata", "query"]


class PlannedStep(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of its kind, as in docs/cli.md, and what a reviewer asks first. `reversible`: `undo` takes it back."""

    n: int
    kind: Literal["set_aside", "write", "move", "copy", "delta_restore", "delta_txn", "conf", "manual", "spark"]
    target: Target
    why: str
    reversible: bool
    path: str | None = None
    to: str | None = None
    content: str | None = None
    sha256: str | None = None
    table: str | None = None
    version: int | None = None
    app_id: str | None = None
    k: str | None = None
    v: str | None = None
    text: str | None = None
    program: str | None = None
    check: Check | None = None


class FileMark(Struct, frozen=True, omit_defaults=True):
    """A file as it was, or `absent`. Without a `sha256` it is told by its size and its version."""

    path: str
    size: int | None = None
    sha256: str | None = None
    version: str | None = None
    absent: bool = False


class NamesMark(Struct, frozen=True):
    """The names in a directory: SHA-256 of them, sorted, one per line."""

    path: str
    sha256: str
    count: int


class SinkMark(Struct, frozen=True, omit_defaults=True):
    """What its own record said. `version` of a Delta table, `snapshot` of an Iceberg table, `names` of a file sink's
    log."""

    kind: str
    path: str
    table_id: str | None = None
    version: int | None = None
    snapshot: int | None = None
    ledger: dict[str, int] = {}
    names: NamesMark | None = None


class KafkaMark(Struct, frozen=True):
    cluster_id: str | None
    topic: str
    topic_id: str | None
    partitions: list[tuple[int, int | None, int | None]]


class ReliedOn(Struct, frozen=True):
    files: list[FileMark]
    names: list[NamesMark]
    sinks: list[SinkMark]
    kafka: list[KafkaMark]


class Origin(Struct, frozen=True):
    """The checkpoint that is copied, with every file that is, and every name beside those."""

    url: str
    files: list[FileMark]
    names: list[NamesMark]


class Asked(Struct, frozen=True, omit_defaults=True):
    """How the query is started again, and what was looked at. `withheld`: options whose values may be secret."""

    spark_version: str | None = None
    trigger: str | None = None
    conf: dict[str, str] = {}
    options: dict[str, str] = {}
    withheld: list[str] = []
    sinks: list[str] = []
    txn_app_id: str | list[str] | None = None
    state: str | None = None
    kafka: bool = False
    look_at: list[str] = []


class ChosenOption(Struct, frozen=True):
    id: str
    title: str
    guarantee: str
    rows_replayed: int | None
    rows_lost: int | None
    rows_duplicated: int | None
    trap: str | None


class _Begun(Struct):
    index: int
    name: str | None
    start: Any
    end: Any


class _Failed(Struct):
    condition: str | None
    class_: str | None = msgspec.field(name="class")


class _Assumed(Struct):
    assumed: str


class _ToldRestart(Struct):
    """What is read of a restart that a plan tells of; the rest of it is for people."""

    outcome: str
    batch_id: int | None
    watermark_ms: int | None
    sources: list[_Begun]
    error: _Failed | None


class Promise(Struct, frozen=True):
    """What `plan-recovery` predicts for the checkpoint after the plan. `errors`: ids of findings that stay."""

    restart: dict[str, Any]
    sinks: list[dict[str, str]]
    errors: list[str]


class PlanCost(Struct, frozen=True):
    files: int
    bytes_backed_up: int
    bytes_moved: int
    requests: int


class PlanFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`wires`: what stops a query that runs unnoticed (`apply.fence`). `before`: the restart without the plan.
    `origin`: of one that comes into being."""

    schema: str
    ckpt_version: str
    id: str
    created_ms: int
    checkpoint: str
    query_id: str | None
    spark_version: dict[str, Any]
    asked: Asked
    assumes: list[str]
    wish: AnyWish | None
    option: ChosenOption
    conditions: list[Condition]
    steps: list[PlannedStep]
    wires: list[str]
    before: dict[str, Any]
    relies_on: ReliedOn
    promise: Promise
    cost: PlanCost
    origin: Origin | None = None
    sha256: str = ""

    @property
    def places(self) -> list[str]:
        """Besides the checkpoint, where whole paths of the plan may lead."""
        return [*(mark.path for mark in self.relies_on.sinks), *([self.origin.url] if self.origin else [])]

    @property
    def planned_for(self) -> str:
        """The checkpoint that was looked at."""
        return self.origin.url if self.origin else self.checkpoint


class BadPlan(Refused):
    """It is refused for `plan-damaged`."""

    def __init__(self, message: str, next_step: str = "plan anew: ckpt plan-recovery PATH … --out PLAN.json") -> None:
        super().__init__(message, next_step)


# -- as text -----------------------------------------------------------------------------------------------------------


def sealed(plan: PlanFile) -> PlanFile:
    return msgspec.structs.replace(plan, sha256=_digest(msgspec.to_builtins(plan)))


def encode_plan(plan: PlanFile) -> bytes:
    return json.dumps(msgspec.to_builtins(plan), indent=1).encode() + b"\n"


def parse_plan(body: bytes) -> PlanFile:
    """Raises BadPlan for what is none, is of a newer schema, or was changed since it was saved."""
    if len(body) > MOST_BYTES or weigh_json(body) > most("values"):
        raise BadPlan(
            f"it is larger than any plan: {MOST_BYTES:,} bytes and {most('values'):,} values are read at most"
        )
    try:
        fields = json.loads(body)
        json.dumps(fields, ensure_ascii=False).encode()  # half a character is none
    except (ValueError, RecursionError):
        raise BadPlan("this is no plan: it is not JSON, or was cut short") from None
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if not isinstance(schema, str) or not schema.startswith("ckpt.plan/"):
        raise BadPlan(f"this is no plan: it has no schema {SCHEMA}")
    if schema != SCHEMA:
        raise BadPlan(f"a plan of schema {schema[:40]}, and this release of ckpt knows {SCHEMA}", "use the newer ckpt")
    if fields.get("sha256") != _digest(fields):
        raise BadPlan("the plan was changed since it was saved: its sha256 is another")
    try:
        plan = msgspec.convert(fields, PlanFile)
        for told in (plan.promise.restart, plan.before):
            msgspec.convert(told, _ToldRestart)
        msgspec.convert(plan.spark_version, _Assumed)
    except msgspec.ValidationError as error:
        raise BadPlan(f"the plan is not as ckpt writes it: {error}") from None
    if not places.is_id(plan.id):
        raise BadPlan("the plan's id is none of ours")
    led_out = next((path for path in [*_paths(plan), *_paths_outside(plan)] if not _stays(path)), None)
    if led_out is not None:
        raise BadPlan(f"the plan leads out of the checkpoint: {led_out[:80]!r}")
    if any("\0" in place for place in [plan.checkpoint, *plan.places, *plan.asked.sinks, *plan.asked.look_at]):
        raise BadPlan("the plan leads to a place that no system has")
    return plan


def _digest(fields: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in fields.items() if name != "sha256"}
    try:
        return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    except RecursionError:
        raise BadPlan("this is no plan: it is nested too deeply") from None


def _paths(plan: PlanFile) -> list[str]:
    """Of the checkpoint's own files: those of sinks are looked for below the sinks that the plan names."""
    of_steps = [step.path for step in plan.steps if step.path is not None and not is_outside(step.path)]
    moved = [step.to for step in plan.steps if step.to is not None]
    marked = [mark.path for mark in plan.relies_on.files if not is_outside(mark.path)]
    return [*of_steps, *moved, *marked, *plan.wires, *(mark.path for mark in plan.relies_on.names if mark.path)]


def _paths_outside(plan: PlanFile) -> list[str]:
    paths = [*(step.path for step in plan.steps), *(mark.path for mark in plan.relies_on.files)]
    return [within_place(path, plan.places)[1] for path in paths if path is not None and is_outside(path)]


def _stays(path: str) -> bool:
    steps = path.split("/")
    return "\0" not in path and not {"", ".", ".."} & set(steps) and steps[0] != OWN_DIRECTORY


def within_place(path: str, places: Iterable[str]) -> tuple[str, str]:
    """The sink, or the checkpoint that is left, that a file belongs to, and where it is there."""
    around = [place for place in places if path.startswith(f"{place.rstrip('/')}/")]
    if not around:
        raise BadPlan(f"the plan names no sink that {path[:80]!r} belongs to")
    root = max(around, key=len).rstrip("/")
    return root, path.removeprefix(f"{root}/")


# -- as a file ---------------------------------------------------------------------------------------------------------


def load_plan(path: str) -> PlanFile:
    try:
        with open(path, "rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
    return parse_plan(body)


def save_plan(plan: PlanFile, path: str) -> None:
    """Where nothing is, and not in the checkpoint."""
    folder = os.path.realpath(os.path.dirname(path) or ".")
    here = os.path.realpath(plan.checkpoint) if plan.checkpoint.startswith("/") else None
    if here and (folder == here or folder.startswith(here.rstrip("/") + "/")):
        raise Refused(f"{path} is inside the checkpoint", "save the plan outside it")
    try:
        with open(path, "xb") as file:
            file.write(encode_plan(plan))
    except FileExistsError:
        raise Refused(f"{path} is there already", "save the plan under a new name") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from None


# -- how the query is started again ------------------------------------------------------------------------------------

# What a prediction may depend on and what nobody keeps secret.
_OPEN_OPTIONS = re.compile(
    r"(starting|ending)(offsets|timestamp|version)(bytimestamp(strategy)?)?|starttimestamp|assign|subscribe(pattern)?"
    r"|failondataloss|path|host|port|(min|max)[a-z]*per(trigger|partition)|(min|num)partitions|rowsper(second|batch)"
    r"|rampuptime|ignore[a-z]+|excluderegex|skipchangecommits|readchange(feed|data)|schema(tracking)?location"
    r"|streamingsourcetrackingid|stream(ing)?-[a-z-]+|asyncprogress[a-z]+|kafka\.isolation\.level|kafka\.group\.id"
    r"|latestfirst|maxfileage|fetchoffset\.[a-z]+",
    re.IGNORECASE,
)
_OPEN_CONFS = re.compile(r"spark\.(sql\.(streaming|shuffle|files|optimizer|adaptive)|databricks\.delta)\.[\w.]+")


def asked_of(restarted: Restarted) -> Asked:
    conf = {key: value for key, value in restarted.conf.items() if _OPEN_CONFS.fullmatch(key)}
    options = {key: value for key, value in restarted.options.items() if _OPEN_OPTIONS.fullmatch(key)}
    return Asked(
        spark_version=spell_release(restarted.release) if restarted.release else None,
        trigger=restarted.trigger,
        conf=conf,
        options=options,
        withheld=sorted({*restarted.conf, *restarted.options} - {*conf, *options}),
        sinks=[absolute_place(sink) for sink in restarted.sinks],
        txn_app_id=given if (given := restarted.txn_app_id) is None or isinstance(given, str) else list(given),
        state=restarted.state,
        kafka=restarted.brokers is not None,
        look_at=[absolute_place(place) for place in restarted.look_at],
    )


def restarted_of(plan: PlanFile, given: Restarted) -> Restarted:
    """`given`: what a plan does not hold, brokers and options that may be secret."""
    asked = plan.asked
    return Restarted(
        release=parse_release(asked.spark_version) if asked.spark_version else None,
        trigger=asked.trigger,  # type: ignore[arg-type]
        conf={**given.conf, **asked.conf},
        options={**given.options, **asked.options},
        sinks=asked.sinks,
        txn_app_id=asked.txn_app_id,
        state=asked.state,  # type: ignore[arg-type]
        wish=plan.wish,
        brokers=given.brokers,
        look_at=asked.look_at,
    )


def absolute_place(sink: str) -> str:
    """A kind of sink stays what it is; of a path on this disk all is said."""
    from ckpttool.reading.sinks import NAMED
    from ckpttool.storage.urls import parse_url

    target, local = parse_url(sink)
    return sink if target is not None or sink.lower() in NAMED else os.path.abspath(local["path"])
