"""What a checkup says of each law: one of five results, so that nothing is passed that nobody looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ckpttool.diagnosis import Answer, Diagnosis
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.inputs import tables_among
from ckpttool.scene.scene import Part

Result = Literal["passed", "found", "not_applicable", "not_looked", "could_not"]

# What has a part of the scene looked at; a part without an entry: the longer profile.
LOOKS: Mapping[Part, str] = {
    "sinks": "--sink URL",
    "brokers": "--bootstrap-server HOST:PORT",
    "inputs": "--option path=URL",
    "query": "--query FILE",
    "fleet": "ckpt scan --doctor",
}
_AT_LENGTH = "--profile full"


class CheckOfLaw(Struct, frozen=True):
    """`why`: what was not looked at, or why it could not be, or what the law stops for. `look`: what would have it
    looked at."""

    law: Law
    result: Result
    why: str | None = None
    findings: tuple[Finding, ...] = ()
    look: str | None = None


def checks_of(diagnosis: Diagnosis, failed: Mapping[str, str]) -> tuple[CheckOfLaw, ...]:
    """`failed`: the laws that could not answer, and why."""
    unreached = dict(_out_of_reach(diagnosis))
    return tuple(_check(answer, unreached.get(answer.law.needs), failed) for answer in diagnosis.answers)


def _check(answer: Answer, unreached: str | None, failed: Mapping[str, str]) -> CheckOfLaw:
    law = answer.law
    if law.id in failed:
        return CheckOfLaw(law, "could_not", failed[law.id], answer.findings)
    if answer.verdict == "broken":
        return CheckOfLaw(law, "found", answer.why, answer.findings)
    if answer.verdict == "not_applicable":
        return CheckOfLaw(law, "not_applicable")
    if answer.verdict == "not_looked_at":
        return CheckOfLaw(law, "not_looked", answer.why, look=LOOKS.get(law.needs, _AT_LENGTH))
    if answer.verdict == "doubt":
        return CheckOfLaw(law, "could_not", answer.why)
    return CheckOfLaw(law, "could_not", unreached) if unreached else CheckOfLaw(law, "passed")


def _out_of_reach(diagnosis: Diagnosis) -> Iterator[tuple[Part, str]]:
    """What somebody asked for, and did not get."""
    scene = diagnosis.scene
    yield from (("sinks", sink.error.told) for sink in scene.sinks if sink.error)
    yield from (("brokers", fault.message) for view in diagnosis.views for fault in view.faults)
    yield from (("inputs", table.error.told) for table in tables_among(scene.inputs) if table.error)
    files = scene.needed_state
    if files and files.unreachable:
        yield "state", f"{files.unreachable[0]} could not be listed"
        yield "rows", f"{files.unreachable[0]} could not be listed"
