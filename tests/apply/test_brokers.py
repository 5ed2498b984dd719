"""What a plan was made with of Kafka is asked for again: the same cluster, the same topics, and in them the offsets
that the plan writes. The brokers here are values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from ckpttool.apply.plan_file import parse_plan
from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionAnswer, TopicAnswer
from tests.apply.dying import System, on
from tests.apply.stages import bodies, tree_of
from tests.builders import build
from tests.conftest import run_ckpt

ASKED = ("--bootstrap-server", "broker:9092")
TOPIC = "t"
FIRST = BrokerAnswer("broker:9092", {TOPIC: TopicAnswer("id-1", {0: PartitionAnswer(0, 90)})}, "cluster-1")


def having(
    earliest: int, latest: int, topic_id: str | None = "id-1", cluster: str | None = "cluster-1"
) -> BrokerAnswer:
    topics = {TOPIC: TopicAnswer(topic_id, {0: PartitionAnswer(earliest, latest)})}
    return replace(FIRST, topics=topics, cluster_id=cluster)


class Stage:
    """The last batch was planned, and not committed; the way out writes its offsets once more, a part of them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.plan = build(folder / "q", "k0-10 c | k10-30 c | k30-60"), folder / "plan.json"
        done = self.ckpt(FIRST, "plan-recovery", str(self.root), "--take", "skip-batch", "--out", str(self.plan))
        assert self.plan.exists(), done.err
        self.old = bodies(tree_of(self.root))

    def ckpt(self, answer: BrokerAnswer, *words: str) -> Any:
        with patch("ckpttool.kafka.lookup.ask", lambda *_: answer), on(System()):
            return run_ckpt(*words, "--sink", "noop", *ASKED)

    def apply(self, answer: BrokerAnswer) -> dict[str, Any]:
        conditions = parse_plan(self.plan.read_bytes()).conditions
        accepted = [word for one in conditions for word in ("--accept", one.id)]
        done = self.ckpt(answer, "apply", str(self.plan), *accepted, "--yes", "--settle", "0s", "--format", "json")
        found: dict[str, Any] = {"exit": done.code, **json.loads(done.out)}
        return found


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_plan_has_what_the_brokers_said(stage: Stage) -> None:
    (mark,) = parse_plan(stage.plan.read_bytes()).relies_on.kafka
    assert (mark.cluster_id, mark.topic, mark.topic_id, mark.partitions) == ("cluster-1", TOPIC, "id-1", [(0, 0, 90)])


@pytest.mark.parametrize("now", [having(0, 90), having(5, 500), having(0, 90, None, None)],
                         ids=["as-before", "goes-on", "older-broker"])  # fmt: skip
def test_where_it_is_the_same_it_is_carried_out(stage: Stage, now: BrokerAnswer) -> None:
    done = stage.apply(now)
    assert (done["exit"], done["state"]) == (0, "applied"), done["reasons"]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (having(0, 90, "id-2"), "id-1"),
        (having(0, 90, cluster="cluster-2"), "cluster-1"),
        (replace(FIRST, topics={}, fault=BrokerFault("unreachable", "nobody answers", "is it up?")), None),
    ],
    ids=["topic-made-anew", "another-cluster", "out-of-reach"],
)
def test_another_broker_or_topic_is_refused(stage: Stage, now: BrokerAnswer, expected: str | None) -> None:
    done = stage.apply(now)
    assert (done["exit"], done["state"], done["changed"]) == (6, "refused", False)
    assert done["reasons"][0]["id"] == "broker-changed"
    assert done["reasons"][0]["expected"] == expected
    assert bodies(tree_of(stage.root)) == stage.old


def test_the_offsets_that_it_writes_have_to_be_there(tmp_path: Path) -> None:
    """Made anew, the topic ends below where the query stands: it is set to where the topic begins."""
    root, plan = build(tmp_path / "q", "k0-10 c | k10-30 c | k30-60 c"), str(tmp_path / "plan.json")
    stage = object.__new__(Stage)
    stage.root, stage.plan = root, Path(plan)
    made = stage.ckpt(having(0, 20), "plan-recovery", str(root), "--take", "set-kafka-offsets", "--out", plan)
    assert Path(plan).exists(), made.out + made.err
    stage.old = bodies(tree_of(root))
    gone = stage.apply(having(10, 20))
    assert (gone["exit"], {reason["id"] for reason in gone["reasons"]}) == (6, {"broker-changed"})
    assert (gone["reasons"][0]["expected"], gone["reasons"][0]["found"]) == ("0", "10 to 20")
    assert bodies(tree_of(root)) == stage.old
    assert stage.apply(having(0, 20))["state"] == "applied"
