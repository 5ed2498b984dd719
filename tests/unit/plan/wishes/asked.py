"""A wish of a checkpoint on the disk, with all that it reads; and what a plan asks of a person."""

from __future__ import annotations

from pathlib import Path

from ckpttool.api import Restarted, plan_restart
from ckpttool.plan import Plan, WayOut
from ckpttool.plan.wishes import Wish


def plan_for(root: Path, wish: Wish, sink: str = "noop") -> Plan:
    return plan_restart(str(root), Restarted(release=(4, 2, 0), wish=wish, sinks=[sink]), now_ms=0)[1]


def to_accept(way: WayOut) -> list[str]:
    return [one.id for one in way.conditions if one.who == "you"]


def why(plan: Plan) -> str:
    assert not plan.options
    return "; ".join(one.why for one in plan.refused)
