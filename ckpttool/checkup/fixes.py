"""What mends each finding: the cheapest way out after which it is gone, tried on the values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ckpttool.causes.base import ToldCause
from ckpttool.diagnosis import Diagnosis, diagnose, with_health
from ckpttool.laws.base import Profile
from ckpttool.laws.metadata import UNFINISHED
from ckpttool.model import Finding
from ckpttool.plan import Plan, WayOut, Wish
from ckpttool.plan.wishes.base import verb_of

_AT_MOST = 20  # ways out that are tried


class Fix(Struct, frozen=True):
    """A way out, or what to do by hand, or why there is nothing. `wish`: the way is that of `ckpt plan` with this."""

    way: WayOut | None = None
    wish: str | None = None
    manual: str | None = None
    why: str | None = None

    @property
    def is_reversible(self) -> bool:
        """Whether `ckpt undo` takes all of it back."""
        return self.way is not None and self.way.is_reversible


def fixes_of(
    diagnosis: Diagnosis, plan: Plan, profile: Profile, wished: Mapping[str, Plan] | None = None
) -> dict[Finding, Fix]:
    """Of all findings but those that ask for nothing. `wished`: by finding, what somebody may wish for who has it."""
    tried = _Tried(plan.options[:_AT_MOST], diagnosis, profile)
    refused = "; ".join(dict.fromkeys(refusal.why for refusal in plan.refused))
    wishes = {id: (_Tried(one.options, diagnosis, profile), one.wish) for id, one in (wished or {}).items()}
    sure = [cause for cause in diagnosis.causes if cause.sign.sure != "possible"]
    causes = {finding: cause for cause in sure for finding in cause.findings}
    asking = [one for one in diagnosis.findings if one.severity != "info"]
    return {one: _by_wish(one, wishes) or _fix(one, tried, refused, causes.get(one)) for one in asking}


def _by_wish(finding: Finding, wishes: Mapping[str, tuple[_Tried, Wish | None]]) -> Fix | None:
    tried, wish = wishes.get(finding.id, (None, None))
    way = tried.way_after_which_is_gone(finding, ()) if tried else None
    return Fix(way, wish=verb_of(wish)) if way and wish else None


def _fix(finding: Finding, tried: _Tried, refused: str, cause: ToldCause | None) -> Fix:
    """Of what has a cause the ways out are those of the cause."""
    if way := tried.way_after_which_is_gone(finding, cause.known.never if cause else ()):
        return Fix(way=way)
    if cause:
        return Fix(manual=cause.known.advice)
    if finding.next_step:
        return Fix(manual=finding.next_step)
    return Fix(why=refused or "no repair is known for this")


class _Tried:
    """The ways out, each with what is found after it; found out when it is first asked for."""

    def __init__(self, options: Sequence[WayOut], before: Diagnosis, profile: Profile) -> None:
        self._left = iter(options)
        self._done: list[tuple[WayOut, set[tuple[str, str, str]]]] = []
        self._before, self._profile = before, profile

    def way_after_which_is_gone(self, finding: Finding, never: Sequence[str]) -> WayOut | None:
        return next((way for way, found in self._each() if _mark(finding) not in found and way.id not in never), None)

    def _each(self) -> Iterator[tuple[WayOut, set[tuple[str, str, str]]]]:
        yield from self._done
        for way in self._left:
            self._done.append((way, self._found_after(way)))
            yield self._done[-1]

    def _found_after(self, way: WayOut) -> set[tuple[str, str, str]]:
        scene = self._before.scene
        if way.after is scene:  # a plan that was begun is gone on with, or taken back: then what was begun is over
            return {_mark(one) for one in self._before.findings if one.id != UNFINISHED}
        after = with_health(diagnose(way.after, "given"), self._profile)
        return {_mark(one) for one in after.findings}


def _mark(finding: Finding) -> tuple[str, str, str]:
    return finding.id, finding.path, finding.subject
