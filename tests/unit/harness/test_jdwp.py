"""The parts of the JDWP controller that need no JVM."""

from __future__ import annotations

import pytest

from ckpttool.harness.jdwp import Controller, Point


def test_pattern_has_its_star_at_one_end() -> None:
    with pytest.raises(ValueError, match="beginning or at the end"):
        Controller([Point("p", "org.*.OffsetSeqLog", "add", "entry")])


def test_points_are_unarmed_until_a_class_is_loaded() -> None:
    with Controller([Point("p", "*.OffsetSeqLog", "add", "entry")]) as controller:
        assert controller.armed == {"p": 0}
        assert "server=n,suspend=y,address=127.0.0.1:" in controller.java_option
