"""Laws over ways out, held against a small model of Spark and of its sinks.

The source is a Kafka partition with rows 0 to LATEST. The model runs what the checkpoint says after a way out was
taken, into a sink that has what it had; then every row is looked for. What a way out says that it costs is thereby
checked by somebody who knows nothing of how the planner counts.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.errors import NotACheckpoint, NotFound
from ckpttool.formats import layout
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.model import Finding
from ckpttool.plan import DeltaRestore, DeltaTxn, Plan, Rewind, SetAside, Step, WayOut, Wish, Write, plan_recovery
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import Release, parse_release
from ckpttool.scene.evidence import Evidence, gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from tests.builders import EPOCH_MS, QUERY_ID, build
from tests.differential.sweep.load import cases_in_turn, recorded_versions
from tests.take_steps import look_at_states, take_steps

pytestmark = pytest.mark.property

LATEST = 1000
GOES_ON = ("replay", "new_batch", "fresh_start")
TABLE = "/lake/orders"


@dataclass
class Sink:
    """`written`: batch → its rows; batch N is the table's version N. `ledgers`: the last batch of each id."""

    kind: str
    written: list[tuple[int, range]] = field(default_factory=list)
    ledgers: dict[str, int] = field(default_factory=dict)

    def run(self, query_id: str, batch: int, rows: range) -> None:
        if self.kind == "delta" and self.ledgers.get(query_id, -1) >= batch:
            return
        self.written.append((batch, rows))
        self.ledgers[query_id] = batch

    def take(self, step: Step) -> None:
        if isinstance(step, DeltaRestore):
            self.written = [(batch, rows) for batch, rows in self.written if batch <= step.version]
        elif isinstance(step, DeltaTxn):
            self.ledgers[step.app_id] = step.version

    def evidence(self, root: Path) -> SinkEvidence:
        if self.kind != "delta":
            return SinkEvidence("kafka", "kafka")
        metadata = root / "metadata"
        key = id_in(metadata) if metadata.exists() else None
        here = {batch: len(rows) for batch, rows in self.written}
        top = max(self.ledgers.get(QUERY_ID, -1), max(here, default=-1))
        writes = tuple(
            SinkWrite(
                f"version {batch}",
                EPOCH_MS * 2,
                QUERY_ID,
                batch,
                batch,
                rows=here.get(batch, 10),
                rows_lost=None if batch in here else "restored",
            )
            for batch in range(top + 1)
        )
        ledger = tuple(LedgerEntry(app_id, batch) for app_id, batch in self.ledgers.items() if batch >= 0)
        return SinkEvidence("delta", TABLE, key=key, ledger=ledger, writes=writes, seen_from_ms=0)


class Scenario(Struct, frozen=True):
    """`ends`: where each batch ends; the last `pending` (0 or 1) have no commit; the sink has `in_sink` batches."""

    ends: tuple[int, ...]
    pending: int
    in_sink: int
    sink: str
    told: bool
    spark: Release
    damage: tuple[tuple[str, str], ...]

    @property
    def ranges(self) -> list[range]:
        return [range(start, end) for start, end in zip((0, *self.ends), self.ends, strict=False)]

    def story(self) -> str:
        committed = len(self.ends) - self.pending
        return " | ".join(
            f"k{rows.start}-{rows.stop}{' c' if number < committed else ''}" for number, rows in enumerate(self.ranges)
        )

    def real_sink(self) -> Sink:
        written = list(enumerate(self.ranges))[: self.in_sink]
        return Sink(self.sink, written, {QUERY_ID: self.in_sink - 1} if self.in_sink else {})


DAMAGES = ("remove", "empty", "cut", "checksum")


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    ends = tuple(sum(steps[: count + 1]) for count in range(len(steps)))
    pending = draw(st.integers(0, 1))
    in_sink = len(ends) - draw(st.integers(0, pending))
    top = len(ends) - 1
    files = [
        "metadata",
        *(f"{log}/{number}" for log in ("offsets", "commits") for number in range(max(0, top - 1), top + 2)),
    ]
    damage = draw(st.lists(st.tuples(st.sampled_from(files), st.sampled_from(DAMAGES)), max_size=2))
    if draw(st.booleans()):
        damage.append(("offsets/100", "stray"))
    return Scenario(
        ends,
        pending,
        in_sink,
        draw(st.sampled_from(["delta", "kafka"])),
        draw(st.booleans()),
        draw(st.sampled_from([(3, 5, 7), (4, 1, 3), (4, 2, 0)])),
        tuple(damage),
    )


