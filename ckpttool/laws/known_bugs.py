"""How a finding names the bugs that may have caused it, and bugs of connectors that a restart meets."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.releases import FOREVER, OLDEST, Release, parse_release, spell_release
from ckpttool.releases.bugs import BUGS, CONNECTOR_BUGS, Bug, ConnectorBug
from ckpttool.scene.scene import Scene
from ckpttool.words import enumerated


def with_causes(finding: Finding, scene: Scene) -> Finding:
    """With the bugs that may have caused it, and the release that has none of them."""
    found = [bug for bug in BUGS if _told_by(bug, finding) and _is_possible(bug, scene)]
    if not found:
        return finding
    issues = enumerated([bug.issue for bug in found])
    causes = f"{issues} {'is a known cause' if len(found) == 1 else 'are known causes'}"
    ends = [*dict.fromkeys(bug.mended for bug in found if bug.mended), *map(spell_release, _mended(found))]
    step = f"{causes}, mended in {enumerated(ends)}" if ends else f"{causes}, and no release mends it"
    return replace(finding, next_step=f"{finding.next_step}. {step}" if finding.next_step else step)


def _told_by(bug: Bug, finding: Finding) -> bool:
    id_, path, message = bug.causes
    return finding.id == id_ and path in finding.path and message in finding.message


def _is_possible(bug: Bug, scene: Scene) -> bool:
    newest = scene.evidence.newest
    if bug.line and not (newest and any(source.text == bug.line for source in newest.sources)):
        return False
    if bug.sink and bug.sink not in {sink.kind for sink in scene.sinks}:
        return False
    if bug.by == "start":
        return bug.affects(scene.release)
    writer = scene.evidence.written_by
    first = parse_release(writer.min) if writer.min else OLDEST
    last = parse_release(writer.max) if writer.max else FOREVER
    return any(begun <= last and first < mended for begun, mended in bug.releases)


def _mended(bugs: list[Bug]) -> list[Release]:
    """In each line the first release that has none of them."""
    ends = sorted({mended for bug in bugs for _, mended in bug.releases})
    return [end for end in ends if end != FOREVER and not any(bug.affects(end) for bug in bugs)]


def look(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    if newest is None:
        return
    for bug in CONNECTOR_BUGS:
        if bug.kind in scene.kinds and _is_met(bug, scene):
            yield Finding(
                id="known-bug",
                severity="warning",
                path=layout.offsets(newest.id),
                message=f"{bug.issue}: {bug.what}",
                next_step=bug.next_step,
            )


def _is_met(bug: ConnectorBug, scene: Scene) -> bool:
    given = scene.start.option(bug.option)
    if given is None:
        return bool(bug.unless) and all(scene.start.option(one) is None for one in bug.unless)
    return not bug.values or given.strip().lower() in bug.values


LAWS = (Law("known-bug", "a connector's bug that this restart meets", look=look, severities=("warning",)),)
