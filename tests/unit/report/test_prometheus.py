"""What Prometheus reads, as its own client's parser understands it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ckpttool.kafka.base import BrokerAnswer, BrokerFault
from ckpttool.kafka.moments import Moment, TimesAnswer, TopicSettings
from ckpttool.kafka.when import with_times
from ckpttool.laws.kafka.judge import KafkaVerdict
from ckpttool.laws.restart import predict_restart
from ckpttool.report.prometheus import HealthOf, escape_label, render_health
from ckpttool.report.views.kafka import KafkaReport, kafka_document
from tests.documents import shown
from tests.unit.kafka.scenes import GONE, broker, look, query

NOW, DAY = 1_700_000_000_000, 86_400_000


def metrics(scene: Any, answer: BrokerAnswer, url: str = "/checkpoint", times: TimesAnswer | None = None) -> Any:
    """Name → labels without the checkpoint → value, after every family was parsed."""
    views = look(scene, answer)
    if times is not None:
        views = tuple(with_times(view, times, NOW, {}) for view in views)
    restart = predict_restart(scene)
    report = KafkaReport(url, scene.release, restart, KafkaVerdict(views, ()), NOW, tells_when=times is not None)
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(shown(kafka_document(report, newest=(7, 6)), "prometheus")):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("checkpoint") == url
            found.setdefault(sample.name, {})[tuple(labels.values())] = sample.value
    return found


def test_the_figures() -> None:
    found = metrics(query({"t": {0: 10, 1: 5}}), broker({"t": {0: (0, 50), 1: (8, 9), 2: (0, 4)}}))
    assert found == {
        "ckpt_kafka_last_batch": {(): 7},
        "ckpt_kafka_last_committed_batch": {(): 6},
        "ckpt_kafka_up": {("0",): 1},
        "ckpt_kafka_next_offset": {("0", "t", "0"): 10, ("0", "t", "1"): 5, ("0", "t", "2"): 0},
        "ckpt_kafka_earliest": {("0", "t", "0"): 0, ("0", "t", "1"): 8, ("0", "t", "2"): 0},
        "ckpt_kafka_latest": {("0", "t", "0"): 50, ("0", "t", "1"): 9, ("0", "t", "2"): 4},
        "ckpt_kafka_lag": {("0", "t", "0"): 40, ("0", "t", "1"): 4, ("0", "t", "2"): 4},
        "ckpt_kafka_lost": {("0", "t", "0"): 0, ("0", "t", "1"): 3, ("0", "t", "2"): 0},
    }


def test_times_only_where_they_were_asked_for() -> None:
    times = TimesAnswer({("t", 0, 10): Moment(NOW - 2500)}, {"t": TopicSettings(DAY)})
    found = metrics(query({"t": {0: 10}}), broker({"t": {0: (0, 50)}}), times=times)
    assert found["ckpt_kafka_time_lag_seconds"] == {("0", "t", "0"): 2.5}
    reached = found["ckpt_kafka_retention_reaches_timestamp_seconds"]
    assert reached == {("0", "t", "0"): (NOW - 2500 + DAY) / 1000}


def test_a_cluster_that_is_down() -> None:
    found = metrics(query({"t": {0: 10}}), BrokerAnswer("b:1", fault=BrokerFault("unreachable", "no")))
    assert found["ckpt_kafka_up"] == {("0",): 0}
    assert "ckpt_kafka_lag" not in found
    assert found["ckpt_kafka_next_offset"] == {("0", "t", "0"): 10}
    assert metrics(query({"t": {0: 10}}), broker({"t": GONE}))["ckpt_kafka_up"] == {("0",): 1}


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb", "a\\nb", 'a\\"b\\', "{a}=,b", "ü→", "", " "])
def test_labels_are_what_they_were(text: str) -> None:
    found = metrics(query({text: {0: 10}}), broker({text: {0: (0, 50)}}), url=f"/data/{text}")
    assert found["ckpt_kafka_lag"] == {("0", text, "0"): 40}


@pytest.mark.parametrize(("text", "shown"), [("\x1b[31m", "\\x1b[31m"), ("\r", "\\r"), ("\ud800", "\\ud800")])
def test_what_a_terminal_must_not_get(text: str, shown: str) -> None:
    assert metrics(query({text: {0: 10}}), broker({text: {0: (0, 50)}}))["ckpt_kafka_lag"] == {("0", shown, "0"): 40}


@given(st.text())
def test_a_label_is_one_line_that_a_terminal_may_get(text: str) -> None:
    escaped = escape_label(text)
    assert escaped.isprintable()
    assert not re.search(r'(?<!\\)(?:\\\\)*"', escaped), "no quote ends it"
    assert not re.search(r"(?<!\\)(?:\\\\)*\\(?:[^\\n\"]|$)", escaped), "no escape that the format does not know"


def test_of_a_fleet_one_verdict_of_each_is_1_and_findings_are_counted() -> None:
    fleet = [HealthOf("/a", "unfit", {"error": 2}), HealthOf('/b"', "fit", {}), HealthOf("/c", None, {"info": 1})]
    families = {one.name: one for one in text_string_to_metric_families(render_health(fleet))}
    held = {(one.labels["checkpoint"], one.labels["verdict"]) for one in families["ckpt_verdict"].samples if one.value}
    assert held == {("/a", "unfit"), ('/b"', "fit")}
    counted = {tuple(one.labels.values()): one.value for one in families["ckpt_findings"].samples if one.value}
    assert counted == {("/a", "error"): 2, ("/c", "info"): 1}