@contextmanager
def laid_out(scenario: Scenario) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = build(Path(folder) / "q", scenario.story(), spark=".".join(map(str, scenario.spark)))
        for name, what in scenario.damage:
            inflict(root / name, what)
        yield root


def inflict(path: Path, what: str) -> None:
    if what == "stray":
        path.write_text("v1\n{}\n-")
    elif what == "checksum":
        path.with_name(f".{path.name}.crc").write_bytes(b"crc\0")
    elif path.exists() and what == "remove":
        path.unlink()
    elif path.exists():
        path.write_bytes(path.read_bytes()[: 10 if what == "cut" else 0])


def evidence_of(root: Path) -> Evidence:
    return gather_evidence(open_checkpoint(str(root)))


def plan_of(root: Path, sinks: tuple[SinkEvidence, ...], spark: Release, wish: Wish | None = None) -> Plan:
    scene = Scene(evidence_of(root), Start(spark), sinks)
    return plan_recovery(scene, predict_restart(replace(scene, sinks=())), wish)


def id_in(metadata: Path) -> str | None:
    try:
        found: str = json.loads(metadata.read_text())["id"]
    except (ValueError, KeyError):
        return None
    return found


# -- the model ---------------------------------------------------------------------------------------------------------


def end_of(root: Path, batch: int) -> int:
    return int(json.loads((root / "offsets" / str(batch)).read_text().splitlines()[2])["t"]["0"])


def run_to_the_end(root: Path, sink: Sink) -> None:
    """What Spark does from here: the pending batch with the offsets it has, then everything else as one batch."""
    planned, committed = (
        max((int(path.name) for path in (root / log).glob("*") if path.name.isdecimal()), default=-1)
        for log in ("offsets", "commits")
    )
    query_id = id_in(root / "metadata") or "a new one"
    end = end_of(root, planned) if planned >= 0 else 0
    if planned != committed:
        sink.run(query_id, planned, range(end_of(root, planned - 1) if planned else 0, end))
    sink.run(query_id, planned + 1, range(end, LATEST))


def counted(sink: Sink) -> tuple[int, int]:
    """Rows that are missing, and rows that are there once too often."""
    found = Counter(row for _, rows in sink.written for row in rows)
    return LATEST - len(found), sum(times - 1 for times in found.values())


def takes(scenario: Scenario, way: WayOut) -> tuple[int, int]:
    with laid_out(scenario) as root:
        sink = scenario.real_sink()
        take_steps(root, way.steps)
        for step in way.steps:
            sink.take(step)
        run_to_the_end(root, sink)
    return counted(sink)


# -- the laws ----------------------------------------------------------------------------------------------------------


@given(scenarios())
def test_what_a_way_out_costs_is_what_it_says(scenario: Scenario) -> None:
    with laid_out(scenario) as root:
        sinks = (scenario.real_sink().evidence(root),) if scenario.told else ()
        plan = plan_of(root, sinks, scenario.spark)
    for way in plan.options:
        event(way.id)
        lost, duplicated = takes(scenario, way)
        assert way.rows_lost is None or lost <= way.rows_lost, way
        assert way.rows_duplicated is None or duplicated <= way.rows_duplicated, way


@given(scenarios())
def test_after_a_repair_the_restart_goes_on_and_nothing_is_left_to_repair(scenario: Scenario) -> None:
    with laid_out(scenario) as root:
        sinks = (scenario.real_sink().evidence(root),) if scenario.told else ()
        repairs = plan_of(root, sinks, scenario.spark).repairs
    for way in repairs:
        with laid_out(scenario) as root:
            sink = scenario.real_sink()
            take_steps(root, way.steps)
            for step in way.steps:
                sink.take(step)
            restart = predict_restart(Scene(evidence_of(root), Start(scenario.spark)))
            assert restart.outcome in GOES_ON, (way, restart.why)
            after = plan_of(root, (sink.evidence(root),) if scenario.told else (), scenario.spark)
            assert not after.repairs, way


@given(scenarios())
def test_steps_stay_in_the_checkpoint(scenario: Scenario) -> None:
    with laid_out(scenario) as root:
        plan = plan_of(root, (scenario.real_sink().evidence(root),), scenario.spark)
    for step in (step for way in plan.options for step in way.steps):
        assert step.why
        assert step.shell
        if isinstance(step, SetAside | Write):
            assert not step.path.startswith("/")
            assert ".." not in step.path.split("/")
        elif isinstance(step, DeltaRestore | DeltaTxn):
            assert step.table == TABLE
    for way in plan.options:
        gone = [step.path for step in way.steps if isinstance(step, SetAside)]
        assert all(layout.hadoop_crc(path) not in gone[number:] for number, path in enumerate(gone)), (
            "a checksum goes first"
        )


