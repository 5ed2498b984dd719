"""Checkpoints with damages, sinks beside them, and what is planned for both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.model import LogNames
from ckpttool.plan import Move, Plan, SetAside, WayOut, Wish, Write, plan_recovery
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import ASYNC_OPTION, Scene, Start
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.scene.state_chain import Mode
from tests.builders import EPOCH_MS, QUERY_ID, build
from tests.state_builders import DELTA
from tests.take_steps import look_at_states, take_steps, within_fence

STORY = "k0-10 c | k10-30 c | k30-60 c"
Damage = Callable[[Path], object]


def delta(*batches: int, rows: int = 10, **fields: object) -> SinkEvidence:
    """A Delta table that has these batches, batch N as its version N."""
    writes = tuple(SinkWrite(f"version {one}", EPOCH_MS * 2, QUERY_ID, one, one, rows=rows) for one in batches)
    ledger = (LedgerEntry(QUERY_ID, batches[-1]),) if batches else ()
    evidence = SinkEvidence("delta", "/lake/orders", key=QUERY_ID, ledger=ledger, writes=writes, seen_from_ms=0)
    return replace(evidence, **fields)


KAFKA = SinkEvidence("kafka", "kafka")


def file_sink(names: LogNames) -> SinkEvidence:
    return SinkEvidence("file", "/out", ledger=(LedgerEntry(None, names.ids[-1]),), seen_from_ms=0, names=names)


def look(
    root: Path,
    *sinks: SinkEvidence,
    spark: Release = (4, 2, 0),
    wish: Wish | None = None,
    is_async: bool | None = None,
    state: bool = False,
) -> tuple[Plan, Restart]:
    evidence = gather_evidence(open_checkpoint(str(root)))
    options = {} if is_async is None else {ASYNC_OPTION: str(is_async).lower()}
    scene = Scene(evidence, Start(spark, options=options), sinks)
    restart = predict_restart(replace(scene, sinks=()))
    looked = replace(scene, states=look_at_states(root, scene, wish, "quick", partitions=2)) if state else scene
    return plan_recovery(looked, restart, wish), restart


def ids(plan: Plan) -> list[str]:
    return [option.id for option in plan.options]


def paths(way: WayOut) -> list[str]:
    """What is set aside and written within the fence, without the checksums."""
    named = [step for step in within_fence(way.steps) if isinstance(step, SetAside | Write | Move)]
    signs = {"set_aside": "-", "write": "+", "move": ">"}
    told = [f"{signs[step.kind]}{step.path}{f' {step.to}' if isinstance(step, Move) else ''}" for step in named]
    return [one for one in told if ".crc" not in one]


def rows(way: WayOut) -> tuple[int | None, int | None, int | None]:
    return way.rows_lost, way.rows_duplicated, way.rows_replayed


def mended(root: Path, *sinks: SinkEvidence, **given: object) -> Plan:
    """The plan after the first way out was taken."""
    plan, _ = look(root, *sinks, **given)  # type: ignore[arg-type]
    take_steps(root, plan.options[0].steps)
    after, restart = look(root, *sinks, **given)  # type: ignore[arg-type]
    assert restart.outcome in ("replay", "new_batch", "fresh_start"), restart.why
    return after


def nothing(_: Path) -> None:
    pass


def remove(name: str) -> Damage:
    return lambda root: (root / name).unlink()


def a_directory_for(name: str) -> Damage:
    def damage(root: Path) -> None:
        (root / name).unlink()
        (root / name).mkdir()

    return damage


def put(name: str, content: str = "") -> Damage:
    return lambda root: (root / name).write_text(content)


SOUND = {f"state/0/0/{version}.delta": DELTA for version in (1, 2, 3)}


def with_state(root: Path, **damage: bytes | None) -> Path:
    """Three committed batches with what they left in one partition; `d3=b""` is what 3.delta is instead."""
    kinds = {"d": "delta", "s": "snapshot"}
    files: dict[str, bytes | None] = dict(SOUND)
    files |= {f"state/0/0/{name[1:]}.{kinds[name[0]]}": body for name, body in damage.items()}
    build(root, STORY)
    for name, body in files.items():
        if body is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(body)
    return root


def look_at_state(
    root: Path, *sinks: SinkEvidence, spark: Release = (4, 2, 0), wish: Wish | None = None, mode: Mode = "full"
) -> tuple[Plan, Restart]:
    evidence = gather_evidence(open_checkpoint(str(root)))
    scene = Scene(evidence, Start(spark), sinks)
    scene = replace(scene, states=look_at_states(root, scene, wish, mode, partitions=1))
    restart = predict_restart(scene)
    return plan_recovery(scene, restart, wish), restart


def mended_state(root: Path, *sinks: SinkEvidence, **given: Any) -> Plan:
    take_steps(root, look_at_state(root, *sinks, **given)[0].options[0].steps)
    after, restart = look_at_state(root, *sinks, **given)
    assert restart.outcome == "new_batch", restart.why
    return after


def state_of(root: Path, *versions: int) -> None:
    for partition in "01":
        directory = root / "state" / "0" / partition
        directory.mkdir(parents=True)
        for version in versions:
            (directory / f"{version}.delta").write_bytes(b"x")
            (directory / f".{version}.delta.crc").write_bytes(b"x")
        (directory / f"{versions[-1]}.snapshot").write_bytes(b"x")
