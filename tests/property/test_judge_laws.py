"""A sound history is valid; changed in one place it is rejected, and by the right name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckpttool.harness.history import Histories
from ckpttool.harness.judge import judge, judge_case
from tests.history_builders import Shape, sound_history
from tests.mutations import MUTATIONS, Mutation, Pick, with_planted_loss
from tests.told_anomalies import ANOMALIES

pytestmark = pytest.mark.property


CHOICES: dict[str, list[Any]] = {
    "operator": ["map", "count", "window", "job"],
    "source": ["kafka", "file", "rate-micro-batch", "delta"],
    "sink": ["delta", "file", "foreachBatch", "kafka"],
    "window": ["rebuilt", "replayed", "in-effect", "doubled", "done"],
}
# Shapes in which there is something to change.
WATERMARK: dict[str, list[Any]] = {"operator": ["window"]}
LEDGER: dict[str, list[Any]] = {"sink": ["delta", "file"]}
CONTROL: dict[str, list[Any]] = {"sink": ["foreachBatch", "kafka"], "operator": ["map", "count"]}
NARROWED: dict[str, dict[str, list[Any]]] = {
    "watermark-went-back": WATERMARK,
    "watermark-wrong": WATERMARK,
    "state-differs": {"operator": ["count", "window"]},
    "control-silent": CONTROL | {"window": ["doubled"]},
    "control-bites-elsewhere": CONTROL,
    "row-duplicated": LEDGER,
    "write-without-batch": {"sink": ["delta"]},
    "write-of-another-query": {"sink": ["delta"]},
    "rows-not-of-batch": LEDGER | {"operator": ["map", "count"]},
    "uncommitted-visible": LEDGER | {"window": ["rebuilt", "replayed"]},
    **dict.fromkeys([name for name in ANOMALIES if "ledger" in name or "sink-log" in name], LEDGER),
}


@st.composite
def shapes(draw: st.DrawFn, /, **choices: list[Any]) -> Shape:
    sizes = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=5)))
    return Shape(
        sizes=sizes,
        partitions=draw(st.integers(1, 3)),
        crash_batch=draw(st.integers(0, len(sizes) - 1)),
        **{name: draw(st.sampled_from(values)) for name, values in (CHOICES | choices).items()},
    )


def picker(data: st.DataObject) -> Pick[Any]:
    return lambda items: data.draw(st.sampled_from(items))


@settings(max_examples=settings().max_examples * 4)
@given(shapes())
def test_a_sound_history_is_valid(shape: Shape) -> None:
    history = sound_history(shape)
    judgement = judge_case(history.run, history.case)
    assert (judgement.verdict, judgement.anomalies, judgement.reasons) == ("valid", (), ())
    assert judgement.prediction.agreement == "agrees", judgement.prediction


def test_every_anomaly_has_its_mutation() -> None:
    assert MUTATIONS.keys() == ANOMALIES.keys()


@pytest.mark.parametrize(
    ("name", "mutation"),
    [(name, mutation) for name, several in MUTATIONS.items() for mutation in several],
    ids=[f"{name}-{number}" for name, several in MUTATIONS.items() for number in range(len(several))],
)
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_one_change_is_caught_by_its_name(name: str, mutation: Mutation, data: st.DataObject) -> None:
    shape = data.draw(shapes(**NARROWED.get(name, {})))
    changed = mutation(sound_history(shape), picker(data))
    assume(changed is not None)
    assert changed is not None
    judgement = judge_case(changed.run, changed.case)
    assert name in {anomaly.name for anomaly in judgement.anomalies}
    assert judgement.verdict == ("unknown" if judgement.void else "invalid")


@given(shapes(), st.data())
def test_a_planted_loss_is_found(shape: Shape, data: st.DataObject) -> None:
    planted = with_planted_loss(sound_history(shape), picker(data))
    assume(planted is not None)
    assert planted is not None
    judged = judge(Histories(planted.run, (planted.case,)))
    assert judged.judgements[0].verdict == "valid"
    assert [control.is_silent for control in judged.controls if control.kind == "loss"] == [False]