@given(scenarios(), st.integers(0, 4))
def test_a_rewind_costs_what_it_says(scenario: Scenario, batch: int) -> None:
    sound = replace(scenario, damage=())
    with laid_out(sound) as root:
        sinks = (sound.real_sink().evidence(root),) if sound.told else ()
        plan = plan_of(root, sinks, sound.spark, Rewind(to_batch=batch))
    for way in plan.options:
        lost, duplicated = takes(sound, way)
        assert way.rows_lost is None or lost <= way.rows_lost, way
        assert way.rows_duplicated is None or duplicated <= way.rows_duplicated, way


@given(scenarios(), st.integers(1, 3))
def test_a_sink_that_is_ahead_is_never_passed_over(scenario: Scenario, ahead: int) -> None:
    """A checkpoint from before the sink's last batches, as a restored backup is."""
    sound = replace(scenario, damage=(), pending=0, sink="delta", told=True)
    sound = replace(sound, in_sink=len(sound.ends))
    kept = max(1, len(sound.ends) - ahead)
    old = replace(sound, ends=sound.ends[:kept])
    with laid_out(old) as root:
        plan = plan_of(root, (sound.real_sink().evidence(root),), sound.spark)
    assert bool(plan.repairs) == (kept < len(sound.ends))
    for way in plan.repairs:
        sink = sound.real_sink()
        with laid_out(old) as root:
            take_steps(root, way.steps)
            for step in way.steps:
                sink.take(step)
            run_to_the_end(root, sink)
        lost, duplicated = counted(sink)
        assert way.rows_lost is None or lost <= way.rows_lost, way
        assert way.rows_duplicated is None or duplicated <= way.rows_duplicated, way


@given(scenarios())
def test_knowing_less_never_makes_a_restart_fine(scenario: Scenario) -> None:
    with laid_out(scenario) as root:
        evidence = evidence_of(root)
    start = Start(scenario.spark)
    if predict_restart(Scene(evidence, start)).outcome in GOES_ON:
        return
    for path in evidence.checkpoint.raw:
        assert predict_restart(Scene(without_reading(evidence, path), start)).outcome not in GOES_ON


def without_reading(evidence: Evidence, path: str) -> Evidence:
    """As if this file had been out of reach."""
    checkpoint = evidence.checkpoint
    log, _, name = path.rpartition("/")
    faults = tuple(fault for fault in checkpoint.faults if fault.path != path)
    unread = Finding("unreadable", "warning", path, "out of reach")
    less = replace(
        checkpoint,
        metadata=None if path == "metadata" else checkpoint.metadata,
        offsets={one: entry for one, entry in checkpoint.offsets.items() if (log, str(one)) != ("offsets", name)},
        commits={one: entry for one, entry in checkpoint.commits.items() if (log, str(one)) != ("commits", name)},
        faults=(*faults, unread),
        unreachable=True,
    )
    return replace(gather_evidence(less), mode=evidence.mode)


# -- damage that real Spark was started on -----------------------------------------------------------------------------

EACH_NTH = 11


def seen(checkpoint: Path, spark: str) -> tuple[Plan, Restart]:
    scene = Scene(evidence_of(checkpoint), Start(parse_release(spark)))
    output, metadata = checkpoint.parent / "output", scene.checkpoint.metadata
    sink = load_sink(str(output) if output.exists() else "noop", query_id=metadata.id if metadata else None)
    scene = replace(scene, sinks=(sink,), states=look_at_states(checkpoint, scene))
    restart = predict_restart(scene)
    return plan_recovery(scene, restart), restart


@pytest.mark.parametrize("spark", recorded_versions())
def test_recorded_damage_has_a_way_out_or_a_reason(spark: str, tmp_path: Path) -> None:
    """And each way out leads to a restart that goes on."""
    for case, lay in cases_in_turn(spark, tmp_path, EACH_NTH):
        checkpoint = lay()
        try:
            plan, restart = seen(checkpoint, spark)
        except (NotFound, NotACheckpoint):
            continue  # nothing is left of it
        if restart.outcome in ("error", "unknown"):
            assert plan.options or plan.refused, case["id"]
        for way in plan.repairs:
            if all(isinstance(step, SetAside | Write) for step in way.steps):
                check_way(way, lay(), spark)


def check_way(way: WayOut, checkpoint: Path, spark: str) -> None:
    take_steps(checkpoint, way.steps)
    _, restart = seen(checkpoint, spark)
    assert restart.outcome in GOES_ON, (way.id, restart.why)
