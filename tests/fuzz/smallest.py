"""The smallest part of an input that breaks a rule still."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Sequence[object])


def smallest(whole: T, is_broken: Callable[[T], bool], tries: int = 1000) -> T:
    """Leaves out ever shorter stretches, as long as the rule stays broken without them."""
    stretch = len(whole) // 2
    while stretch and tries > 0:
        at = 0
        while at < len(whole) and tries > 0:
            less = whole[:at] + whole[at + stretch :]  # type: ignore[operator]
            tries -= 1
            if is_broken(less):
                whole = less
            else:
                at += stretch
        stretch //= 2
    return whole
