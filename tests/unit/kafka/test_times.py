"""A topic's settings of retention, as brokers tell them."""

from __future__ import annotations

from ckpttool.kafka.moments import TopicSettings
from ckpttool.kafka.times import parse_settings


def test_settings_as_brokers_tell_them() -> None:
    told = parse_settings(
        {
            "retention.ms": "604800000",
            "retention.bytes": "-1",
            "cleanup.policy": "compact, delete",
            "message.timestamp.type": "LogAppendTime",
            "segment.ms": "x",
        }
    )
    assert told == TopicSettings(604_800_000, -1, frozenset({"compact", "delete"}), is_append_time=True)
    assert parse_settings({}) == TopicSettings()
