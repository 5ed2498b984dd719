"""`--consumer-group`: the offsets of a query written as those of a group, so that ordinary lag monitors see it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import given_brokers, unasked
from ckpttool.cli.streams import say
from ckpttool.errors import Refused, Unavailable

if TYPE_CHECKING:
    from ckpttool.kafka.client import Connection
    from ckpttool.kafka.groups import Group, Partition
    from ckpttool.kafka.starting import StartingOffsets
    from ckpttool.scene.scene import Scene

_SHOWN = 20


def write_as_group(scene: Scene, offsets: StartingOffsets, given: dict[str, Any]) -> dict[str, Any]:
    """Shows what it will write, asks, writes, and reads it back; what was done, as fields."""
    name = given["consumer_group"]
    wanted = _wanted(offsets)
    connection = _connection(scene, offsets.index, given)
    _show(name, wanted, _look(connection, name))
    done = {"group_id": name, "written": given["commit"], "partitions": len(wanted)}
    if not given["commit"]:
        say("ckpt: nothing is written without --commit")
        return done
    if not given["yes"]:
        ask_person()
    _write(connection, name, wanted)
    say("ckpt: written, and read back")
    return done


def _wanted(offsets: StartingOffsets) -> dict[Partition, int]:
    wanted = {(one.read_as, one.partition): one.offset for one in offsets.starts if one.offset is not None}
    if below := [f"{topic}-{number}" for (topic, number), at in wanted.items() if at < 0]:
        raise Refused(f"{below[0]} has no offset that a group could have", "give it one: --at-least earliest")
    if not wanted:
        raise Refused("there is no offset to write: the broker has none of the partitions")
    return wanted


def _connection(scene: Scene, index: int, given: dict[str, Any]) -> Connection:
    from ckpttool.kafka.base import BrokerFault
    from ckpttool.kafka.lookup import connection_to, load_settings

    brokers = given_brokers(given)
    found = connection_to(brokers, load_settings(brokers, scene.start.options), index)
    if isinstance(found, BrokerFault):
        raise unasked(found)
    return found


def _look(connection: Connection, name: str) -> Group:
    from ckpttool.kafka.base import BrokerFault
    from ckpttool.kafka.groups import ask_group

    group = ask_group(connection, name)
    if isinstance(group, BrokerFault):
        raise unasked(group)
    if group.members:
        plural = "member" if group.members == 1 else "members"
        raise Refused(
            f"the group {name} has {group.members} active {plural}: its offsets are theirs",
            "stop them, or name a group that nobody uses",
        )
    return group


def _show(name: str, wanted: dict[Partition, int], group: Group) -> None:
    say(f"ckpt: the offsets of the consumer group {name}:")
    for (topic, number), at in sorted(wanted.items())[:_SHOWN]:
        before = group.offsets.get((topic, number))
        shown = "none" if before is None else f"{before:,}"
        say(f"      {topic}-{number}: {shown} → {at:,}")
    if len(wanted) > _SHOWN:
        say(f"      and {len(wanted) - _SHOWN:,} more")


def ask_person() -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refused("there is no terminal to ask on, so nothing was written", "for scripts: --yes")
    if not click.confirm("Write them?", err=True):
        raise Refused("nothing was written")


def _write(connection: Connection, name: str, wanted: dict[Partition, int]) -> None:
    from ckpttool.kafka.base import BrokerFault
    from ckpttool.kafka.groups import write_group

    after = write_group(connection, name, wanted)
    if isinstance(after, BrokerFault):
        raise unasked(after)
    differing = [one for one, at in wanted.items() if after.offsets.get(one) != at]
    if differing:
        topic, number = differing[0]
        found = after.offsets.get(differing[0])
        raise Unavailable(f"what was written is not what is there: {topic}-{number} is at {found}", "run it again")
